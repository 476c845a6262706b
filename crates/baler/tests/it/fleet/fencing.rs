//! Who dies, sleeps or is told to go loses nothing and commits nothing twice; and nobody else has to stop for it.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::processes::wait_until;
use super::{Fleet, Process};
use crate::compaction::assert_no_orphans;

/// Enough that a merge of all of it takes a while.
pub(super) fn big() -> Fleet {
    let fleet = Fleet::new();
    fleet.scene.write_many(40, 20_000);
    fleet
}

/// Enough that a merge of all of it on one thread takes longer than a short lease.
pub(super) fn long() -> Fleet {
    let fleet = Fleet::new();
    fleet.scene.write_many(60, 40_000);
    fleet
}

pub(super) fn is_of(worker: &str, process: &Process) -> bool {
    worker.contains(&format!("-{}-", process.pid())) || worker.starts_with(&format!("{}-", process.pid()))
}

/// Everything is merged once, by whoever is left.
pub(super) fn at_rest(fleet: &Fleet, before: &BTreeMap<String, u64>) {
    fleet.wait_for_rest(1, before);
    assert_eq!(fleet.committed(), 1);
}

/// Nothing is left of those who died, once all have gone.
pub(super) fn tidy(fleet: &Fleet) {
    fleet.scene.baler(&["gc", "data", "--now"]);
    assert_no_orphans(&fleet.scene, "data");
}

/// The folder of the one attempt that has begun to write: `<job>-<range>-<token>`.
pub(super) fn attempt(fleet: &Fleet) -> String {
    fleet.wait_for_attempt()
}

/// Trap: a coordinator dies, and every merge that it answered for begins anew.
#[test]
fn killing_a_coordinator_stops_no_merge_while_another_is_there() {
    let fleet = long();
    let before = fleet.scene.rows("data");
    let mut first = fleet.serve(&["--no-worker", "--lease", "2s"]);
    let second = fleet.serve(&["--no-worker", "--lease", "2s"]);
    let worker = fleet.worker(&[&first.url, &second.url], &["--threads", "1"]);
    let running = attempt(&fleet);
    first.kill();
    at_rest(&fleet, &before);
    let output = fleet.scene.data_files("data").remove(0);
    assert!(
        output.to_str().unwrap().contains(&running),
        "the merge {running} was begun anew: {output:?}"
    );
    drop(worker);
    drop(second);
    tidy(&fleet);
}

/// Trap: a zombie wakes up and finishes what was taken from it.
#[test]
fn a_remote_worker_that_slept_past_its_lease_commits_nothing() {
    let fleet = big();
    let before = fleet.scene.rows("data");
    let serve = fleet.serve(&["--no-worker", "--lease", "1s"]);
    let sleeper = fleet.worker(&[&serve.url], &[]);
    let holder = fleet.wait_for_lease();
    sleeper.send(Signal::STOP);
    let heir = fleet.worker(&[&serve.url], &[]);
    wait_until("another holds the range", || {
        fleet.holder().is_some_and(|now| now != holder) || fleet.committed() == 1
    });
    sleeper.send(Signal::CONT);
    at_rest(&fleet, &before);
    thread::sleep(Duration::from_secs(2));
    at_rest(&fleet, &before);
    drop((sleeper, heir, serve));
    tidy(&fleet);
}

#[test]
fn a_worker_that_is_told_to_stop_gives_back_what_it_holds_at_once() {
    let fleet = big();
    let before = fleet.scene.rows("data");
    let serve = fleet.serve(&["--no-worker", "--lease", "60s"]);
    let mut worker = fleet.worker(&[&serve.url], &[]);
    fleet.wait_for_lease();
    assert_eq!(worker.stop(), Some(0));
    let held = fleet.holder();
    assert_eq!(held, None, "it left, and holds a lease still");
    let heir = fleet.worker(&[&serve.url], &[]);
    at_rest(&fleet, &before);
    drop((heir, serve));
    tidy(&fleet);
}
