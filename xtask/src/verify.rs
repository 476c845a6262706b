//! The static checks: nothing is run but tools, nothing is written but build products.

use anyhow::Result;

use crate::args::Options;
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{lean, process, purity, text, traps};

pub(crate) const HELP: &str = "\
Usage: cargo xtask verify

The static part of `cargo xtask test`: formatting, clippy with warnings as errors,
the dependencies of baler-core and of baler without default features, words that
tracked files must not hold, and the tests that docs/traps.md names.";

pub(crate) fn run(args: &[String]) -> Result<()> {
    Options::parse(args, &[])?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::default();
    run_steps(&workspace, &mut steps);
    steps.finish()
}

pub(crate) fn run_steps(workspace: &Workspace, steps: &mut Steps) {
    let cargo = |args: &[&str]| process::run(&mut workspace.cargo(args));
    steps.run("format", || cargo(&["fmt", "--all", "--check"]));
    steps.run("clippy", || {
        cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ])
    });
    steps.run("baler-core is pure", || purity::check(workspace));
    steps.run("baler without default features is light", || {
        lean::check(workspace)
    });
    steps.run("text of tracked files", || text::check(workspace));
    steps.run("every trap has its test", || traps::check(workspace));
}
