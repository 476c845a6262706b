//! One bad file among many in one folder: one that ends whoever opens it, and one that reports an error. All others are
//! compacted, and the bad ones are named.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::processes::wait_until;
use super::{Fleet, Process};
use crate::support::tenth_unless_soaking;

/// Debug builds die of files of this name.
fn dies() -> [(&'static str, String); 1] {
    [("BALER_TEST_DIES_OF", "poison".to_owned())]
}

fn poisoned() -> Fleet {
    let fleet = Fleet::new();
    let files = tenth_unless_soaking(1_000);
    for file in 0..i64::from(files) {
        let rows: Vec<(i64, i64, &str)> = (0..20).map(|row| (row * 1_000 + file, row, "text")).collect();
        let name = match file {
            7 => "poison".to_owned(),
            _ => format!("part-{file:04}"),
        };
        fleet.scene.write(&format!("data/{name}.parquet"), &rows);
    }
    fleet
}

/// Its footer is sound, and its pages are not.
fn damage(fleet: &Fleet, name: &str) {
    let path = fleet.scene.path(name);
    let mut bytes = fs::read(&path).unwrap();
    bytes[8..60].fill(0xff);
    fs::write(path, bytes).unwrap();
}

fn quarantined(fleet: &Fleet) -> Vec<String> {
    let status = fleet.status();
    let marks = status["quarantined"].as_array().unwrap().iter();
    marks
        .map(|mark| mark["path"].as_str().unwrap().to_owned())
        .collect()
}

/// Whoever restarts processes stops doing so, however the story ends.
struct EndsWithTheStory<'a>(&'a AtomicBool);

impl Drop for EndsWithTheStory<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts a process again whenever it ends, as a supervisor would, until all is settled.
fn supervise(start: impl Fn() -> Process + Sync, settled: impl Fn() -> bool) -> u32 {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let supervisor = scope.spawn(|| {
            let mut deaths = 0;
            let mut process = start();
            while !over.load(Ordering::Relaxed) {
                if process.has_ended() {
                    deaths += 1;
                    process = start();
                }
                thread::sleep(Duration::from_millis(50));
            }
            deaths
        });
        let ends = EndsWithTheStory(&over);
        wait_until("the bad file is named, and all others are merged", &settled);
        drop(ends);
        supervisor.join().unwrap()
    })
}

/// Trap: a file that kills its worker sends no report, and kills one after another for ever.
#[test]
fn a_file_that_kills_its_worker_is_found_and_named_and_all_others_are_merged() {
    let fleet = poisoned();
    let before = fleet.scene.rows("data");
    damage(&fleet, "data/part-0003.parquet");
    let serve = fleet.serve(&["--no-worker", "--lease", "1s"]);
    let url = serve.url.clone();
    let deaths = supervise(
        || fleet.worker_with(&[&url], &[], &dies()),
        || {
            let status = fleet.status();
            quarantined(&fleet).len() == 2
                && status["jobs"].as_array().unwrap().is_empty()
                && fleet.scene.data_files("data").len() < 20
        },
    );
    assert_eq!(deaths, 2, "after two deaths the range runs in a child process");
    assert_eq!(quarantined(&fleet), ["part-0003.parquet", "poison.parquet"]);
    let reason = fleet.status()["quarantined"][1]["reason"].to_string();
    assert!(reason.contains("ended the process"), "{reason}");
    // The damaged one cannot be read by anybody, so it is left out of the comparison.
    wait_until("what was merged is out of sight", || {
        let live = fleet.status()["live"]["files"].as_u64().unwrap();
        fleet.scene.data_files("data").len() as u64 == live
    });
    fs::remove_file(fleet.scene.path("data/part-0003.parquet")).unwrap();
    let after = fleet.scene.rows("data");
    let rows = |rows: &BTreeMap<String, u64>| rows.values().sum::<u64>();
    assert_eq!(rows(&after), rows(&before) - 20, "rows were lost or doubled");
    assert!(after.iter().all(|(row, times)| before.get(row) == Some(times)));
    assert!(
        fleet.scene.data_files("data").len() < 20,
        "the others are not merged: {:?}",
        fleet.scene.data_files("data")
    );
}

/// Without a coordinator a worker dies together with its watcher, and still two deaths are enough.
#[test]
fn without_a_coordinator_a_killing_file_is_found_too() {
    let fleet = poisoned();
    let outside = fleet.scene.path("poison.parquet");
    fs::rename(fleet.scene.path("data/poison.parquet"), &outside).unwrap();
    let begun = fleet.scene.compact(&["--sort-by", "key"]);
    assert_eq!(begun.code, 0, "{begun:?}");
    fs::rename(outside, fleet.scene.path("data/poison.parquet")).unwrap();
    for late in 0..8 {
        fleet.scene.write(
            &format!("data/late-{late}.parquet"),
            &[(5_000_000 + late, 0, "late")],
        );
    }
    let before = fleet.scene.rows("data");
    let args = ["--settle", "0s", "--rescan", "300ms", "--lease", "2s"];
    let deaths = supervise(
        || fleet.worker_with(&["data"], &args, &dies()),
        || {
            let status = fleet.status();
            let live = status["live"]["files"].as_u64().unwrap();
            // Nobody but the worker sets aside what was merged.
            !quarantined(&fleet).is_empty()
                && status["jobs"].as_array().unwrap().is_empty()
                && fleet.scene.data_files("data").len() as u64 == live
        },
    );
    assert_eq!(deaths, 2, "after two deaths the range runs in a child process");
    assert_eq!(quarantined(&fleet), ["poison.parquet"]);
    assert!(fleet.scene.rows("data") == before, "rows were lost or doubled");
}
