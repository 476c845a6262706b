//! A profile: perf looks many times a second at what each thread does, and every look is a stack of functions.
//!
//! Stacks are unwound by the tables that panics use, so the binary that users have is the one that is measured.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::sources::Sources;
use super::symbol::{engine_module, library, module_of_file};
use crate::{process, venv};

/// What the kernel did for the program, however deep.
pub(crate) const KERNEL: &str = "kernel";

/// Uneven, so that looks do not fall in step with what happens at regular times.
const HERTZ: &str = "997";

/// Bytes of each stack that are kept to unwind it.
const UNWIND: &str = "dwarf,16384";

/// Modules and libraries that make digests.
const DIGEST_MODULES: &[&str] = &["digest", "row_hash"];
const DIGEST_LIBRARIES: &[&str] = &["xxhash_rust", "baler_hash"];
const DIGEST_SOURCES: &[&str] = &["/xxhash-rust-", "/baler-hash/"];

/// Smaller shares are summed up.
const SHOWN_PERCENT: f64 = 1.0;

/// Functions from the outermost to the innermost.
pub(crate) type Stack = Vec<String>;

#[derive(Debug, Default)]
struct Sample {
    stack: Stack,
    /// Where the innermost function was, as an offset in the program's file; none where it belongs to another.
    at: Option<u64>,
    /// The source files of that place, the innermost first: a small function is part of the one that it was inlined into, and
    /// only they tell.
    files: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Profile {
    samples: Vec<Sample>,
}

/// Whether perf is there and may be used; best asked before data are made.
pub(crate) fn is_possible() -> Result<()> {
    let mut perf = Command::new("perf");
    let tried = process::output(perf.args(["stat", "-o", "/dev/null", "-e", "cpu-clock:u", "true"]));
    venv::advise(
        tried,
        "sudo apt-get install linux-perf; sudo sysctl kernel.perf_event_paranoid=2",
    )?;
    Ok(())
}

impl Profile {
    /// Runs a command to its end under perf; the samples go to a file.
    pub(crate) fn record(words: &[OsString], data: &Path) -> Result<Self> {
        let mut record = Command::new("perf");
        record.args(["record", "--quiet", "-e", "cpu-clock", "-F", HERTZ]);
        record.args(["--call-graph", UNWIND, "-o"]).arg(data).arg("--");
        process::output(record.args(words))?;
        let mut script = Command::new("perf");
        script.args(["script", "--no-inline", "-F", "comm,ip,sym,dso", "-i"]);
        let text = process::output(script.arg(data))?;
        let program = Path::new(words.first().context("there is a command to run")?);
        let mut profile = Self::parse(&text, &program.canonicalize()?.to_string_lossy())?;
        let places = profile.samples.iter().filter_map(|sample| sample.at);
        let sources = Sources::find(program, &places.collect())?;
        for sample in &mut profile.samples {
            sample.files = sample.at.map(|at| sources.of(at)).unwrap_or_default();
        }
        Ok(profile)
    }

    fn parse(text: &str, program: &str) -> Result<Self> {
        let samples: Vec<_> = text
            .split("\n\n")
            .map(|sample| Sample::parse(sample, program))
            .filter(|sample| !sample.stack.is_empty())
            .collect();
        ensure!(!samples.is_empty(), "perf saw nothing; was the run too short?");
        Ok(Self { samples })
    }

    pub(crate) fn stacks(&self) -> impl Iterator<Item = &Stack> {
        self.samples.iter().map(|sample| &sample.stack)
    }

    pub(crate) fn len(&self) -> usize {
        self.samples.len()
    }

    /// The part of all samples that was spent on digests of rows or bytes.
    pub(crate) fn digests_percent(&self) -> f64 {
        let found = self.samples.iter().filter(|sample| sample.makes_digests());
        100.0 * found.count() as f64 / self.len() as f64
    }

    /// Shares of the CPU: by the engine's innermost module on the stack, and by the library at its top.
    pub(crate) fn table(&self) -> String {
        let modules = self.shares(|sample| match sample.module() {
            Some(module) => format!("`{module}`"),
            None => "outside the engine".to_owned(),
        });
        let libraries = self.shares(|sample| {
            let innermost = sample.stack.last();
            innermost.map_or("", |symbol| library(symbol)).to_owned()
        });
        format!(
            "| module of the engine | % of CPU |\n|---|---|\n{modules}\n\
             | library at work | % of CPU |\n|---|---|\n{libraries}"
        )
    }

    fn shares(&self, name: impl Fn(&Sample) -> String) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for sample in &self.samples {
            *counts.entry(name(sample)).or_default() += 1;
        }
        let percent = |count: usize| 100.0 * count as f64 / self.len() as f64;
        let mut shares: Vec<_> = counts
            .iter()
            .map(|(name, count)| (percent(*count), name))
            .collect();
        shares.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (shown, rest): (Vec<_>, Vec<_>) =
            shares.into_iter().partition(|(share, _)| *share >= SHOWN_PERCENT);
        let mut text: String = shown
            .iter()
            .map(|(share, name)| format!("| {name} | {share:.1} |\n"))
            .collect();
        if !rest.is_empty() {
            let sum: f64 = rest.iter().map(|(share, _)| share).sum();
            text += &format!("| {} others, less than 1 % each | {sum:.1} |\n", rest.len());
        }
        text
    }
}

impl Sample {
    /// The name of its thread on a line, then its functions with their files, the innermost first.
    fn parse(text: &str, program: &str) -> Self {
        let mut sample = Self::default();
        for line in text.lines().filter(|line| line.starts_with(char::is_whitespace)) {
            let Some((address, rest)) = line.trim().split_once(' ') else {
                continue;
            };
            let (symbol, file) = rest.rsplit_once(" (").unwrap_or((rest, ""));
            let is_innermost = sample.stack.is_empty();
            if address.chars().all(|digit| digit == 'f') {
                // Where unwinding lost its way.
            } else if address.len() == 16 && address.starts_with("ffff") {
                if is_innermost {
                    sample.stack.push(KERNEL.to_owned());
                }
            } else {
                if is_innermost && file.trim_end_matches(')') == program {
                    sample.at = u64::from_str_radix(address, 16).ok();
                }
                sample.stack.push(symbol.trim().to_owned());
            }
        }
        sample.stack.reverse();
        sample
    }

    /// The innermost module of the engine.
    fn module(&self) -> Option<String> {
        let inlined = self.files.iter().find_map(|file| module_of_file(file));
        inlined.or_else(|| self.stack.iter().rev().find_map(|symbol| engine_module(symbol)))
    }

    fn makes_digests(&self) -> bool {
        let module = self.module().unwrap_or_default();
        module.split("::").any(|part| DIGEST_MODULES.contains(&part))
            || self
                .stack
                .iter()
                .any(|symbol| DIGEST_LIBRARIES.contains(&library(symbol)))
            || self
                .files
                .iter()
                .any(|file| DIGEST_SOURCES.iter().any(|sources| file.contains(sources)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: &str = "\
baler
\t         1f9f988 xxhash_rust::xxh3::xxh3_128 (/bin/baler)
\t         1258ac6 baler_merge::row_hash::numbers (/bin/baler)
\t          129c5d baler_merge::merge::merge (/bin/baler)
\tffffffffffffffff [unknown] ([unknown])

tokio-rt worker
\t         17391d6 ZSTD_decompressSequences (/bin/baler)
\t         12a1ad2 baler_merge::decode::Batches::next (/bin/baler)
\t         129c5da baler_merge::merge::merge (/bin/baler)

tokio-rt worker
\tffffffff81000010 clear_page ([kernel.kallsyms])
\tffffffff81000020 do_fault ([kernel.kallsyms])
\t          109aaa memmove (/lib/libc.so.6)
\t         12a1ad2 baler_merge::decode::Batches::next (/bin/baler)

baler
\t          f9f988 tokio::runtime::park (/bin/baler)
";

    fn profile() -> Profile {
        Profile::parse(SAMPLES, "/bin/baler").unwrap()
    }

    #[test]
    fn stacks_begin_outside_and_the_kernel_is_one_frame() {
        let profile = profile();
        let stacks: Vec<_> = profile.stacks().collect();
        assert_eq!(stacks.len(), 4);
        assert_eq!(stacks[0][0], "baler_merge::merge::merge");
        assert_eq!(
            *stacks[2],
            ["baler_merge::decode::Batches::next", "memmove", "kernel"]
        );
    }

    #[test]
    fn only_places_in_the_program_itself_are_looked_up() {
        let places: Vec<_> = profile().samples.iter().map(|sample| sample.at).collect();
        assert_eq!(
            places,
            [Some(0x1f9_f988), Some(0x173_91d6), None, Some(0xf9_f988)]
        );
    }

    #[test]
    fn shares_are_told_by_the_innermost_module() {
        let profile = profile();
        assert_eq!(profile.digests_percent(), 25.0);
        let table = profile.table();
        for row in [
            "| `decode` | 50.0 |",
            "| `row_hash` | 25.0 |",
            "| outside the engine | 25.0 |",
            "| zstd | 25.0 |",
            "| kernel | 25.0 |",
        ] {
            assert!(table.contains(row), "{row} is not in\n{table}");
        }
    }

    #[test]
    fn a_digest_that_was_inlined_is_seen_by_its_source() {
        let mut profile = profile();
        let files = [
            "src/xxh3.rs",
            "crates/baler-merge/src/row_hash.rs",
            "crates/baler-merge/src/decode.rs",
        ];
        profile.samples[1].files = files.map(str::to_owned).to_vec();
        assert_eq!(profile.digests_percent(), 50.0);
        assert!(
            profile.table().contains("| `row_hash` | 50.0 |"),
            "{}",
            profile.table()
        );
    }

    #[test]
    fn a_run_that_was_too_short_is_no_profile() {
        assert!(Profile::parse("\n", "/bin/baler").is_err());
    }
}
