//! Which way rows go: what `plan` says of each stretch, what `compact` then does, and what its receipt says of it.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use serde_json::Value;

use crate::receipts::{SORTED, mixed, receipt, write_packed};
use crate::support::{Scene, write_columns};

fn plan(scene: &Scene, flags: &[&str]) -> Value {
    let end = scene.baler(&[&["plan", "data", "--settle", "0s", "--json"], flags].concat());
    assert_eq!(end.code, 0, "{end:?}");
    end.json()
}

/// Its stretches, with those of the receipt of the only job beside them.
fn compact_as_planned(scene: &Scene, flags: &[&str]) -> (Vec<Value>, Vec<Value>) {
    let plan = plan(scene, flags);
    assert_eq!(plan["jobs"], 1, "{plan}");
    let rows = scene.rows("data");
    let run = scene.compact(flags);
    assert_eq!((run.code, run.number("jobs")), (0, 1), "{run:?}");
    assert!(scene.rows("data") == rows, "rows were lost or doubled");
    let receipt = receipt(scene, 0);
    let proved = receipt["ranges"].as_array().unwrap().iter();
    let proved = proved.flat_map(|range| range["stretches"].as_array().unwrap());
    let planned = plan["looked_into"]["stretches"].as_array().unwrap();
    (planned.clone(), proved.cloned().collect())
}

/// What plan and receipt have both to say of a stretch.
fn told(stretch: &Value) -> (&str, &str, u64) {
    let text = |of: &'static str| stretch[of].as_str().unwrap();
    (text("way"), text("why"), stretch["rows"].as_u64().unwrap())
}

fn all_told(stretches: &[Value]) -> Vec<(&str, &str, u64)> {
    stretches.iter().map(told).collect()
}

#[test]
fn what_plan_says_of_each_stretch_is_what_its_receipt_says_was_done() {
    let scene = mixed();
    let people = scene.baler(&[&["plan", "data", "--settle", "0s"], &SORTED[..]].concat());
    let (planned, proved) = compact_as_planned(&scene, &SORTED);
    assert_eq!(all_told(&planned), all_told(&proved));
    let ways = [
        ("copied", "overlaps nothing and is large enough", 2_000),
        ("stitched", "overlap nothing and are too small each", 800),
        ("merged", "share keys", 2_000),
        ("copied", "overlaps nothing and is large enough", 2_000),
    ];
    assert_eq!(all_told(&planned), ways);
    for (way, why, _) in ways {
        let line = people.stdout.lines().find(|line| {
            line.starts_with("job 1 ") && line.contains(&format!(" {way} ")) && line.contains(why)
        });
        assert!(line.is_some(), "{way}: {people:?}");
    }
    let files: Vec<u64> = planned
        .iter()
        .map(|stretch| stretch["files"].as_u64().unwrap())
        .collect();
    assert_eq!(files, [1, 2, 2, 1]);
}

/// No footer tells whether rows are in order: a plan says that it takes it for granted, and the receipt says how it was.
#[test]
fn what_a_plan_rests_on_is_said_and_what_was_found_instead_too() {
    let scene = Scene::new();
    write_packed(&scene, "data/a.parquet", (0..2_000).rev());
    write_packed(&scene, "data/b.parquet", 3_000..5_000);
    write_packed(&scene, "data/c.parquet", 6_000..8_000);
    let (planned, proved) = compact_as_planned(&scene, &SORTED);
    let [copied] = &planned[..] else {
        panic!("{planned:?}")
    };
    assert_eq!(
        told(copied),
        ("copied", "overlaps nothing and is large enough", 6_000)
    );
    assert_eq!(copied["provided"], "its rows are in order");
    let done = [
        ("merged", "their keys or their order are not known", 2_000),
        ("copied", "overlaps nothing and is large enough", 4_000),
    ];
    assert_eq!(all_told(&proved), done);
}

#[test]
fn a_job_that_is_cut_is_planned_range_by_range() {
    let scene = Scene::new();
    for file in 0..8 {
        let overlaps = file >= 4;
        let first = if overlaps { 20_000 } else { file * 4_000 };
        let step = if overlaps { 4 } else { 1 };
        let keys = (first..first + 3_000 * step).step_by(usize::try_from(step).unwrap());
        write_packed(
            &scene,
            &format!("data/{file}.parquet"),
            keys.map(|key| key + if overlaps { file } else { 0 }),
        );
    }
    let flags = [&SORTED[..], &["--range-bytes", "64KiB"]].concat();
    let (planned, proved) = compact_as_planned(&scene, &flags);
    let ranges: Vec<u64> = planned
        .iter()
        .map(|stretch| stretch["range"].as_u64().unwrap())
        .collect();
    assert!(ranges.is_sorted() && ranges.last() > Some(&0), "{planned:?}");
    let words = |stretches: &[Value]| -> Vec<String> {
        let words = stretches
            .iter()
            .map(told)
            .map(|(way, why, _)| format!("{way}: {why}"));
        words.collect()
    };
    assert_eq!(words(&planned), words(&proved));
    let receipt = receipt(&scene, 0);
    let cut = receipt["ranges"].as_array().unwrap().len() as u64;
    assert_eq!(ranges.last(), Some(&(cut - 1)), "{receipt}");
    for (planned, proved) in planned.iter().zip(&proved) {
        let ((way, _, planned), (_, _, proved)) = (told(planned), told(proved));
        match way {
            "merged" => assert!(proved <= planned, "row groups across an edge are counted whole"),
            _ => assert_eq!(proved, planned),
        }
    }
}

/// Where every row is wanted in a digest, nothing can be copied; the files alone do not tell.
#[test]
fn a_plan_knows_what_the_table_asks_of_its_outputs() {
    let scene = mixed();
    let flags = [&SORTED[..], &["--verify", "reread"]].concat();
    let (planned, proved) = compact_as_planned(&scene, &flags);
    let why = "every row is wanted in the digest of its output";
    assert_eq!(all_told(&planned), [("merged", why, 6_800)]);
    assert_eq!(all_told(&proved), all_told(&planned));
}

/// Trap: a plan of a large root that reads thousands of footers before it says a word.
#[test]
fn a_plan_looks_into_few_jobs_unless_it_is_told_to() {
    let scene = Scene::new();
    for folder in 0..3 {
        for file in 0..4 {
            let keys = (0..50).map(|row| row * 4 + file);
            write_packed(&scene, &format!("data/day={folder}/{file}.parquet"), keys);
        }
    }
    for file in 0..1_001 {
        let name = format!("data/many/{file}.parquet");
        match file {
            0 => write_packed(&scene, &name, 0..1),
            _ => {
                fs::copy(scene.path("data/many/0.parquet"), scene.path(&name)).unwrap();
            }
        }
    }
    let looked = |flags: &[&str]| {
        let plan = plan(&scene, &[&SORTED[..], flags].concat());
        let looked = &plan["looked_into"];
        let number = |of: &str| looked[of].as_u64().unwrap();
        let jobs: Vec<u64> = looked["stretches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|stretch| stretch["job"].as_u64().unwrap())
            .collect();
        (
            plan["jobs"].as_u64().unwrap(),
            number("jobs"),
            number("footers"),
            jobs,
        )
    };
    assert_eq!(looked(&[]), (4, 3, 12, vec![1, 2, 3]));
    assert_eq!(looked(&["--look-into", "1"]), (4, 1, 4, vec![1]));
    assert_eq!(looked(&["--look-into", "0"]), (4, 0, 0, vec![]));
    let (_, all, footers, _) = looked(&["--look-into", "9"]);
    assert_eq!((all, footers), (4, 1_013));
    let people = scene.baler(&[&["plan", "data", "--settle", "0s"], &SORTED[..]].concat());
    assert!(
        people
            .stdout
            .contains("Job 4 and those after it were not looked into"),
        "{people:?}"
    );
    assert!(
        people.stdout.contains("as the footers of 12 file(s) tell"),
        "{people:?}"
    );
}

#[test]
fn a_file_that_cannot_be_looked_into_is_named_and_the_other_jobs_are() {
    let scene = Scene::new();
    for folder in 0..2 {
        for file in 0..4 {
            let keys = (0..50).map(|row| row * 4 + file);
            write_packed(&scene, &format!("data/day={folder}/{file}.parquet"), keys);
        }
    }
    // Sound enough to be listed, but of another type than its neighbours.
    scene.write("data/day=0/4.parquet", &[(1, 1, "a")]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![3]));
    write_columns(
        &scene.path("data/day=0/5.parquet"),
        vec![("key", keys), ("noise", texts)],
    );
    let plan = plan(&scene, &SORTED);
    let looked = &plan["looked_into"];
    assert_eq!(looked["jobs"], 2, "{plan}");
    assert_eq!(looked["odd"][0]["job"], 1, "{plan}");
    let why = looked["odd"][0]["why"].as_str().unwrap();
    assert!(why.contains("5.parquet") || why.contains("noise"), "{why}");
    assert_eq!(looked["stretches"][0]["job"], 2, "{plan}");
}
