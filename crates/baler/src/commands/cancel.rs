//! `baler cancel`: ends a job without effect.

use std::process::ExitCode;

use anyhow::{Result, bail};
use baler_core::ids::JobId;
use baler_core::request::{Reply, Request};

use super::print_json;
use crate::cli::CancelArgs;
use crate::root::Root;

/// Runs it.
pub async fn run(args: &CancelArgs) -> Result<ExitCode> {
    let root = Root::open_to_write(&args.root).await?;
    let job = JobId(args.job);
    let reply = root.replica.submit(Request::Cancel(job)).await?;
    root.replica.clone().close().await;
    if let Reply::Refused(refusal) = reply {
        bail!("{refusal}: `baler jobs` lists those that are");
    }
    match args.json {
        true => print_json(&serde_json::json!({ "cancelled": job.0 }))?,
        false => println!(
            "job {job} is cancelled: its files stand as before, and are left alone until `baler retry`"
        ),
    }
    Ok(ExitCode::SUCCESS)
}
