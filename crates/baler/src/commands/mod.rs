//! One file a command. Each checks its flags, does its work, and answers with an exit code: 0 done, 1 failed or
//! something is wrong, 2 wrong usage.

pub mod add;
pub mod audit;
mod caching;
pub mod cancel;
#[cfg(feature = "http")]
pub mod chaos;
pub mod compact;
pub mod completions;
pub mod demo;
pub mod files;
mod fleet_lines;
pub mod gc;
pub mod jobs;
pub mod journal;
mod looking;
pub mod man;
pub mod merge_child;
pub mod pause;
pub mod pin;
pub mod plan;
pub mod receipts;
pub mod retry;
#[cfg(feature = "http")]
pub mod serve;
pub mod status;
pub mod table;
pub mod undo;
pub mod upgrade;
pub mod verify;
mod watching;
#[cfg(feature = "http")]
pub mod worker;

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

/// One JSON object on a line of its own.
fn print_json(value: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string(value)?);
    Ok(())
}

fn exit_code(clean: bool) -> ExitCode {
    match clean {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
