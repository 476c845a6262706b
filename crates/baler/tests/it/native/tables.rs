//! Tables from their making to their end.

use std::fs;
use std::io::Write;
use std::process::Stdio;

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
fn a_dropped_table_is_deleted_after_its_grace_period_and_its_name_is_free_again() {
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
    scene.baler(&["gc", "lake", "--now"]);
    create(&scene, &["--sort-by", "key"]);
}
