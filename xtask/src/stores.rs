//! Object stores to test on, under target/tools: SeaweedFS as a Python wheel, Azurite as a Node.js package. Versions are
//! locked in xtask/stores; what is installed is kept until they change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::args::Options;
use crate::process;
use crate::venv::{self, advise};
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "\
Usage: cargo xtask stores

Installs SeaweedFS and Azurite under target/tools, as `test` does, and prints the variables that
tests find them by. With these set, single tests run on real stores:
  cargo test -p baler-teststores conformance::seaweed";

const LOCK: [&str; 2] = ["package.json", "package-lock.json"];

const AZURITE: &str = "node_modules/azurite/dist/src/blob/main.js";

pub(crate) fn run(args: &[String]) -> Result<()> {
    Options::parse(args, &[])?;
    for (name, path) in env(&Workspace::find()?)? {
        println!("export {name}={}", path.display());
    }
    Ok(())
}

/// The variables that tell tests where the servers are; installs what is missing.
pub(crate) fn env(workspace: &Workspace) -> Result<[(&'static str, PathBuf); 2]> {
    let weed = venv::STORES.python(workspace)?.with_file_name("weed");
    ensure!(weed.exists(), "the SeaweedFS wheel has no {}", weed.display());
    Ok([("BALER_SEAWEED", weed), ("BALER_AZURITE", azurite(workspace)?)])
}

fn azurite(workspace: &Workspace) -> Result<PathBuf> {
    let home = workspace.tools().join("azurite");
    let wanted = fs::read_to_string(lock_file(workspace, LOCK[1]))?;
    // Written last, so that an installation that was cut short is done again.
    let installed = home.join("installed.json");
    let is_current = fs::read_to_string(&installed).is_ok_and(|found| found == wanted);
    if !is_current {
        install(workspace, &home)?;
        fs::write(&installed, wanted)?;
    }
    Ok(home.join(AZURITE))
}

fn install(workspace: &Workspace, home: &Path) -> Result<()> {
    check_node()?;
    fs::create_dir_all(home)?;
    for name in LOCK {
        fs::copy(lock_file(workspace, name), home.join(name)).with_context(|| name.to_owned())?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]);
    npm.args(["--loglevel=error", "--prefix"]).arg(home);
    let again = process::display(&npm);
    advise(process::run(&mut npm), &again)
}

/// Azurite is a program for Node.js; nothing here can install that.
fn check_node() -> Result<()> {
    let mend = "sudo apt-get install nodejs npm";
    for program in ["node", "npm"] {
        advise(process::output(Command::new(program).arg("--version")), mend)?;
    }
    Ok(())
}

fn lock_file(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.path("xtask/stores").join(name)
}
