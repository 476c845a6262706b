//! The only chore that writes source files.

use anyhow::Result;

use crate::args::Options;
use crate::process;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "\
Usage: cargo xtask fix

Applies what clippy proposes, then formats. Works on a dirty tree; look at the difference after.";

pub(crate) fn run(args: &[String]) -> Result<()> {
    Options::parse(args, &[])?;
    let workspace = Workspace::find()?;
    let clippy = [
        "clippy",
        "--fix",
        "--workspace",
        "--all-targets",
        "--allow-dirty",
        "--allow-staged",
    ];
    process::run(&mut workspace.cargo(&clippy))?;
    process::run(&mut workspace.cargo(&["fmt", "--all"]))
}
