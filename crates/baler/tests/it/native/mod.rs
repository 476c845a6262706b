//! Stories of native tables: their catalog is the journal, and readers ask `baler files` which files there are.

mod ageing;
mod jobs;
mod naming;
mod tables;
mod versions;

use std::collections::BTreeMap;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Ended, Scene, ended, rows_of};

/// Rows, each with how often it is there.
type Rows = BTreeMap<String, u64>;

/// `baler table create lake events …`
fn create(scene: &Scene, flags: &[&str]) {
    let end = scene.baler(&[&["table", "create", "lake", "events"], flags].concat());
    assert_eq!(end.code, 0, "{end:?}");
}

/// `baler add lake events …`
fn add(scene: &Scene, paths: &[&str]) -> Ended {
    scene.baler(&[&["add", "lake", "events", "--json"], paths].concat())
}

/// Writes a file below the root and adds it.
fn arrive(scene: &Scene, path: &str, rows: &[(i64, i64, &str)]) {
    scene.write(&format!("lake/{path}"), rows);
    let end = add(scene, &[path]);
    assert_eq!((end.code, end.number("added")), (0, 1), "{end:?}");
}

fn compact(scene: &Scene) -> Ended {
    let end = scene.baler(&["compact", "lake", "--json"]);
    assert_eq!(end.code, 0, "{end:?}");
    end
}

/// What a reader is told there is.
fn files(scene: &Scene, flags: &[&str]) -> Vec<Value> {
    let end = scene.baler(&[&["files", "lake", "--json"], flags].concat());
    assert_eq!(end.code, 0, "{end:?}");
    let lines = end.stdout.lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a reader reads who reads what it is told there is.
fn read(scene: &Scene, flags: &[&str]) -> Rows {
    let mut rows = Rows::new();
    for file in files(scene, flags) {
        let path = scene.path("lake").join(file["path"].as_str().unwrap());
        for row in rows_of(&path) {
            *rows.entry(row).or_default() += 1;
        }
    }
    rows
}

/// Adds 40 files whose keys overlap, all with this `seq`.
fn arrive_many(scene: &Scene, seq: i64) {
    let mut paths = Vec::new();
    for part in 0..40 {
        let rows: Vec<_> = (0..20_000)
            .map(|row| (row * 40 + part, seq, "some text"))
            .collect();
        let path = format!("{part}.parquet");
        scene.write(&format!("lake/{path}"), &rows);
        paths.push(path);
    }
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    assert_eq!(add(scene, &paths).number("added"), 40);
}

/// A `compact` that stands still in the middle of its first job.
struct Halted {
    run: Child,
    pid: Pid,
}

impl Halted {
    fn begin(scene: &Scene) -> Self {
        let run = scene
            .command(&["compact", "lake", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        scene.wait_for_merge("lake");
        let pid = Pid::from_raw(i32::try_from(run.id()).unwrap()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        let halted = Self { run, pid };
        let jobs = scene.baler(&["jobs", "lake", "--json"]);
        if !jobs.stdout.contains("\"leased\"") {
            halted.go_on();
            panic!("the merge was over before it could be stopped: {jobs:?}");
        }
        halted
    }

    fn go_on(self) -> Ended {
        kill_process(self.pid, Signal::CONT).unwrap();
        ended(self.run.wait_with_output().unwrap())
    }
}

fn texts(rows: &Rows) -> Vec<&str> {
    let texts = rows.keys().map(|row| row.split_once("text=").unwrap().1);
    texts.collect()
}
