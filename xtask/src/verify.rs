//! The static checks: nothing is run but tools, nothing is written but build products.

use anyhow::Result;

use crate::args::Options;
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{lean, process, purity, text, traps};

pub(crate) const HELP: &str = "\
Usage: cargo xtask verify

The static checks of `cargo xtask test`: formatting, the dependencies of baler-core and of baler without default
features, planted bugs, words that tracked files must not hold, and the tests that docs/traps.md names; and clippy with warnings as
errors, also without default features, which `test` leaves out, because it compiles every dependency again.";

pub(crate) fn run(args: &[String]) -> Result<()> {
    Options::parse(args, &[])?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::default();
    run_steps(&workspace, &mut steps);
    steps.run("clippy", || clippy(&workspace));
    steps.run("clippy without default features", || lean::clippy(&workspace));
    steps.finish()
}

fn clippy(workspace: &Workspace) -> Result<()> {
    let args = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet"];
    process::run(workspace.cargo(&args).args(["--", "-D", "warnings"]))
}

pub(crate) fn run_steps(workspace: &Workspace, steps: &mut Steps) {
    let cargo = |args: &[&str]| process::run(&mut workspace.cargo(args));
    steps.run("format", || cargo(&["fmt", "--all", "--check"]));
    steps.run("baler-core is pure", || purity::check(workspace));
    steps.run("baler without default features is light", || {
        lean::check(workspace)
    });
    steps.run("no planted bug is in the product", || {
        lean::check_sound(workspace)
    });
    steps.run("text of tracked files", || text::check(workspace));
    steps.run("every trap has its test", || traps::check(workspace));
}
