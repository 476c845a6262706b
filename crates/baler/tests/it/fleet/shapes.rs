//! Every shape that processes can be arranged in compacts the same folder to the same rows.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use super::Fleet;
use super::processes::{free_port, wait_until};
use crate::compaction::assert_no_orphans;
use crate::support::{Ended, ended, rows_of};

#[test]
fn a_coordinator_alone_compacts_and_goes_on_when_files_arrive() {
    let fleet = Fleet::new();
    fleet.scene.write_many(8, 50);
    let before = fleet.scene.rows("data");
    let mut serve = fleet.serve(&[]);
    fleet.wait_for_rest(1, &before);
    let mut after = before;
    for late in 0..4 {
        let file = fleet
            .scene
            .write(&format!("late-{late}.parquet"), &[(1_000_000 + late, 1, "late")]);
        after.extend(rows_of(&file).into_iter().map(|row| (row, 1)));
        fs::rename(file, fleet.scene.path(&format!("data/late-{late}.parquet"))).unwrap();
    }
    wait_until("what came late is merged too", || fleet.committed() >= 2);
    wait_until("it is in sight once", || {
        fleet.scene.rows_if_still("data").as_ref() == Some(&after)
    });
    assert_eq!(serve.stop(), Some(0));
    fleet.scene.baler(&["gc", "data", "--now"]);
    assert_no_orphans(&fleet.scene, "data");
}

/// Trap: a coordinator is stopped between a commit and the moment at which the replaced files go, and whoever lists the folder
/// sees their rows twice until somebody starts another.
#[test]
fn a_coordinator_that_is_stopped_leaves_no_row_in_sight_twice() {
    let fleet = Fleet::new();
    for day in 0..12 {
        for part in 0..4 {
            let path = format!("data/day={day}/part-{part}.parquet");
            fleet.scene.write(&path, &[(part, day, "text")]);
        }
    }
    let before = fleet.scene.rows("data");
    let mut serve = fleet.serve(&[]);
    wait_until("something is committed", || fleet.committed() >= 1);
    assert_eq!(serve.stop(), Some(0));
    assert!(
        fleet.scene.rows("data") == before,
        "rows are there twice, or not at all"
    );
}

#[test]
fn two_remote_workers_share_the_work_of_a_coordinator_that_merges_nothing() {
    let fleet = Fleet::new();
    for day in 0..6 {
        for part in 0..4 {
            let rows: Vec<(i64, i64, &str)> = (0..500).map(|row| (row * 4 + part, day, "text")).collect();
            fleet
                .scene
                .write(&format!("data/day={day}/part-{part}.parquet"), &rows);
        }
    }
    let before = fleet.scene.rows("data");
    let mut serve = fleet.serve(&["--no-worker"]);
    let url = serve.url.clone();
    let mut workers = [fleet.worker(&[&url], &[]), fleet.worker(&[&url], &[])];
    fleet.wait_for_rest(6, &before);
    let status = get(&url, "/v1/status", None);
    assert!(status.contains("\"workers\":[{"), "{status}");
    for process in &mut workers {
        assert_eq!(process.stop(), Some(0));
    }
    assert_eq!(serve.stop(), Some(0));
    fleet.scene.baler(&["gc", "data", "--now"]);
    assert_no_orphans(&fleet.scene, "data");
}

#[test]
fn workers_with_nothing_but_the_folder_share_the_work() {
    let fleet = Fleet::new();
    fleet.scene.write("data/one.parquet", &[(1, 1, "one")]);
    assert_eq!(fleet.scene.compact(&["--sort-by", "key"]).code, 0);
    for day in 0..6 {
        for part in 0..4 {
            fleet.scene.write(
                &format!("data/day={day}/part-{part}.parquet"),
                &[(part, day, "text")],
            );
        }
    }
    let before = fleet.scene.rows("data");
    let args = ["--settle", "0s", "--rescan", "300ms", "--lease", "2s"];
    let mut workers = [fleet.worker(&["data"], &args), fleet.worker(&["data"], &args)];
    fleet.wait_for_rest(7, &before);
    for process in &mut workers {
        assert_eq!(process.stop(), Some(0));
    }
    fleet.scene.baler(&["gc", "data", "--now"]);
    assert_no_orphans(&fleet.scene, "data");
}

#[test]
fn several_coordinators_on_one_root_disturb_nobody() {
    let fleet = Fleet::new();
    fleet.scene.write_many(12, 200);
    let before = fleet.scene.rows("data");
    let mut coordinators = [fleet.serve(&[]), fleet.serve(&[]), fleet.serve(&["--no-worker"])];
    fleet.wait_for_rest(1, &before);
    for process in &mut coordinators {
        assert_eq!(get(&process.url, "/healthz", None).lines().last(), Some("ok"));
        assert_eq!(process.stop(), Some(0));
    }
    fleet.scene.baler(&["gc", "data", "--now"]);
    assert_no_orphans(&fleet.scene, "data");
}

#[test]
fn beyond_this_machine_nobody_is_answered_without_a_token() {
    let fleet = Fleet::new();
    fleet.scene.write_many(2, 10);
    let refused = fleet.scene.baler(&["serve", "data", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("--token-file"), "{refused:?}");
    assert!(
        !fleet.scene.path("data/_baler").exists(),
        "it was refused, and yet something was written"
    );
    fs::write(fleet.scene.path("short"), "secret").unwrap();
    let short = fleet.scene.baler(&["serve", "data", "--token-file", "short"]);
    assert_eq!(short.code, 1, "{short:?}");
    assert!(short.stderr.contains("16"), "{short:?}");
}

#[test]
fn a_wrong_token_is_refused_and_the_right_one_is_not() {
    let fleet = Fleet::new();
    fleet.scene.write_many(4, 10);
    fs::write(fleet.scene.path("right"), "0123456789abcdef0123\n").unwrap();
    fs::write(fleet.scene.path("wrong"), "0123456789abcdef0124\n").unwrap();
    let serve = fleet.serve(&["--no-worker", "--token-file", "right"]);
    for token in [None, Some("wrong"), Some("0123456789abcdef012")] {
        let answer = get(&serve.url, "/v1/status", token);
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    }
    let answer = get(&serve.url, "/v1/status", Some("0123456789abcdef0123"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(get(&serve.url, "/healthz", None).starts_with("HTTP/1.1 200"));
    let refused = fleet
        .scene
        .baler(&["worker", &serve.url, "--token-file", "wrong"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("token"), "{refused:?}");
    let before = fleet.scene.rows("data");
    let _worker = fleet.worker(&[&serve.url], &["--token-file", "right"]);
    fleet.wait_for_rest(1, &before);
}

/// Trap: a worker that looks for the inputs in another place finds none, reports them as gone, and they are let go.
#[test]
fn a_worker_that_finds_another_root_does_not_begin() {
    let fleet = Fleet::new();
    fleet.scene.write_many(4, 10);
    fleet.scene.write("other/a.parquet", &[(1, 1, "a")]);
    fleet.scene.baler(&["compact", "other", "--settle", "0s"]);
    let serve = fleet.serve(&["--no-worker"]);
    let mut worker = fleet.scene.command(&["worker", &serve.url, "--root", "other"]);
    worker.stdout(Stdio::piped()).stderr(Stdio::piped());
    let refused = ended_soon(worker.spawn().unwrap());
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("--root"), "{refused:?}");
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let mixed = fleet.scene.baler(&["worker", &nobody, "data"]);
    assert_eq!(mixed.code, 2, "{mixed:?}");
}

#[test]
fn files_that_are_pushed_to_a_native_table_are_merged() {
    let fleet = Fleet::new();
    fleet
        .scene
        .baler(&["table", "create", "data", "events", "--sort-by", "key"]);
    for part in 0..4 {
        fleet
            .scene
            .write(&format!("data/day=1/{part}.parquet"), &[(part, 0, "pushed")]);
    }
    let serve = fleet.serve_native(&[]);
    let names = "day=1/0.parquet\n{\"path\":\"day=1/1.parquet\"}\nday=1/2.parquet\nday=1/3.parquet\n";
    let answer = post(&serve.url, "/v1/files?table=events", names);
    assert!(answer.contains("\"added\":4"), "{answer}");
    let unnamed = post(&serve.url, "/v1/files", names);
    assert!(
        unnamed.starts_with("HTTP/1.1 400") && unnamed.contains("table"),
        "{unnamed}"
    );
    wait_until("they are merged", || fleet.committed() == 1);
}

/// One that should not have begun would go on for ever.
fn ended_soon(mut child: Child) -> Ended {
    let mut left = 600;
    while child.try_wait().unwrap().is_none() && left > 0 {
        thread::sleep(Duration::from_millis(50));
        left -= 1;
    }
    let _gone_already = child.kill();
    ended(child.wait_with_output().unwrap())
}

/// The whole answer to a request, head included.
pub(crate) fn get(url: &str, path: &str, token: Option<&str>) -> String {
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    exchange(
        url,
        &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{token}\r\n"),
    )
}

pub(crate) fn post(url: &str, path: &str, body: &str) -> String {
    let length = body.len();
    exchange(
        url,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ),
    )
}

fn exchange(url: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
