//! Large jobs are merged range by range, on as many workers as there are. What is finished stays finished.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::processes::wait_until;
use super::{Fleet, Process};
use crate::compaction::assert_no_orphans;
use crate::support::column;

/// Jobs of a few megabytes are large here.
pub(crate) const SMALL_RANGES: [&str; 2] = ["--range-bytes", "2MiB"];
pub(crate) const SMALL_FILES: [&str; 2] = ["--target-size", "1MiB"];

/// One folder, so one job, of several ranges.
pub(crate) fn large() -> Fleet {
    let fleet = Fleet::new();
    write_large(&fleet);
    fleet
}

/// Files that overlap everywhere, and whose rows do not shrink when they are merged.
fn write_large(fleet: &Fleet) {
    for file in 0..40 {
        let rows = (0..20_000).map(|row| row * 40 + file);
        let rows: Vec<(i64, i64, &str)> = rows.map(|key| (key, noise(key), "text")).collect();
        fleet.scene.write(&format!("data/part-{file:04}.parquet"), &rows);
    }
}

/// Scattered as by chance, but always the same.
fn noise(key: i64) -> i64 {
    let mut bits = (key as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)) as i64
}

/// What an output's name says of who made it: `baler-<journal>-<job>-<range>-<token>-<part>.parquet`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Made {
    pub(crate) job: u64,
    pub(crate) range: u32,
    pub(crate) part: u32,
    pub(crate) token: String,
}

pub(crate) fn made(path: &Path) -> Made {
    let name = path.file_stem().unwrap().to_str().unwrap();
    let parts: Vec<&str> = name.split('-').collect();
    let [_, _, job, range, token, part] = parts[..] else {
        panic!("{name} is no output of Baler");
    };
    Made {
        job: job.parse().unwrap(),
        range: range.parse().unwrap(),
        part: part.parse().unwrap(),
        token: token.to_owned(),
    }
}

/// All rows are there once, in the order of the ranges, and more than one range made them.
fn assert_merged_in_ranges(fleet: &Fleet, rows: &BTreeMap<String, u64>) {
    assert!(fleet.scene.rows("data") == *rows, "rows were lost or doubled");
    let mut files = fleet.scene.data_files("data");
    files.sort_by_key(|path| made(path));
    let ranges: BTreeSet<u32> = files.iter().map(|path| made(path).range).collect();
    assert!(ranges.len() > 1, "only the ranges {ranges:?} made anything");
    assert_eq!(ranges, (0..ranges.len() as u32).collect());
    let keys: Vec<i64> = files.iter().flat_map(|path| column(path, "key")).collect();
    assert!(keys.is_sorted(), "ranges one after another are not in order");
}

/// Who was seen to work on the only job, until it is committed and its inputs are out of sight.
fn workers_seen(fleet: &Fleet) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    wait_until("the job is committed", || {
        let status = fleet.status();
        let jobs = status["jobs"].as_array().unwrap().iter();
        let workers = jobs.flat_map(|job| job["workers"].as_array().unwrap());
        seen.extend(workers.map(|worker| worker.as_str().unwrap().to_owned()));
        let live = status["live"]["files"].as_u64();
        fleet.committed() > 0 && live == Some(fleet.scene.data_files("data").len() as u64)
    });
    seen
}

fn end(fleet: &Fleet, processes: Vec<Process>) {
    for mut process in processes {
        assert_eq!(process.stop(), Some(0));
    }
    fleet.scene.baler(&["gc", "data", "--now"]);
    assert_no_orphans(&fleet.scene, "data");
}

#[test]
fn a_large_job_is_merged_by_several_workers_of_a_coordinator() {
    let fleet = large();
    let before = fleet.scene.rows("data");
    let serve = fleet.serve(&[&["--no-worker"], &SMALL_FILES[..]].concat());
    let url = serve.url.clone();
    let worker = || fleet.worker(&[&url], &SMALL_RANGES);
    let workers = [worker(), worker()];
    assert_eq!(workers_seen(&fleet).len(), 2, "one worker did it all");
    assert_merged_in_ranges(&fleet, &before);
    end(
        &fleet,
        [workers.into_iter().collect(), vec![serve]]
            .into_iter()
            .flatten()
            .collect(),
    );
}

#[test]
fn a_large_job_is_merged_by_several_workers_with_nothing_but_the_folder() {
    let fleet = Fleet::new();
    fleet.scene.write("data/one.parquet", &[(-1, 1, "one")]);
    let begun = fleet
        .scene
        .compact(&[&["--sort-by", "key"], &SMALL_FILES[..]].concat());
    assert_eq!(begun.code, 0, "{begun:?}");
    write_large(&fleet);
    let before = fleet.scene.rows("data");
    let args = ["--settle", "0s", "--rescan", "300ms", "--lease", "5s"];
    let args = [&args[..], &SMALL_RANGES].concat();
    let workers = [fleet.worker(&["data"], &args), fleet.worker(&["data"], &args)];
    assert_eq!(workers_seen(&fleet).len(), 2, "one worker did it all");
    assert_merged_in_ranges(&fleet, &before);
    end(&fleet, workers.into());
}

/// Trap: whoever has a free slot has asked already, and hears of the ranges only when another attempt ends.
#[test]
fn the_workers_of_one_run_share_a_large_job() {
    let fleet = large();
    let before = fleet.scene.rows("data");
    let args = [
        &["--sort-by", "key", "--workers", "2"],
        &SMALL_FILES[..],
        &["--range-bytes", "6MiB"],
    ]
    .concat();
    let all = [&["compact", "data", "--settle", "0s"], &args[..]].concat();
    let mut run = fleet.scene.command(&all).spawn().unwrap();
    let mut at_once = 0;
    while run.try_wait().unwrap().is_none() {
        let status = fleet.scene.baler(&["status", "data", "--json"]);
        if status.code == 0 {
            let jobs = status.json()["jobs"].as_array().unwrap().clone();
            let leases = jobs.iter().map(|job| job["workers"].as_array().unwrap().len());
            at_once = at_once.max(leases.max().unwrap_or(0));
        }
    }
    assert!(run.wait().unwrap().success());
    assert_eq!(at_once, 2, "ranges were merged one after another");
    assert_merged_in_ranges(&fleet, &before);
    end(&fleet, vec![]);
}

#[test]
fn a_native_table_is_merged_in_ranges_too() {
    let fleet = large();
    let before = fleet.scene.rows("data");
    let create = ["table", "create", "data", "events", "--sort-by", "key"];
    fleet.scene.baler(&[&create[..], &SMALL_FILES].concat());
    let names = fleet.scene.data_files("data");
    let names: Vec<&str> = names
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap())
        .collect();
    let added = fleet
        .scene
        .baler(&[&["add", "data", "events"], &names[..]].concat());
    assert_eq!(added.code, 0, "{added:?}");
    let merged = fleet.scene.compact(&SMALL_RANGES);
    assert_eq!(merged.code, 0, "{merged:?}");
    for name in names {
        let _replaced = std::fs::remove_file(fleet.scene.path("data").join(name));
    }
    assert_merged_in_ranges(&fleet, &before);
}
