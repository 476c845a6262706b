//! `baler completions`: a script that completes commands and flags in a shell.

use std::io::stdout;
use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};

/// Runs it.
pub fn run(args: &CompletionsArgs) -> Result<ExitCode> {
    clap_complete::generate(args.shell, &mut Cli::command(), "baler", &mut stdout());
    Ok(ExitCode::SUCCESS)
}
