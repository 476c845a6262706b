//! What a process that died left behind is taken over at once; what a living one holds is left alone.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::compaction::assert_no_orphans;
use crate::support::{Scene, ended};

#[test]
fn the_next_run_takes_over_a_killed_one_at_once() {
    let scene = Scene::new();
    let rows = scene.write_many(40, 20_000);
    let before = scene.rows("data");
    kill_in_mid_merge(&scene, "60s");
    let began = Instant::now();
    let run = scene.compact(&[]);
    assert!(
        began.elapsed() < Duration::from_secs(40),
        "it waited for the lease to run out"
    );
    assert_eq!((run.code, run.number("files_after")), (0, 1), "{run:?}");
    assert_eq!(scene.rows("data").values().sum::<u64>(), rows);
    assert_eq!(scene.rows("data"), before);
    scene.baler(&["gc", "data", "--now"]);
    assert_no_orphans(&scene, "data");
}

#[test]
fn two_runs_at_once_double_nothing() {
    let scene = Scene::new();
    let rows = scene.write_many(30, 5_000);
    let before = scene.rows("data");
    let args = ["compact", "data", "--settle", "0s", "--json"];
    let spawn = || {
        scene
            .command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let (one, two) = (spawn(), spawn());
    let ends = [one, two].map(|child| ended(child.wait_with_output().unwrap()));
    assert!(ends.iter().all(|end| end.code == 0), "{ends:?}");
    assert_eq!(scene.rows("data"), before);
    assert_eq!(
        ends.iter().map(|end| end.number("rows_out")).sum::<u64>() % rows,
        0,
        "{ends:?}"
    );
    assert_eq!(scene.compact(&[]).number("jobs"), 0);
}

#[test]
fn an_interrupted_run_gives_back_what_it_holds_and_says_so() {
    let scene = Scene::new();
    scene.write_many(40, 20_000);
    let before = scene.rows("data");
    let child = merge_with_lease(&scene, "15s");
    scene.wait_for_merge("data");
    send(&child, Signal::TERM);
    let end = ended(child.wait_with_output().unwrap());
    if end.number("jobs") == 0 {
        assert_eq!(
            (end.code, end.json()["interrupted"].as_bool()),
            (1, Some(true)),
            "{end:?}"
        );
    }
    let status = scene.baler(&["status", "data", "--json"]).json();
    assert!(
        status["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .all(|job| job["status"] != "leased"),
        "{status}"
    );
    assert_eq!(scene.compact(&[]).code, 0);
    assert_eq!(scene.rows("data"), before);
}

/// Trap: a zombie wakes up after another took its job over, and finishes it a second time.
#[test]
fn a_run_that_slept_past_its_lease_counts_for_nothing() {
    let scene = Scene::new();
    scene.write_many(40, 20_000);
    let before = scene.rows("data");
    let sleeper = merge_with_lease(&scene, "1s");
    wait_for_attempts(&scene, 1);
    send(&sleeper, Signal::STOP);
    let heir = merge_with_lease(&scene, "1s");
    wait_for_attempts(&scene, 2);
    send(&sleeper, Signal::CONT);
    let heir = ended(heir.wait_with_output().unwrap());
    assert_eq!((heir.code, heir.number("jobs")), (0, 1), "{heir:?}");
    let woken = ended(sleeper.wait_with_output().unwrap());
    assert_eq!((woken.code, woken.number("jobs")), (0, 0), "{woken:?}");
    assert_eq!(scene.rows("data"), before);
    scene.baler(&["gc", "data", "--now"]);
    assert_no_orphans(&scene, "data");
}

/// Trap: heartbeats tied to progress take jobs away from those who work on them slowly. This one gets a third of the
/// time.
#[test]
fn a_merge_longer_than_its_lease_is_left_alone() {
    let scene = Scene::new();
    scene.write_many(60, 20_000);
    let slow = merge_with_lease(&scene, "2s");
    wait_for_attempts(&scene, 1);
    let mut other = merge_with_lease(&scene, "2s");
    while other.try_wait().unwrap().is_none() {
        send(&slow, Signal::STOP);
        thread::sleep(Duration::from_millis(80));
        send(&slow, Signal::CONT);
        thread::sleep(Duration::from_millis(40));
    }
    let other = ended(other.wait_with_output().unwrap());
    assert_eq!((other.code, other.number("jobs")), (0, 0), "{other:?}");
    let slow = ended(slow.wait_with_output().unwrap());
    assert_eq!((slow.code, slow.number("jobs")), (0, 1), "{slow:?}");
}

/// Trap: one bad item stops the whole sweep.
#[test]
fn one_attempt_that_cannot_be_swept_does_not_stop_the_collector() {
    let scene = Scene::new();
    scene.write_many(40, 20_000);
    let mut child = merge_with_lease(&scene, "1s");
    let dead = wait_for_attempts(&scene, 1).remove(0);
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_dir_all(&dead).unwrap();
    fs::write(&dead, "not a folder").unwrap();
    assert_eq!(scene.compact(&[]).number("jobs"), 1);
    let gc = scene.baler(&["gc", "data", "--now", "--json"]);
    assert_eq!(gc.code, 1, "{gc:?}");
    assert!(gc.number("deleted") >= 40, "{gc:?}");
    let name = dead.file_name().unwrap().to_str().unwrap();
    assert!(gc.json()["failed"].to_string().contains(name), "{gc:?}");
    fs::remove_file(&dead).unwrap();
    assert_eq!(scene.baler(&["gc", "data", "--now"]).code, 0);
    assert_no_orphans(&scene, "data");
}

fn merge_with_lease(scene: &Scene, lease: &str) -> Child {
    let args = ["compact", "data", "--settle", "0s", "--lease", lease, "--json"];
    let mut command = scene.command(&[&args[..], &["--sort-by", "key"]].concat());
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().unwrap()
}

fn kill_in_mid_merge(scene: &Scene, lease: &str) {
    let mut child = merge_with_lease(scene, lease);
    scene.wait_for_merge("data");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The folders of the attempts that have begun to write, once there are so many.
fn wait_for_attempts(scene: &Scene, wanted: usize) -> Vec<PathBuf> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        let staging = fs::read_dir(scene.path("data/_baler/staging"));
        let folders: Vec<PathBuf> = staging
            .into_iter()
            .flatten()
            .map(|attempt| attempt.unwrap().path())
            .collect();
        if folders.len() >= wanted {
            return folders;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("nobody has begun to write");
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Where a lock file is not the one that was locked, and after a reboot, a free lock proves nothing: there the lease time decides.
#[test]
fn without_proof_of_death_the_lease_time_is_waited_for() {
    let scene = Scene::new();
    scene.write_many(40, 20_000);
    let before = scene.rows("data");
    kill_in_mid_merge(&scene, "15s");
    let copied = std::process::Command::new("cp")
        .args(["-a", "watchers", "restored"])
        .current_dir(scene.path("data/_baler"))
        .status();
    assert!(copied.unwrap().success());
    let watchers = scene.path("data/_baler/watchers");
    fs::remove_dir_all(&watchers).unwrap();
    fs::rename(scene.path("data/_baler/restored"), &watchers).unwrap();
    let status = scene.baler(&["status", "data", "--json"]).json();
    let leased = status["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .any(|job| job["status"] == "leased");
    let began = Instant::now();
    let run = scene.baler(&["compact", "data", "--settle", "0s", "--lease", "2s", "--json"]);
    assert_eq!((run.code, run.number("held_by_others")), (0, 0), "{run:?}");
    assert!(
        !leased || began.elapsed() > Duration::from_secs(2),
        "it did not wait for the lease: {run:?}"
    );
    assert_eq!(scene.rows("data"), before);
}
