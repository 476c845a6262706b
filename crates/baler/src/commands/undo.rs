//! `baler undo`: takes a committed job back.

use std::process::ExitCode;

use anyhow::Result;
use baler_core::ids::JobId;

use super::{exit_code, print_json};
use crate::cli::UndoArgs;
use crate::report::count;
use crate::root::Root;
use crate::undoing;

/// Runs it.
pub async fn run(args: &UndoArgs) -> Result<ExitCode> {
    let root = Root::open_to_write(&args.root).await?;
    let undone = undoing::undo(&root, JobId(args.job)).await;
    root.replica.clone().close().await;
    let undone = undone?;
    match args.json {
        true => print_json(&undone)?,
        false => {
            println!(
                "Job {} is undone: {} file(s) are back and left alone until `baler retry`, {} are on their way out",
                undone.job,
                count(undone.files_back as u64),
                count(undone.files_out as u64)
            );
            for waiting in &undone.waiting {
                println!("not back yet: {}: {}", waiting.path, waiting.reason);
            }
        }
    }
    Ok(exit_code(undone.waiting.is_empty()))
}
