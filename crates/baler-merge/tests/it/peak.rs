//! Memory stays near the budget whatever comes in: measured in a child process, because a peak is a process's.

use crate::support::*;
use baler_merge::*;
use std::process::Command;
use std::sync::Arc;

const CHILD: &str = "BALER_PEAK_CHILD";
const BUDGET_MIB: u64 = 16;
const FILES: i64 = 64;
const ROWS: i64 = 25_000;

fn files(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    (0..FILES)
        .map(|file| {
            let noise = |row: i64| {
                (row * FILES + file)
                    .wrapping_mul(0x5851_F42D_4C95_7F2D)
                    .rotate_left(31)
            };
            let text: Vec<String> = (0..ROWS)
                .map(|row| format!("{:016x}{:016x}", noise(row), noise(row * 3)))
                .collect();
            let rows = batch(vec![
                ("k", ints((0..ROWS).map(|row| row * FILES + file))),
                ("number", ints((0..ROWS).map(noise))),
                ("text", strings(text.iter().map(String::as_str))),
            ]);
            let path = directory.join(format!("{file}.parquet"));
            std::fs::write(&path, parquet(&rows)).unwrap();
            path
        })
        .collect()
}

#[test]
fn the_peak_stays_near_the_budget() {
    let directory = tempfile::tempdir().unwrap();
    let bytes: u64 = files(directory.path())
        .iter()
        .map(|path| path.metadata().unwrap().len())
        .sum();
    assert!(
        bytes > (4 * BUDGET_MIB) << 20,
        "{bytes} bytes would fit in memory"
    );
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "peak::in_the_child",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, directory.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{text}");
    let peak = text
        .split("peak KiB ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap();
    let peak_mib = peak.parse::<u64>().unwrap() / 1024;
    assert!(peak_mib <= BUDGET_MIB + 48, "{peak_mib} MiB at the peak");
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
#[ignore = "the other half of the test above, which starts it"]
fn in_the_child() {
    let Some(directory) = std::env::var_os(CHILD) else {
        return;
    };
    let directory = std::path::PathBuf::from(directory);
    let inputs: Vec<Arc<dyn Input>> = (0..FILES)
        .map(|file| {
            Arc::new(LocalFile::open(&directory.join(format!("{file}.parquet"))).unwrap()) as Arc<dyn Input>
        })
        .collect();
    let budget = Budget {
        memory_bytes: BUDGET_MIB << 20,
        threads: 1,
    };
    let report = merge(
        &inputs,
        &sorted_by(&["k"]),
        budget,
        &directory,
        &mut Nowhere,
        &Unwatched,
    )
    .unwrap();
    assert_eq!(report.rows_out(), (FILES * ROWS) as u64);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    println!("peak KiB {}", peak.split_whitespace().nth(1).unwrap());
}
