//! Everything that CI needs, in one command.

use anyhow::Result;

use crate::args::Options;
use crate::interop::{self, Size};
use crate::shape::Shape;
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{process, stores, venv, verify};

pub(crate) const HELP: &str = "\
Usage: cargo xtask test

All tests, in order: the static checks of `verify`, a Python environment under target/tools
(DuckDB, pyarrow), object stores (SeaweedFS, Azurite) and libfaketime, the tests of the checker itself, `cargo test`
on the workspace, and the interoperability tests. Every step runs even when one before it failed; the last line counts them.

Environment:
  PYTHON            the interpreter to make environments with (python3)
  BALER_BIN         test this binary in the interoperability tests instead of building one
  BALER_PYTHON      set for `cargo test`: a Python with duckdb, pyarrow and numpy
  BALER_SEAWEED     set for `cargo test`: the `weed` binary of SeaweedFS
  BALER_AZURITE     set for `cargo test`: the script that starts Azurite
  BALER_NODE        set for `cargo test`: the Node.js that runs it
  BALER_FAKETIME    set for `cargo test`: the library that lies to processes about the time
  CARGO_TARGET_DIR  where to build, and to install tools";

const SEED_IN_CI: &str = "20261116";

pub(crate) fn run(args: &[String]) -> Result<()> {
    Options::parse(args, &[])?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::default();
    verify::run_steps(&workspace, &mut steps);
    steps.run("Python environment", || venv::TEST.python(&workspace).map(drop));
    steps.run("object stores", || stores::env(&workspace).map(drop));
    steps.run("tests of the checker", || check_the_checker(&workspace));
    steps.run("cargo test", || {
        let python = venv::TEST.python(&workspace)?;
        let mut tests = workspace.cargo(&["test", "--workspace", "--locked"]);
        tests.env("BALER_PYTHON", python).envs(stores::env(&workspace)?);
        // Stories of fleets and of stores mostly wait, for leases and for each other.
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            tests.env("RUST_TEST_THREADS", (2 * cores()).to_string());
        }
        // Whether a change lands is not left to luck; everybody else's runs try new cases each time.
        if std::env::var_os("CI").is_some() {
            tests.env("PROPTEST_RNG_SEED", SEED_IN_CI);
        }
        process::run(&mut tests)
    });
    for shape in Shape::ALL {
        steps.run(&format!("interoperability: {}", shape.name()), || {
            interop::story(&workspace, interop::Profile::Dev, shape, Size::SMALL).map(drop)
        });
    }
    steps.finish()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

fn check_the_checker(workspace: &Workspace) -> Result<()> {
    let python = venv::TEST.python(workspace)?;
    process::run(
        std::process::Command::new(python)
            .arg("-B")
            .arg(workspace.path("bench/check_test.py")),
    )
}
