//! What a process that died left behind is taken over at once; what a living one holds is left alone.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::compaction::assert_no_orphans;
use crate::support::{Scene, ended};

#[test]
fn the_next_run_takes_over_a_killed_one_at_once() {
    let scene = Scene::new();
    let rows = scene.write_many(40, 20_000);
    let before = scene.rows("data");
    let args = [
        "compact",
        "data",
        "--settle",
        "0s",
        "--lease",
        "60s",
        "--sort-by",
        "key",
    ];
    let mut child = scene
        .command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    scene.wait_for_merge("data");
    child.kill().unwrap();
    child.wait().unwrap();
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
    let args = ["compact", "data", "--settle", "0s", "--json", "--sort-by", "key"];
    let child = scene
        .command(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    scene.wait_for_merge("data");
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
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

/// In a copied or restored root, and after a reboot, a free lock proves nothing: there the lease time decides.
#[test]
fn without_proof_of_death_the_lease_time_is_waited_for() {
    let scene = Scene::new();
    scene.write_many(40, 20_000);
    let before = scene.rows("data");
    let args = ["compact", "data", "--settle", "0s", "--sort-by", "key"];
    let mut child = scene
        .command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    scene.wait_for_merge("data");
    child.kill().unwrap();
    child.wait().unwrap();
    let copied = std::process::Command::new("cp")
        .args(["-a", "data", "copy"])
        .current_dir(scene.path("."))
        .status();
    assert!(copied.unwrap().success());
    let status = scene.baler(&["status", "copy", "--json"]).json();
    let leased = status["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .any(|job| job["status"] == "leased");
    let began = Instant::now();
    let run = scene.baler(&["compact", "copy", "--settle", "0s", "--lease", "2s", "--json"]);
    assert_eq!((run.code, run.number("held_by_others")), (0, 0), "{run:?}");
    assert!(
        !leased || began.elapsed() > Duration::from_secs(2),
        "it did not wait for the lease: {run:?}"
    );
    assert_eq!(scene.rows("copy"), before);
}
