//! Memory stays near the budget whatever comes in: measured in a child process, because a peak is a process's.

use crate::support::*;
use baler_merge::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const CHILD: &str = "BALER_PEAK_CHILD";
const CHILD_BUDGET: &str = "BALER_PEAK_BUDGET_MIB";
/// What the test process itself takes, allocator's leftovers included.
const BESIDE_MIB: u64 = 48;

/// Files that interleave, of rows that do not compress.
fn write_files(directory: &Path, files: i64, rows: i64) {
    write_files_with(directory, files, rows, |file, row| row * files + file);
}

fn write_files_with(directory: &Path, files: i64, rows: i64, key: impl Fn(i64, i64) -> i64) {
    for file in 0..files {
        let noise = |row: i64| {
            (row * files + file)
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .rotate_left(31)
        };
        let text: Vec<String> = (0..rows)
            .map(|row| format!("{:016x}{:016x}", noise(row), noise(row * 3)))
            .collect();
        let rows = batch(vec![
            ("k", ints((0..rows).map(|row| key(file, row)))),
            ("number", ints((0..rows).map(noise))),
            ("text", strings(text.iter().map(String::as_str))),
        ]);
        std::fs::write(directory.join(format!("{file:05}.parquet")), parquet(&rows)).unwrap();
    }
}

fn paths(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.collect();
    paths.sort();
    paths
}

/// The peak of a child that merges all files of a folder within a budget, in MiB.
fn peak_mib(directory: &Path, budget_mib: u64) -> u64 {
    let peak_mib = peak_of(&child(directory, budget_mib));
    println!("figure: {peak_mib} MiB at the peak with a budget of {budget_mib} MiB");
    peak_mib
}

/// What a child says that merges all files of a folder within a budget.
fn child(directory: &Path, budget_mib: u64) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "peak::in_the_child",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, directory)
        .env(CHILD_BUDGET, budget_mib.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{text}");
    text.into_owned()
}

fn peak_of(text: &str) -> u64 {
    let peak = text
        .split("peak KiB ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap();
    peak.parse::<u64>().unwrap() / 1024
}

/// Row groups as large as the spec wants would not fit: what is read for one and what is made of it is more than the budget.
#[test]
fn what_goes_past_the_merge_stays_near_the_budget() {
    let (files, rows) = (40, 31_250);
    let directory = tempfile::tempdir().unwrap();
    write_files_with(directory.path(), files, rows, |file, row| file * rows + row);
    let bytes: u64 = paths(directory.path())
        .iter()
        .map(|path| path.metadata().unwrap().len())
        .sum();
    assert!(bytes > 40 << 20, "{bytes} bytes are no more than the budget");
    let text = child(directory.path(), 16);
    assert!(
        text.contains(&format!("{} rows past the merge", files * rows)),
        "{text}"
    );
    let peak_mib = peak_of(&text);
    assert!(peak_mib <= 16 + BESIDE_MIB, "{peak_mib} MiB for 16");
}

/// Whether there is time for the whole length.
fn soak() -> bool {
    std::env::var_os("BALER_SOAK").is_some()
}

#[test]
fn the_peak_stays_near_the_budget() {
    let directory = tempfile::tempdir().unwrap();
    write_files(directory.path(), 64, if soak() { 62_500 } else { 31_250 });
    let files = paths(directory.path());
    let bytes: u64 = files.iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(bytes > 64 << 20, "{bytes} bytes would fit in memory");
    for budget_mib in [16, 64] {
        let peak_mib = peak_mib(directory.path(), budget_mib);
        assert!(
            peak_mib <= budget_mib + BESIDE_MIB,
            "{peak_mib} MiB for {budget_mib}"
        );
    }
}

/// Descriptors are few on many machines; the child opens a file only while it reads it.
#[test]
fn thousands_of_small_inputs_stay_near_a_small_budget() {
    let files = if soak() { 10_000 } else { 2_000 };
    let directory = tempfile::tempdir().unwrap();
    write_files(directory.path(), files, 100);
    let peak_mib = peak_mib(directory.path(), 32);
    assert!(peak_mib <= 32 + BESIDE_MIB, "{peak_mib} MiB");
}

/// A file that is open only while it is read.
struct Closed(PathBuf, u64);

impl Input for Closed {
    fn name(&self) -> &str {
        "closed.parquet"
    }
    fn len(&self) -> u64 {
        self.1
    }
    fn read_at(&self, offset: u64, length: usize) -> std::io::Result<bytes::Bytes> {
        LocalFile::open(&self.0)?.read_at(offset, length)
    }
}

struct Nowhere;

impl OutputSink for Nowhere {
    fn create(&mut self, _part: u32) -> std::io::Result<Box<dyn Output>> {
        Ok(Box::new(Nowhere))
    }
}

impl std::io::Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Output for Nowhere {
    fn finish(self: Box<Self>) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
#[ignore = "the other half of the tests above, which start it"]
fn in_the_child() {
    let Some(directory) = std::env::var_os(CHILD) else {
        return;
    };
    let directory = PathBuf::from(directory);
    let inputs: Vec<Arc<dyn Input>> = paths(&directory)
        .into_iter()
        .map(|path| {
            let bytes = path.metadata().unwrap().len();
            Arc::new(Closed(path, bytes)) as Arc<dyn Input>
        })
        .collect();
    let memory_mib: u64 = std::env::var(CHILD_BUDGET).unwrap().parse().unwrap();
    let budget = Budget {
        memory_bytes: memory_mib << 20,
        threads: 1,
    };
    let spill = tempfile::tempdir().unwrap();
    let spec = sorted_by(&["k"]);
    let report = merge(&inputs, &spec, budget, spill.path(), &mut Nowhere, &Unwatched).unwrap();
    assert_eq!(report.inputs.len(), inputs.len());
    assert_eq!(report.rows_out(), report.rows_in());
    println!(
        "{} rows past the merge",
        report.ways.stitched + report.ways.copied
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    println!("peak KiB {}", peak.split_whitespace().nth(1).unwrap());
}
