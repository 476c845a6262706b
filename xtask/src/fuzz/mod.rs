//! Fuzzing, in bounded time: every target for its share of the minutes.

mod page;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::args::Options;
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{process, provenance};

pub(crate) const HELP: &str = "\
Usage: cargo xtask fuzz [--minutes N] [--targets a,b] [--driver libfuzzer|own] [--write]

Feeds the doors through which strangers' bytes come in (entries and snapshots of a journal, Parquet
files, names, bodies of the API) with mutations of fuzz/corpus, five minutes in all unless it is said
otherwise. libFuzzer guides the mutations by coverage; it needs a C++ compiler. Where it cannot be
built, `--driver own` mutates without. An input that does harm is left below target/fuzz/found: give
it a test, and a place in fuzz/corpus. `--write` adds what was done to docs/proof.md.

The same targets run under `cargo fuzz run TARGET --sanitizer none`.";

/// The targets of `baler-fuzz`, in their order.
const TARGETS: [&str; 5] = ["journal", "snapshot", "parquet", "names", "api"];

/// What has LLVM count which edges an input takes; cargo-fuzz gives the same.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1";

/// An input that takes longer hangs.
const INPUT_SECONDS_MAX: u64 = 20;
/// An input that takes more memory is greedy: no limit of a file allows as much where memory is small.
const INPUT_MB_MAX: u64 = 2_048;

pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse_with_flags(args, &["minutes", "targets", "driver"], &["write"])?;
    let minutes: f64 = options.one("minutes", 5.0)?;
    let targets: Vec<String> = options.list("targets", &TARGETS.map(str::to_owned))?;
    let seconds = ((minutes * 60.0) / targets.len() as f64).max(1.0) as u64;
    let workspace = Workspace::find()?;
    let provenance = provenance::line(&workspace)?;
    let fuzzer = match options.one("driver", "libfuzzer".to_owned())?.as_str() {
        "libfuzzer" => Fuzzer::libfuzzer(&workspace)?,
        "own" => Fuzzer::own(&workspace)?,
        other => bail!("`--driver`: `{other}` is neither libfuzzer nor own"),
    };
    let (mut steps, mut runs) = (Steps::default(), Vec::new());
    for target in &targets {
        steps.run(target, || {
            let executions = fuzzer.run(&workspace, target, seconds)?;
            println!("{executions} executions in {seconds} s");
            runs.push(page::Ran {
                target: target.clone(),
                executions,
                seconds,
            });
            Ok(())
        });
    }
    if options.flag("write") {
        page::write(&workspace, &provenance, fuzzer.name, &runs)?;
    }
    steps.finish()
}

/// Who mutates.
struct Fuzzer {
    name: &'static str,
    folder: PathBuf,
}

const LIBFUZZER: &str = "libFuzzer";

impl Fuzzer {
    /// Builds the targets with LLVM's coverage, for this machine: what runs while building must not be covered.
    fn libfuzzer(workspace: &Workspace) -> Result<Self> {
        let host = host()?;
        let target = workspace.target().join("fuzz");
        let mut build = workspace.cargo(&[
            "build",
            "--release",
            "--locked",
            "--manifest-path",
            "fuzz/Cargo.toml",
        ]);
        build.args(["--target", &host]).arg("--target-dir").arg(&target);
        build.env("RUSTFLAGS", COVERAGE);
        let built = process::run(&mut build);
        built.context("libFuzzer cannot be built here: --driver own does without")?;
        Ok(Self {
            name: LIBFUZZER,
            folder: target.join(host).join("release"),
        })
    }

    fn own(workspace: &Workspace) -> Result<Self> {
        let mut build = workspace.cargo(&[
            "build",
            "--release",
            "--locked",
            "-p",
            "baler-fuzz",
            "--bin",
            "drive",
        ]);
        process::run(&mut build)?;
        Ok(Self {
            name: "a driver of our own, without coverage",
            folder: workspace.target().join("release"),
        })
    }

    /// Answers how many inputs were run.
    fn run(&self, workspace: &Workspace, target: &str, seconds: u64) -> Result<u64> {
        let (grown, found) = (
            workspace.target().join("fuzz/corpus").join(target),
            workspace.target().join("fuzz/found").join(target),
        );
        fs::create_dir_all(&grown)?;
        fs::create_dir_all(&found)?;
        let seeds = workspace.path("fuzz/corpus");
        if self.name != LIBFUZZER {
            let mut command = Command::new(self.folder.join("drive"));
            let seed = std::process::id();
            command.arg(target).arg(&seeds).arg(seconds.to_string());
            command.arg(seed.to_string()).current_dir(&found);
            let said = process::output(&mut command)?;
            return number_after(&said, "executions ").context("the driver says nothing");
        }
        let mut command = Command::new(self.folder.join(target));
        command.arg(format!("-max_total_time={seconds}"));
        command.args(["-print_final_stats=1", "-verbosity=1", "-max_len=65536"]);
        command.arg(format!("-timeout={INPUT_SECONDS_MAX}"));
        command.arg(format!("-rss_limit_mb={INPUT_MB_MAX}"));
        command.arg(format!("-artifact_prefix={}/", found.display()));
        command.arg(&grown).arg(seeds.join(target));
        if target == "parquet" {
            command.arg(seeds.join("hostile"));
        }
        println!("$ {}", process::display(&command));
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            println!("{said}");
            bail!("an input does harm: see {}", found.display());
        }
        number_after(&said, "stat::number_of_executed_units:").context("libFuzzer says nothing")
    }
}

fn host() -> Result<String> {
    let said = process::output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say its host")
}

fn number_after(text: &str, word: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.split(word).nth(1))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_read_from_what_a_fuzzer_says() {
        let said = "Done\nstat::number_of_executed_units: 12345\nstat::average_exec_per_sec:     7\n";
        assert_eq!(
            number_after(said, "stat::number_of_executed_units:"),
            Some(12_345)
        );
        assert_eq!(number_after("executions 9\n", "executions "), Some(9));
        assert_eq!(number_after("", "executions "), None);
    }
}
