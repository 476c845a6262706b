//! Figures that anyone can repeat.

mod figures;
pub(crate) mod page;
mod track;
mod verdict;

mod bounds;
mod engine;
mod merge;
mod results;

mod flame;
mod fleet;
mod growth;
mod small;
mod threads;
mod workers;

use anyhow::Result;

use crate::args::{Options, Usage};
use crate::interop::Size;
use crate::process;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "\
Usage: cargo xtask bench core [FILES]
       cargo xtask bench merge   [--shape overlap,disjoint,mixed,upsert] [--peers duckdb,polars,…]
                                 [--runs 5] [--files 256] [--rows 50000] [--write]
       cargo xtask bench growth  [--runs 3] [--files 1280] [--rows 50000] [--inputs 10000] [--write]
       cargo xtask bench small   [--runs 5] [--files 100] [--rows 5000] [--write]
       cargo xtask bench threads [--shape overlap,upsert] [--runs 5] [--files 256] [--rows 50000] [--write]
       cargo xtask bench flame   [--shape overlap,disjoint,mixed,upsert] [--files 256] [--rows 50000] [--write]
       cargo xtask bench workers [--runs 5] [--files 256] [--rows 50000] [--write]
       cargo xtask bench fleet   [--write]

core     a state of a million files: replay, planning round, memory; fails where a limit is passed
merge    Baler and its peers by turns on the same data; medians of CPU and wall seconds, peak memory and
         size of the result, and each bound with its verdict. A peer runs at zstd 1 and at its own level,
         and the better one counts. Peers: duckdb and polars, and on disjoint data duckdb_concat and
         polars_concat; others of bench/peers.py when they are named: datafusion chdb delta_compact
         delta_zorder cat
growth   1, 4, 16 and 64 million rows by turns: is CPU linear, is memory flat? And 10000 inputs at once.
         Needs about 3 GB under target/tools, which are gone at the end
small    100 files, 10 MB, from a cold start to the end; the best run counts
threads  one thread on one core, two threads on two cores (needs taskset)
flame    where a merge spends its CPU: a sampled profile by module, the digests' share of it, and a flame
         graph (needs perf, which must be allowed to look at one's own processes, and binutils)
workers  one and two worker processes of one thread on one folder
fleet    up to 64 workers on modelled time: efficiency, contention, how soon files are drained. All of it is
         the program's own code but for the wire, the disk and the merge

All but core, workers and fleet run `baler compact --workers 1 --memory 256MiB`, print Markdown, and exit with 1 where a bound
is missed. --write also puts the tables between their markers in docs/performance.md and README.md; it
takes data of full size, and no fewer runs and peers than by default. The first run installs the peers under
target/tools. BALER_BIN measures that binary instead of building one.";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let Some((what, rest)) = args.split_first() else {
        return Err(Usage::new(format!("which benchmark: {NAMES}?")).into());
    };
    match what.as_str() {
        "core" => core(rest),
        "merge" => merge::run(rest),
        "growth" => growth::run(rest),
        "small" => small::run(rest),
        "threads" => threads::run(rest),
        "flame" => flame::run(rest),
        "workers" => workers::run(rest),
        "fleet" => fleet::run(rest),
        _ => Err(Usage::new(format!("unknown benchmark `{what}`: {NAMES}")).into()),
    }
}

const NAMES: &str = "core, merge, growth, small, threads, flame, workers or fleet";

/// How much data, and how often.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    size: Size,
    runs: usize,
}

impl Sizes {
    fn read(options: &Options, full: Size, runs: usize) -> Result<Self> {
        let asked = Self {
            size: Size {
                files: options.one("files", full.files)?,
                rows: options.one("rows", full.rows)?,
            },
            runs: options.one("runs", runs)?,
        };
        if asked.runs == 0 || asked.size.files == 0 || asked.size.rows == 0 {
            return Err(Usage::new("nothing to measure: `--runs`, `--files` and `--rows` begin at 1").into());
        }
        let is_full = asked.size == full && asked.runs >= runs;
        if options.flag("write") && !is_full {
            return Err(Usage::new(
                "`--write` takes data of full size and no fewer runs than by default: pages hold no smaller figures",
            )
            .into());
        }
        Ok(asked)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Result<Sizes> {
        let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let options = Options::parse_with_flags(&args, &["files", "rows", "runs"], &["write"]).unwrap();
        Sizes::read(&options, Size::FULL, 5)
    }

    #[test]
    fn pages_hold_figures_of_full_size_only() {
        assert_eq!(read(&["--runs", "1", "--files", "8"]).unwrap().size.files, 8);
        assert_eq!(read(&["--write", "--runs", "7"]).unwrap().runs, 7);
        for args in [
            &["--write", "--runs", "4"][..],
            &["--write", "--rows", "5000"],
            &["--runs", "0"],
        ] {
            assert!(read(args).unwrap_err().is::<Usage>(), "{args:?}");
        }
    }
}
