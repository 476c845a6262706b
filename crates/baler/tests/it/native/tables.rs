//! Tables from their making to their end.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::{add, arrive, compact, create, files, read, texts};
use crate::support::{Scene, ended};

#[test]
fn files_are_added_compacted_and_read_each_row_once() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "key"]);
    for day in ["day=1", "day=2"] {
        for part in 0..3 {
            let rows: Vec<_> = (0..50).map(|row| (row * 3 + part, part, day)).collect();
            scene.write(&format!("lake/{day}/{part}.parquet"), &rows);
        }
    }
    let paths = ["day=1/0.parquet", "day=1/1.parquet", "day=1/2.parquet"];
    assert_eq!(add(&scene, &paths).number("added"), 3);
    assert_eq!(
        files(&scene, &[]).len(),
        3,
        "what was not added is not in the table"
    );
    let before = scene.rows("lake/day=1");
    assert_eq!(read(&scene, &[]), before);

    let run = compact(&scene);
    assert_eq!(
        (run.number("files_before"), run.number("files_after")),
        (3, 1),
        "{run:?}"
    );
    let [file] = &files(&scene, &["--table", "events"])[..] else {
        panic!("one file was expected")
    };
    assert_eq!(
        (file["table"].as_str(), file["partition"].as_str()),
        (Some("events"), Some("day=1"))
    );
    assert!(
        file["path"].as_str().unwrap().starts_with("tables/events/"),
        "{file}"
    );
    assert_eq!(read(&scene, &[]), before);
    assert_eq!(scene.baler(&["verify", "lake"]).code, 0);
    let again = compact(&scene);
    assert_eq!(again.number("jobs"), 0, "{again:?}");
}

/// Trap: in a restored root every file is another version, and what was compacted can be added again.
#[test]
fn a_table_that_was_restored_goes_on_after_a_repair() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "key"]);
    for part in 0..3 {
        arrive(&scene, &format!("{part}.parquet"), &[(part, 1, "early")]);
    }
    assert_eq!(compact(&scene).number("files_after"), 1);
    arrive(&scene, "late.parquet", &[(9, 2, "late")]);
    let before = read(&scene, &[]);
    let restored = Command::new("sh")
        .args(["-c", "cp -a lake backup && rm -r lake && mv backup lake"])
        .current_dir(scene.path("."))
        .status();
    assert!(restored.unwrap().success());
    assert_eq!(read(&scene, &[]), before, "who only reads is told what there is");
    let refused = scene.baler(&["add", "lake", "events", "0.parquet"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let advice = refused.stderr.contains("baler journal repair");
    assert!(advice, "{refused:?}");

    let repair = scene.baler(&["journal", "repair", "lake", "--wait", "0s"]);
    assert_eq!(repair.code, 0, "{repair:?}");
    assert_eq!(read(&scene, &[]), before);
    let again = add(&scene, &["0.parquet", "late.parquet"]);
    assert_eq!((again.code, again.number("added")), (0, 0), "{again:?}");
    arrive(&scene, "later.parquet", &[(10, 3, "later")]);
    arrive(&scene, "latest.parquet", &[(11, 3, "later")]);
    assert!(compact(&scene).number("jobs") > 0);
    for gc in [&["gc", "lake", "--now"][..], &["gc", "lake", "--now", "--full"]] {
        assert_eq!(scene.baler(gc).code, 0);
    }
    let mut after = read(&scene, &[]);
    after.retain(|row, _| !row.contains("later"));
    assert_eq!(after, before);
    assert_eq!(scene.baler(&["verify", "lake", "--deep"]).code, 0);
}

/// A file's name says nothing about whether its rows are in the table: its version does.
#[test]
fn add_repeated_after_its_file_was_compacted_adds_nothing() {
    let scene = Scene::new();
    create(&scene, &[]);
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    arrive(&scene, "b.parquet", &[(2, 1, "b")]);
    compact(&scene);
    let both = ["a.parquet", "b.parquet"];
    let again = add(&scene, &both);
    assert_eq!(
        (again.code, again.number("added"), again.number("known")),
        (0, 0, 2),
        "{again:?}"
    );
    assert_eq!(texts(&read(&scene, &[])), ["a", "b"]);
    assert_eq!(compact(&scene).number("jobs"), 0);

    scene.baler(&["gc", "lake", "--now"]);
    let gone = add(&scene, &both);
    assert_eq!((gone.code, gone.number("added")), (1, 0), "{gone:?}");
    assert!(gone.stdout.contains("there is no such file"), "{gone:?}");
    assert_eq!(texts(&read(&scene, &[])), ["a", "b"]);
}

#[test]
fn a_file_that_cannot_be_taken_is_named_and_does_not_keep_the_others_out() {
    let scene = Scene::new();
    create(&scene, &[]);
    scene.write("lake/good.parquet", &[(1, 1, "good")]);
    scene.write("elsewhere/good.parquet", &[(1, 1, "good")]);
    scene.write("lake/_hidden/a.parquet", &[(1, 1, "hidden")]);
    fs::write(scene.path("lake/broken.parquet"), "not parquet at all").unwrap();
    std::os::unix::fs::symlink(scene.path("elsewhere"), scene.path("lake/link")).unwrap();
    let outside = scene.path("elsewhere/good.parquet");
    let outside = outside.to_str().unwrap();
    let bad = [
        ("missing.parquet", "there is no such file"),
        ("broken.parquet", ""),
        (outside, "not below"),
        ("../elsewhere/good.parquet", "not"),
        ("link/good.parquet", "link"),
        ("_baler/journal/00000000000000000001", "Baler's own"),
        ("tables/events/x.parquet", "in its table already"),
        ("_hidden/a.parquet", "never data"),
        ("s3://bucket/a.parquet", "not below"),
        ("", "empty"),
    ];
    let paths: Vec<&str> = bad
        .iter()
        .map(|(path, _)| *path)
        .chain(["good.parquet"])
        .collect();
    let end = add(&scene, &paths);
    assert_eq!((end.code, end.number("added")), (1, 1), "{end:?}");
    let named = end.json()["bad"].as_array().unwrap().clone();
    assert_eq!(named.len(), bad.len(), "{end:?}");
    for (path, why) in bad {
        let said = named
            .iter()
            .find(|bad| bad["path"] == path)
            .unwrap_or_else(|| panic!("{path}: {end:?}"));
        assert!(said["reason"].as_str().unwrap().contains(why), "{said}");
    }
    assert_eq!(texts(&read(&scene, &[])), ["good"]);
}

#[test]
fn names_come_from_standard_input_and_as_full_paths_too() {
    let scene = Scene::new();
    create(&scene, &[]);
    for name in ["a", "b", "c"] {
        scene.write(&format!("lake/{name}.parquet"), &[(1, 1, name)]);
    }
    let full = scene.path("lake/c.parquet").canonicalize().unwrap();
    let lines = format!(
        "a.parquet\n\n{{\"path\": \"b.parquet\"}}\n{}\na.parquet\n",
        full.display()
    );
    let mut child = scene
        .command(&["add", "lake", "events", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let end = ended(child.wait_with_output().unwrap());
    assert_eq!((end.code, end.number("added")), (0, 3), "{end:?}");
    assert_eq!(texts(&read(&scene, &[])), ["a", "b", "c"]);
}

/// A file in two tables would be replaced and deleted by one of them under the eyes of the other.
#[test]
fn a_file_is_in_one_table_only() {
    let scene = Scene::new();
    create(&scene, &[]);
    assert_eq!(scene.baler(&["table", "create", "lake", "others"]).code, 0);
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    let end = scene.baler(&["add", "lake", "others", "a.parquet", "--json"]);
    assert_eq!((end.code, end.number("added")), (1, 0), "{end:?}");
    assert_eq!(end.json()["taken"][0], "a.parquet");
}

#[test]
fn each_table_is_compacted_for_itself() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "key"]);
    assert_eq!(
        scene
            .baler(&["table", "create", "lake", "others", "--sort-by", "seq:desc"])
            .code,
        0
    );
    for part in 0..2 {
        arrive(&scene, &format!("e{part}.parquet"), &[(part, 0, "event")]);
        scene.write(&format!("lake/o{part}.parquet"), &[(part, part, "other")]);
        assert_eq!(
            scene
                .baler(&["add", "lake", "others", &format!("o{part}.parquet")])
                .code,
            0
        );
    }
    let plan = scene.baler(&["plan", "lake", "--json"]);
    assert_eq!(plan.json()["jobs"], 2, "{plan:?}");
    let one = scene.baler(&["compact", "lake", "--table", "others", "--json"]);
    assert_eq!((one.code, one.number("jobs")), (0, 1), "{one:?}");
    assert_eq!(
        (
            files(&scene, &["--table", "events"]).len(),
            files(&scene, &["--table", "others"]).len()
        ),
        (2, 1)
    );
    assert_eq!(compact(&scene).number("jobs"), 1);
    assert_eq!(texts(&read(&scene, &["--table", "events"])), ["event", "event"]);
    let listed = scene.baler(&["table", "list", "lake", "--json"]);
    let names: Vec<&str> = listed
        .stdout
        .lines()
        .filter(|line| line.contains("\"native\""))
        .collect();
    assert_eq!(names.len(), 2, "{listed:?}");
    let status = scene.baler(&["status", "lake", "--json"]).json();
    assert_eq!(status["tables"].as_array().map(Vec::len), Some(2), "{status}");
    let jobs = scene.baler(&["jobs", "lake", "--table", "others", "--json"]);
    assert_eq!(jobs.stdout.lines().count(), 1, "{jobs:?}");
    assert_eq!(jobs.json()["status"], "committed");
}

#[test]
fn a_dropped_table_is_deleted_after_its_grace_period() {
    let scene = Scene::new();
    create(&scene, &["--grace", "1h"]);
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    arrive(&scene, "b.parquet", &[(2, 1, "b")]);
    compact(&scene);
    let kept = scene.data_files("lake").len();
    assert_eq!(scene.baler(&["table", "drop", "lake", "events"]).code, 0);
    assert_eq!(files(&scene, &[]).len(), 0);
    scene.baler(&["gc", "lake"]);
    assert_eq!(
        scene.data_files("lake").len(),
        kept,
        "its grace period is not over"
    );
    let refused = scene.baler(&["table", "create", "lake", "events"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("being dropped"), "{refused:?}");

    let gc = scene.baler(&["gc", "lake", "--now"]);
    assert_eq!(gc.code, 0, "{gc:?}");
    assert_eq!(scene.data_files("lake").len(), 0);
}

#[test]
fn the_name_of_a_dropped_table_is_free_when_nothing_of_it_is_left() {
    let scene = Scene::new();
    create(&scene, &["--grace", "1s"]);
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    assert_eq!(scene.baler(&["table", "drop", "lake", "events"]).code, 0);
    thread::sleep(Duration::from_millis(2_500));
    scene.baler(&["gc", "lake"]);
    assert_eq!(scene.data_files("lake").len(), 0);
    thread::sleep(Duration::from_millis(2_500));
    create(&scene, &["--sort-by", "key"]);
    arrive(&scene, "a.parquet", &[(2, 1, "another")]);
    assert_eq!(texts(&read(&scene, &[])), ["another"]);
}

/// Tenant and shard may be folders, or columns that have one value in all rows of a file.
#[test]
fn a_file_belongs_to_one_tenant() {
    let scene = Scene::new();
    create(&scene, &["--tenant", "text", "--sort-by", "key"]);
    for (path, rows) in [
        ("a.parquet", &[(1, 1, "acme"), (3, 1, "acme")][..]),
        ("b.parquet", &[(2, 1, "acme")]),
        ("c.parquet", &[(1, 1, "bolt/nut")]),
        ("text=acme/d.parquet", &[(9, 1, "whatever")]),
    ] {
        arrive(&scene, path, rows);
    }
    scene.write("lake/mixed.parquet", &[(1, 1, "acme"), (2, 1, "bolt")]);
    let mixed = add(&scene, &["mixed.parquet"]);
    assert_eq!((mixed.code, mixed.number("added")), (1, 0), "{mixed:?}");
    assert!(mixed.stdout.contains("one value in all rows"), "{mixed:?}");
    let run = compact(&scene);
    assert_eq!((run.number("jobs"), run.number("files_after")), (1, 2), "{run:?}");
    let partitions: Vec<String> = files(&scene, &[])
        .iter()
        .map(|file| file["partition"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        partitions.contains(&"text=bolt%2Fnut".to_owned()),
        "{partitions:?}"
    );
    let without = scene.baler(&["table", "create", "lake", "others", "--tenant", "owner"]);
    assert_eq!(without.code, 0, "{without:?}");
    let end = scene.baler(&["add", "lake", "others", "mixed.parquet"]);
    assert!(end.stdout.contains("no column owner"), "{end:?}");
}

#[test]
fn shards_are_merged_with_each_other_from_the_level_that_was_named() {
    let scene = Scene::new();
    create(
        &scene,
        &["--sort-by", "key", "--shard", "shard", "--cross-shard-from", "2"],
    );
    for shard in 0..2 {
        for part in 0..2 {
            let path = format!("shard={shard}/{part}.parquet");
            arrive(&scene, &path, &[(shard * 2 + part, 1, "row")]);
        }
    }
    let run = compact(&scene);
    assert_eq!(run.number("files_after"), 1, "{run:?}");
    assert_eq!(files(&scene, &[])[0]["partition"], "");
    assert_eq!(read(&scene, &[]).values().sum::<u64>(), 4);
}

#[test]
fn windows_of_time_are_merged_apart() {
    let scene = Scene::new();
    create(
        &scene,
        &[
            "--row-time",
            "seq:ms",
            "--policy",
            "time-window",
            "--window",
            "1h",
            "--lateness",
            "1m",
        ],
    );
    let hour = 60 * 60 * 1_000;
    for (index, at) in [0, 1, hour, hour + 1].into_iter().enumerate() {
        arrive(
            &scene,
            &format!("{index}.parquet"),
            &[(1, 1_000 * hour + at, "row")],
        );
    }
    let run = compact(&scene);
    assert_eq!((run.number("jobs"), run.number("files_after")), (2, 2), "{run:?}");
}

#[test]
fn a_paused_table_begins_nothing_until_it_is_resumed() {
    let scene = Scene::new();
    create(&scene, &[]);
    arrive(&scene, "a.parquet", &[(1, 1, "a")]);
    arrive(&scene, "b.parquet", &[(2, 1, "b")]);
    assert_eq!(scene.baler(&["pause", "lake", "--table", "events"]).code, 0);
    let run = compact(&scene);
    assert_eq!(
        (run.number("jobs"), run.json()["paused"].as_bool()),
        (0, Some(true)),
        "{run:?}"
    );
    assert_eq!(scene.baler(&["pause", "lake", "--table", "nothing"]).code, 1);
    assert_eq!(scene.baler(&["resume", "lake", "--table", "events"]).code, 0);
    assert_eq!(compact(&scene).number("jobs"), 1);
    assert_eq!(scene.baler(&["pause", "lake"]).code, 0);
    assert_eq!(
        scene.baler(&["status", "lake", "--json"]).json()["tables"][0]["paused"],
        true
    );
}
