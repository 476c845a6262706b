//! `baler merge-child`: what a process of Baler starts to have a merge done apart from itself.

use std::process::ExitCode;

use anyhow::Result;

use crate::merge::Merges;
use crate::worker::child;

/// Runs it.
pub async fn run() -> Result<ExitCode> {
    child::run(Merges::default()).await?;
    Ok(ExitCode::SUCCESS)
}
