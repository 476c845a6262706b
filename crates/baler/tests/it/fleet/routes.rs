//! Workers that take only some of the work: by level, by size, by table.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use super::Fleet;
use super::processes::wait_until;

/// Two native tables with files to merge, one of them with much more.
fn two_tables() -> Fleet {
    let fleet = Fleet::new();
    for (table, rows) in [("small", 10), ("large", 20_000)] {
        fleet
            .scene
            .baler(&["table", "create", "data", table, "--sort-by", "key"]);
        for file in 0..6 {
            let rows: Vec<(i64, i64, &str)> = (0..rows).map(|row| (row * 6 + file, row, "text")).collect();
            let name = format!("{table}/{file}.parquet");
            fleet.scene.write(&format!("data/{name}"), &rows);
            let added = fleet.scene.baler(&["add", "data", table, &name]);
            assert_eq!(added.code, 0, "{added:?}");
        }
    }
    fleet
}

/// The tables in which something was committed.
fn committed(fleet: &Fleet) -> Vec<String> {
    let status = fleet.status();
    let recent = status["recent"].as_array().unwrap().iter();
    let jobs = recent.filter(|job| job["status"] == "committed");
    let tables = jobs.map(|job| job["table"].as_str().unwrap().to_owned());
    tables.collect::<BTreeSet<String>>().into_iter().collect()
}

#[test]
fn a_worker_takes_only_what_its_flags_name() {
    let fleet = two_tables();
    let serve = fleet.serve_native(&["--no-worker"]);
    let picky = fleet.worker(&[&serve.url], &["--max-job-bytes", "100KiB"]);
    wait_until("the small table is merged", || committed(&fleet) == ["small"]);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(
        committed(&fleet),
        ["small"],
        "the large one was not for this worker"
    );
    let other = fleet.worker(&["data"], &["--tables", "large,none", "--levels", "0-1"]);
    wait_until("the large table is merged too", || {
        committed(&fleet) == ["large", "small"]
    });
    drop((picky, other, serve));
}

#[test]
fn routes_that_make_no_sense_are_refused() {
    let fleet = two_tables();
    for (flags, because) in [
        (&["--levels", "3-1"][..], "--levels"),
        (&["--levels", "9"], "from 0 to 7"),
        (&["--levels", "low"], "like 0 or 0-1"),
        (&["--max-job-bytes", "0"], "at least 1"),
        (&["--tables", "a/b"], "no name of a table"),
    ] {
        let refused = fleet.scene.baler(&[&["worker", "data"], flags].concat());
        assert_eq!(refused.code, 2, "{flags:?}: {refused:?}");
        assert!(refused.stderr.contains(because), "{flags:?}: {refused:?}");
    }
    let nobody = fleet.scene.baler(&[
        "serve",
        "data",
        "--no-worker",
        "--levels",
        "0",
        "--listen",
        "127.0.0.1:0",
    ]);
    assert_eq!(nobody.code, 2, "{nobody:?}");
    assert!(nobody.stderr.contains("--no-worker"), "{nobody:?}");
}
