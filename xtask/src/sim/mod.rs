//! Runs the simulator: many seeds, or one with its trace.

mod hunt;
mod record;

use std::process::Command;

use anyhow::{Result, bail};

use crate::args::Options;
use crate::workspace::Workspace;
use crate::{process, provenance};
use record::Record;

pub(crate) const HELP: &str = "\
Usage: cargo xtask sim [--seeds N] [--from S] [--twice-every N] [--without KIND,…] [--profile release|dev] [--write]
       cargo xtask sim --seed S [--without KIND,…]
       cargo xtask sim --mutants [--only NAME,…] [--seeds N] [--from S] [--write]

Runs Baler in a simulated world: the real code over a store, a network and clocks in which everything goes wrong. Each seed is a
world of its own, and the same each time. Prints how often each kind of fault happened and which scenarios were reached; a
guarantee that does not hold fails the run, with the smallest set of faults that it takes and the command that shows it again.

  --seeds N         how many (300)
  --from S          the first (0)
  --seed S          only this one, with all that happened
  --twice-every N   one in so many is run twice, and must be the same (20)
  --without KIND,…  kinds of faults to leave out
  --profile P       how to build it (release)
  --mutants         plants the bugs of crates/baler-core/src/mutants/list.rs one after another; each must be found within
                    2,000 seeds (--seeds), or, where no simulated fleet meets it, by the walk or the test that
                    `cargo xtask mutants` knows for it; the command fails if one is not
  --only NAME,…     only these of them
  --write           adds what was reached, or what was found, to docs/proof.md";

const SEEDS_IN_CI: &str = "300";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let known = [
        "seeds",
        "from",
        "seed",
        "twice-every",
        "without",
        "profile",
        "only",
    ];
    let options = Options::parse_with_flags(args, &known, &["write", "mutants"])?;
    let workspace = Workspace::find()?;
    if options.flag("mutants") {
        return hunt::run(&workspace, &options);
    }
    let profile: String = options.one("profile", "release".to_owned())?;
    let mut asked = Vec::new();
    for name in &known[..5] {
        let value: String = options.one(name, String::new())?;
        if !value.is_empty() {
            asked.extend([format!("--{name}"), value]);
        }
    }
    let made_of = provenance::line(&workspace)?;
    let figures = simulate(&workspace, &profile, &asked)?;
    match options.flag("write") {
        true => figures.write(&workspace, &made_of),
        false => Ok(()),
    }
}

/// The first seeds, as every test run looks at them, with the simulator that was built beside the tests.
pub(crate) fn first_seeds(workspace: &Workspace) -> Result<()> {
    process::quietly(built_beside_the_tests(workspace).args(["--seeds", SEEDS_IN_CI]))
}

/// Five planted bugs, others with each commit: the simulator that was built beside the tests must find them.
pub(crate) fn five_planted(workspace: &Workspace) -> Result<()> {
    let commits = workspace.git(&["rev-list", "--count", "HEAD"])?;
    let mut simulator = built_beside_the_tests(workspace);
    simulator.args(["--mutants", "five", "--turn", commits.trim()]);
    process::quietly(&mut simulator)
}

fn built_beside_the_tests(workspace: &Workspace) -> Command {
    let program = format!("debug/baler-sim{}", std::env::consts::EXE_SUFFIX);
    let mut simulator = Command::new(workspace.target().join(program));
    simulator.env("RUST_LIB_BACKTRACE", "0");
    simulator
}

fn simulate(workspace: &Workspace, profile: &str, asked: &[String]) -> Result<Record> {
    let mut command = workspace.cargo(&[
        "run",
        "--locked",
        "--quiet",
        "-p",
        "baler-sim",
        "--profile",
        profile,
        "--",
    ]);
    // Errors are ordinary here, and where each came from would take most of the time.
    command.args(asked).env("RUST_LIB_BACKTRACE", "0");
    let mut figures = Record::default();
    process::lines(&mut command, |line| figures.note(line))?;
    if figures.is_empty() && !asked.contains(&"--seed".to_owned()) {
        bail!("the simulator said nothing about what it reached");
    }
    Ok(figures)
}
