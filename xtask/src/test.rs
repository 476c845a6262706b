//! Everything that CI needs, in one command.

mod binaries;

pub(crate) use binaries::{Binary, build};

use std::process::Command;

use anyhow::Result;

use crate::args::Options;
use crate::interop::{self, Size};
use crate::shape::Shape;
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{examples, process, sim, stores, venv, verify};

pub(crate) const HELP: &str = "\
Usage: cargo xtask test

All tests: the static checks of `verify` and a build; beside them a Python environment under target/tools (DuckDB, pyarrow), object
stores (SeaweedFS, Azurite), libfaketime and the tests of the checker itself; then all tests of the workspace, the stories of `baler`
beside those of the other crates, 300 seeds of the simulator, five planted bugs that it must find, others with each commit, the examples
of the library and the interoperability tests. Every step runs even when one before it failed; the last line counts them.

Environment:
  PYTHON            the interpreter to make environments with (python3)
  BALER_BIN         test this binary in the interoperability tests instead of building one
  BALER_PYTHON      set for the tests: a Python with duckdb, pyarrow and numpy
  BALER_SEAWEED     set for the tests: the `weed` binary of SeaweedFS
  BALER_AZURITE     set for the tests: the script that starts Azurite
  BALER_NODE        set for the tests: the Node.js that runs it
  BALER_FAKETIME    set for the tests: the library that lies to processes about the time
  CARGO_TARGET_DIR  where to build, and to install tools";

const SEED_IN_CI: &str = "20261116";

pub(crate) fn run(args: &[String]) -> Result<()> {
    Options::parse(args, &[])?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::default();
    let mut built = Vec::new();
    // What is installed mostly waits for the network.
    steps.beside(
        |steps| {
            verify::run_steps(&workspace, steps);
            steps.run("build of the tests", || {
                built = binaries::build(&workspace)?;
                Ok(())
            });
        },
        |steps| install(&workspace, steps),
    );
    let (stories, others): (Vec<Binary>, Vec<Binary>) =
        built.into_iter().partition(|binary| binary.package == "baler");
    // Stories mostly wait, for leases and for each other, so there is time for the others beside them.
    steps.beside(
        |steps| run_all(&workspace, &stories, process::run, steps),
        |steps| {
            run_all(&workspace, &others, process::quietly, steps);
            steps.run("tests in the documentation", || {
                process::run(&mut workspace.cargo(&["test", "--workspace", "--locked", "--doc", "--quiet"]))
            });
            steps.run("simulator", || sim::first_seeds(&workspace));
            steps.run("five planted bugs", || sim::five_planted(&workspace));
            steps.run("examples", || examples::run(&workspace));
            for shape in Shape::ALL {
                steps.run(&format!("interoperability: {}", shape.name()), || {
                    interop::story(&workspace, interop::Profile::Dev, shape, Size::SMALL).map(drop)
                });
            }
        },
    );
    steps.finish()
}

fn install(workspace: &Workspace, steps: &mut Steps) {
    steps.run("Python environment", || venv::TEST.python(workspace).map(drop));
    steps.run("object stores", || stores::env(workspace).map(drop));
    steps.run("tests of the checker", || check_the_checker(workspace));
}

fn run_all(
    workspace: &Workspace,
    binaries: &[Binary],
    run: impl Fn(&mut Command) -> Result<()>,
    steps: &mut Steps,
) {
    for binary in binaries {
        steps.run(&binary.name(), || run(&mut in_surroundings(workspace, binary)?));
    }
}

/// What tests may count on.
fn in_surroundings(workspace: &Workspace, binary: &Binary) -> Result<Command> {
    let mut tests = binary.command();
    tests
        .env("BALER_PYTHON", venv::TEST.python(workspace)?)
        .envs(stores::env(workspace)?);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        // Most of them wait for something.
        tests.env("RUST_TEST_THREADS", (3 * cores()).to_string());
    }
    // Whether a change lands is not left to luck; everybody else's runs try new cases each time.
    if std::env::var_os("CI").is_some() {
        tests.env("PROPTEST_RNG_SEED", SEED_IN_CI);
    }
    Ok(tests)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

fn check_the_checker(workspace: &Workspace) -> Result<()> {
    let python = venv::TEST.python(workspace)?;
    process::run(
        Command::new(python)
            .arg("-B")
            .arg(workspace.path("bench/check_test.py")),
    )
}
