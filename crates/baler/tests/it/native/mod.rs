//! Stories of native tables: their catalog is the journal, and readers ask `baler files` which files there are.

mod ageing;
mod naming;
mod tables;
mod versions;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Ended, Scene, rows_of};

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

fn texts(rows: &Rows) -> Vec<&str> {
    let texts = rows.keys().map(|row| row.split_once("text=").unwrap().1);
    texts.collect()
}
