//! `baler man`: manual pages, one a command.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::cli::{Cli, ManArgs};

/// Runs it.
pub fn run(args: &ManArgs) -> Result<ExitCode> {
    let dir = args.dir.display();
    fs::create_dir_all(&args.dir).with_context(|| format!("cannot make {dir}"))?;
    clap_mangen::generate_to(Cli::command(), &args.dir).with_context(|| format!("cannot write to {dir}"))?;
    Ok(ExitCode::SUCCESS)
}
