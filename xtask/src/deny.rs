//! Runs cargo-deny with the rules of deny.toml.

use anyhow::Result;

use crate::args::Options;
use crate::process;
use crate::workspace::Workspace;

const VERSION: &str = "0.20.2";

pub(crate) const HELP: &str = "\
Usage: cargo xtask deny

Checks licences, banned crates and sources of all dependencies against deny.toml.
The first run builds cargo-deny under target/tools, which takes minutes: that is why
`cargo xtask test` does not do it. Run it when Cargo.lock changes.";

pub(crate) fn run(args: &[String]) -> Result<()> {
    Options::parse(args, &[])?;
    let workspace = Workspace::find()?;
    let tools = workspace.tools();
    // Does nothing when this version is there already.
    process::run(
        workspace
            .cargo(&[
                "install",
                "cargo-deny",
                "--version",
                VERSION,
                "--locked",
                "--root",
            ])
            .arg(&tools)
            .arg("--target-dir")
            .arg(tools.join("build")),
    )?;
    process::run(
        std::process::Command::new(tools.join("bin/cargo-deny"))
            .args(["--all-features", "--manifest-path"])
            .arg(workspace.path("Cargo.toml"))
            .args(["check", "bans", "licenses", "sources"]),
    )
}
