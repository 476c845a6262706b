//! Coordinators that sleep past their lease time and wake up: they commit nothing, take nothing from anybody, and leave nothing
//! behind.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::fencing::{at_rest, attempt, long, tidy};
use super::processes::wait_until;
use super::shapes::get;

/// How many leases a coordinator answers for, as it says.
fn watched(url: &str) -> u64 {
    let page = get(url, "/metrics", None);
    let line = page.lines().find(|line| line.starts_with("baler_leases_watched"));
    line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

/// Trap: a coordinator that slept takes the silence for its workers', and lets go of what another answers for by now.
#[test]
fn a_coordinator_that_slept_past_its_lease_takes_nothing_from_its_workers() {
    let fleet = long();
    let before = fleet.scene.rows("data");
    let sleeper = fleet.serve(&["--no-worker", "--lease", "2s"]);
    let second = fleet.serve(&["--no-worker", "--lease", "2s"]);
    let worker = fleet.worker(&[&sleeper.url, &second.url], &["--threads", "1"]);
    let running = attempt(&fleet);
    sleeper.send(Signal::STOP);
    wait_until("another answers for the lease, or the work is done", || {
        watched(&second.url) > 0 || fleet.committed() == 1
    });
    thread::sleep(Duration::from_secs(2));
    sleeper.send(Signal::CONT);
    at_rest(&fleet, &before);
    let output = fleet.scene.data_files("data").remove(0);
    assert!(
        output.to_str().unwrap().contains(&running),
        "the merge {running} was begun anew: {output:?}"
    );
    drop((worker, second, sleeper));
    tidy(&fleet);
}

/// Trap: a coordinator with a worker of its own wakes up, and finishes what another is merging by now.
#[test]
fn a_coordinator_that_slept_past_its_lease_commits_nothing() {
    let fleet = long();
    let before = fleet.scene.rows("data");
    let sleeper = fleet.serve(&["--lease", "1s", "--threads", "1"]);
    let slept = attempt(&fleet);
    let holder = fleet.wait_for_lease();
    // Well on its way, so that it would be the first to finish.
    thread::sleep(Duration::from_millis(200));
    sleeper.send(Signal::STOP);
    assert_eq!(fleet.committed(), 0, "it was done before it fell asleep");
    let heir = fleet.serve(&["--lease", "1s", "--threads", "1"]);
    wait_until("another holds the range", || {
        fleet.holder().is_some_and(|now| now != holder) || fleet.committed() == 1
    });
    sleeper.send(Signal::CONT);
    at_rest(&fleet, &before);
    thread::sleep(Duration::from_secs(3));
    at_rest(&fleet, &before);
    let output = fleet.scene.data_files("data").remove(0);
    assert!(
        !output.to_str().unwrap().contains(&slept),
        "what was merged under a lost lease went live: {output:?}"
    );
    drop((heir, sleeper));
    tidy(&fleet);
}
