//! Files that were made to do harm, among sound ones in one folder: each is named with its reason, and the others are merged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fleet::{Fleet, wait_until};
use crate::support::Scene;

/// Files of a few bytes that would end a decoder which believes them. `baler-merge` makes them.
fn killers() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/hostile");
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    found
}

/// The three that took down others, and what is said of them.
const KNOWN: [(&str, &str); 3] = [
    ("schema-thousands-deep.parquet", "nested more than 64 deep"),
    ("page-of-two-gigabytes.parquet", "claims to unpack to 2147483647"),
    ("children-of-two-billion.parquet", "claims 2147483647 children"),
];

/// Answers with the rows of the sound ones.
fn write(scene: &Scene) -> BTreeMap<String, u64> {
    scene.write_many(12, 40);
    let rows = scene.rows("data");
    for killer in killers() {
        fs::copy(&killer, scene.path("data").join(killer.file_name().unwrap())).unwrap();
    }
    rows
}

fn assert_named(status: &serde_json::Value) {
    let marks = status["quarantined"].as_array().unwrap();
    let text = |mark: &serde_json::Value, field: &str| mark[field].as_str().unwrap().to_owned();
    let reasons: BTreeMap<String, String> = marks
        .iter()
        .map(|mark| (text(mark, "path"), text(mark, "reason")))
        .collect();
    assert_eq!(reasons.len(), killers().len(), "{reasons:#?}");
    for (name, reason) in KNOWN {
        assert!(reasons[name].contains(reason), "{name}: {}", reasons[name]);
    }
}

fn take_away_killers(scene: &Scene) {
    for killer in killers() {
        fs::remove_file(scene.path("data").join(killer.file_name().unwrap())).unwrap();
    }
}

/// Trap: a file of a hundred bytes ends whoever reads it.
#[test]
fn hostile_files_among_sound_ones_are_named_and_the_others_are_merged() {
    let scene = Scene::new();
    let rows = write(&scene);
    let run = scene.compact(&["--sort-by", "key"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_named(&scene.baler(&["status", "data", "--json"]).json());
    take_away_killers(&scene);
    assert_eq!(scene.data_files("data").len(), 1, "the others are not merged");
    assert!(scene.rows("data") == rows, "rows were lost or doubled");
}

#[test]
fn a_worker_outlives_hostile_files_and_names_them() {
    let fleet = Fleet::new();
    fleet.scene.write("data/first.parquet", &[(-1, 0, "first")]);
    assert_eq!(fleet.scene.compact(&["--sort-by", "key"]).code, 0);
    let first = fleet.scene.rows("data");
    let mut rows = write(&fleet.scene);
    rows.extend(first);
    let args = ["--settle", "0s", "--rescan", "300ms", "--lease", "1s"];
    let mut worker = fleet.worker(&["data"], &args);
    wait_until("all are named, and the others are merged", || {
        let status = fleet.status();
        status["quarantined"].as_array().unwrap().len() == killers().len()
            && status["jobs"].as_array().unwrap().is_empty()
            && fleet.scene.data_files("data").len() < killers().len() + 12
    });
    assert!(!worker.has_ended(), "the worker died of a file");
    assert_named(&fleet.status());
    take_away_killers(&fleet.scene);
    assert!(fleet.scene.rows("data") == rows, "rows were lost or doubled");
}
