//! One worker for many roots: all of them are worked for in turn, and none of them stops another.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::Fleet;
use super::processes::{free_port, wait_until};
use super::shapes::get;

const QUICK: [&str; 6] = ["--settle", "0s", "--rescan", "300ms", "--lease", "2s"];

type Rows = BTreeMap<String, u64>;

/// A root that is at rest. Answers its rows.
fn root(fleet: &Fleet, name: &str) -> Rows {
    fleet
        .scene
        .write(&format!("{name}/first.parquet"), &[(1, 1, "first")]);
    let made = fleet
        .scene
        .baler(&["compact", name, "--settle", "0s", "--sort-by", "key"]);
    assert_eq!(made.code, 0, "{made:?}");
    fleet.scene.rows(name)
}

/// Something to merge in each of these folders. Files come whole: somebody may be looking.
fn fill(fleet: &Fleet, name: &str, folders: Range<i64>, rows: &mut Rows) {
    for folder in folders {
        fs::create_dir_all(fleet.scene.path(&format!("{name}/day={folder}"))).unwrap();
        for part in 0..3 {
            let more: Vec<(i64, i64, &str)> = (0..50).map(|row| (row * 3 + part, folder, "text")).collect();
            let written = fleet.scene.write("written/file.parquet", &more);
            let place = fleet.scene.path(&format!("{name}/day={folder}/{part}.parquet"));
            fs::rename(written, place).unwrap();
            for (key, seq, text) in more {
                *rows
                    .entry(format!("key={key} seq={seq} text={text}"))
                    .or_default() += 1;
            }
        }
    }
}

fn status(fleet: &Fleet, name: &str) -> Value {
    fleet.scene.baler(&["status", name, "--json"]).json()
}

fn committed(fleet: &Fleet, name: &str) -> usize {
    let status = status(fleet, name);
    let recent = status["recent"].as_array().unwrap().iter();
    recent.filter(|job| job["status"] == "committed").count()
}

fn wait_for_rest(fleet: &Fleet, name: &str, folders: i64, rows: &Rows) {
    let files = usize::try_from(folders).unwrap() + 1;
    wait_until(&format!("{name} is at rest"), || {
        let status = status(fleet, name);
        status["live"]["files"] == files
            && status["jobs"].as_array().unwrap().is_empty()
            && fleet.scene.data_files(name).len() == files
    });
    assert!(
        fleet.scene.rows(name) == *rows,
        "rows of {name} were lost or doubled"
    );
}

#[test]
fn one_worker_works_for_all_roots_that_it_was_given_and_leaves_all_of_them_in_order() {
    let fleet = Fleet::new();
    let names = ["a", "b", "c"];
    let mut rows = names.map(|name| root(&fleet, name));
    for (name, rows) in names.iter().zip(&mut rows) {
        fill(&fleet, name, 0..4, rows);
    }
    let mut worker = fleet.worker(&names, &[&QUICK[..], &["--workers", "2"]].concat());
    for (name, rows) in names.iter().zip(&rows) {
        wait_for_rest(&fleet, name, 4, rows);
    }
    for (name, rows) in names.iter().zip(&mut rows) {
        fill(&fleet, name, 4..40, rows);
    }
    wait_until("it is at work", || {
        names.iter().any(|name| committed(&fleet, name) > 5)
    });
    assert_eq!(worker.stop(), Some(0));
    for name in names {
        let status = status(&fleet, name);
        assert_eq!(status["leases"].as_array().unwrap().len(), 0, "{name}: {status}");
    }
    let twice = fleet.scene.baler(&["worker", "a", "./a"]);
    assert_eq!(twice.code, 2, "{twice:?}");
}

/// Trap: one of many roots cannot be opened, and the process ends, or waits for it for ever.
#[test]
fn a_root_that_fails_is_named_and_stops_no_other() {
    let fleet = Fleet::new();
    let mut rows = root(&fleet, "good");
    fill(&fleet, "good", 0..2, &mut rows);
    let port = free_port().to_string();
    let args = [&QUICK[..], &["--listen", &port, "--workers", "1"]].concat();
    let worker = fleet.worker(&["bad", "good"], &args);
    wait_for_rest(&fleet, "good", 2, &rows);
    let page = get(&format!("http://127.0.0.1:{port}"), "/metrics", None);
    let failing = |root: &str| {
        let mut lines = page
            .lines()
            .filter(|line| line.starts_with("baler_root_failing{"));
        let line = lines
            .find(|line| line.contains(&format!("/{root}\"")))
            .unwrap_or_default();
        line.ends_with(" 1")
    };
    assert!(failing("bad") && !failing("good"), "{page}");

    let mut rows = root(&fleet, "bad");
    fill(&fleet, "bad", 0..2, &mut rows);
    wait_for_rest(&fleet, "bad", 2, &rows);
    drop(worker);
}

#[test]
fn roots_below_a_folder_are_worked_for_also_those_that_come_later() {
    let fleet = Fleet::new();
    let mut rows = root(&fleet, "dbs/early");
    fs::create_dir_all(fleet.scene.path("dbs/no-root")).unwrap();
    fill(&fleet, "dbs/early", 0..2, &mut rows);
    let mut worker = fleet.worker(&["--roots-under", "dbs"], &QUICK);
    wait_for_rest(&fleet, "dbs/early", 2, &rows);
    let mut rows = root(&fleet, "dbs/late");
    fill(&fleet, "dbs/late", 0..2, &mut rows);
    wait_for_rest(&fleet, "dbs/late", 2, &rows);
    // At once: somebody may be writing a receipt in there.
    fs::rename(fleet.scene.path("dbs/early"), fleet.scene.path("gone")).unwrap();
    thread::sleep(Duration::from_secs(1));
    fill(&fleet, "dbs/late", 2..3, &mut rows);
    wait_for_rest(&fleet, "dbs/late", 3, &rows);
    assert_eq!(worker.stop(), Some(0));
    let nowhere = fleet.scene.baler(&["worker", "--roots-under", "nowhere"]);
    assert_eq!(nowhere.code, 1, "{nowhere:?}");
    assert!(nowhere.stderr.contains("--roots-under"), "{nowhere:?}");
}

/// Trap: the root with the most work always asks first.
#[test]
fn a_busy_root_does_not_keep_a_quiet_one_waiting() {
    let fleet = Fleet::new();
    fill(&fleet, "busy", 0..60, &mut root(&fleet, "busy"));
    let mut rows = root(&fleet, "quiet");
    fill(&fleet, "quiet", 0..1, &mut rows);
    let _worker = fleet.worker(&["busy", "quiet"], &[&QUICK[..], &["--workers", "1"]].concat());
    wait_for_rest(&fleet, "quiet", 1, &rows);
    let done = committed(&fleet, "busy");
    assert!(done < 50, "the busy root was served first: {done} of its jobs");
}

#[test]
fn coordinators_of_several_roots_share_one_worker() {
    let fleet = Fleet::new();
    let mut rows = ["a", "b"].map(|name| root(&fleet, name));
    for (name, rows) in ["a", "b"].iter().zip(&mut rows) {
        fill(&fleet, name, 0..3, rows);
    }
    let (port, late_port) = (free_port(), free_port());
    let _first = fleet.serve_at("a", port, &["--no-worker"]);
    let urls = [port, late_port].map(|port| format!("http://127.0.0.1:{port}"));
    let mut worker = fleet.worker(&[&urls[0], &urls[1]], &["--workers", "1"]);
    wait_for_rest(&fleet, "a", 3, &rows[0]);
    let _second = fleet.serve_at("b", late_port, &["--no-worker"]);
    wait_for_rest(&fleet, "b", 3, &rows[1]);
    fill(&fleet, "a", 3..5, &mut rows[0]);
    wait_for_rest(&fleet, "a", 5, &rows[0]);
    assert_eq!(worker.stop(), Some(0));
    let both = fleet.scene.baler(&["worker", &urls[0], &urls[1], "--root", "a"]);
    assert_eq!(both.code, 2, "{both:?}");
}
