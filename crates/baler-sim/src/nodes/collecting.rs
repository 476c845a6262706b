//! `baler gc`, again and again, beside the stations that keep house by themselves.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use baler::collector;
use baler_core::request::Grace;

use super::{Birth, opening};

/// A run, and then the process ends; it is started anew.
pub(super) async fn collector(birth: Birth) -> Result<()> {
    let root = opening::root(&birth).await?;
    while !birth.drain.load(Ordering::Relaxed) {
        if let Err(error) = collector::collect(&root, Grace::Kept).await {
            birth
                .world
                .note(format_args!("{} goes on later: {error:#}", birth.life.name));
        }
        tokio::time::sleep(Duration::from_secs(45)).await;
        root.replica.catch_up().await?;
    }
    root.replica.clone().close().await;
    Ok(())
}
