//! A coordinator with a worker in a process of its own, as `baler serve` is one; the writer knows nothing of it.
//!
//! ```text
//! cargo run --example standalone -- FOLDER [LISTEN]
//! ```
//!
//! Without a worker (leave out `.worker(…)`) it is `baler serve --no-worker`, for workers elsewhere.

use std::time::Duration;

use anyhow::{Context, Result};
use baler::embed::Baler;
use baler::settings::{Merging, TableSettings};
use baler::station::RescanSettings;

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().context("usage: standalone FOLDER [LISTEN]")?;
    let listen = args.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let rescan = RescanSettings {
        every: Some(Duration::from_secs(1)),
        settle: Duration::from_secs(1),
        adopt_foreign: false,
    };
    let baler = Baler::builder(&folder)
        .folder(TableSettings::unsaid(), rescan)
        .worker(Merging::of_this_machine()?)
        .listen(listen.parse()?)
        .start()
        .await?;
    println!(
        "compacting {folder} until Ctrl-C; workers may ask at {}",
        baler.url().unwrap_or_default()
    );
    tokio::signal::ctrl_c().await?;
    baler.stop().await
}
