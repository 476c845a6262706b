//! Figures that anyone can repeat.

mod merge;
mod table;

use anyhow::Result;

use crate::args::Usage;
use crate::process;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "\
Usage: cargo xtask bench core [FILES]
       cargo xtask bench merge [--shape overlap,disjoint,upsert] [--engines baler,duckdb,…]
                               [--runs 5] [--files 256] [--rows 50000]

core    a state of a million files: replay, planning round, memory; fails where a limit is passed
merge   Baler and its peers by turns on the same data; medians of CPU and wall seconds, peak memory,
        size of the result, and their ratios to Baler's. The first run installs the peers under
        target/tools. Shapes: overlap disjoint mixed upsert. Engines: baler, and those of bench/peers.py.";

pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.split_first() {
        Some((what, rest)) if what == "core" => core(rest),
        Some((what, rest)) if what == "merge" => merge::run(rest),
        Some((what, _)) => Err(Usage::new(format!("unknown benchmark `{what}`: core or merge")).into()),
        None => Err(Usage::new("which benchmark: core or merge?").into()),
    }
}

fn core(args: &[String]) -> Result<()> {
    let workspace = Workspace::find()?;
    let files = args.first().map_or("1000000", String::as_str);
    let example = [
        "run",
        "--release",
        "--locked",
        "--package",
        "baler-journal",
        "--example",
        "measure",
        "--",
    ];
    process::run(workspace.cargo(&example).args(["core", files]))
}
