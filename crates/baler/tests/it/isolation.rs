//! Inputs that end whoever merges them: by the stack, by memory, by a panic, by a loop without end. With `--isolate` each
//! ends a child process; the file is found by halving and named, and everything else is compacted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::fleet::{Fleet, wait_until};
use crate::support::{Ended, Scene, ended};

/// Each does what its name says, in debug builds, where this is set; and a merge that moves nothing is given four seconds.
const HARMED: [(&str, &str); 2] = [("BALER_TEST_HARMED", "yes"), ("BALER_TEST_STALL_MS", "4000")];

const HARMS: [&str; 4] = ["overflows-the-stack", "takes-all-memory", "panics", "never-ends"];

/// A folder for each harm, with three sound files beside the one that does it.
fn write_harms(scene: &Scene, harms: &[&str]) {
    for (number, harm) in (0i64..).zip(harms) {
        let first = number * 1_000;
        for file in 0..3 {
            let rows: Vec<(i64, i64, &str)> = (0..20)
                .map(|row| (first + row * 3 + file, row, "sound"))
                .collect();
            scene.write(&format!("data/in-{number}/part-{file}.parquet"), &rows);
        }
        scene.write(
            &format!("data/in-{number}/{harm}.parquet"),
            &[(first, 0, "hostile")],
        );
    }
}

fn compact(scene: &Scene, args: &[&str]) -> Ended {
    let common = [
        "compact",
        "data",
        "--settle",
        "0s",
        "--lease",
        "1s",
        "--json",
        "--sort-by",
        "key",
    ];
    let mut command = scene.command(&[&common[..], args].concat());
    command.envs(HARMED);
    ended(command.output().unwrap())
}

fn quarantined(scene: &Scene) -> BTreeMap<String, String> {
    let status = scene.baler(&["status", "data", "--json"]).json();
    let marks = status["quarantined"].as_array().unwrap().iter();
    let text = |mark: &serde_json::Value, field: &str| mark[field].as_str().unwrap().to_owned();
    marks
        .map(|mark| (text(mark, "path"), text(mark, "reason")))
        .collect()
}

/// Trap: a hostile input ends the process that merges it, and with it everything else that this one did.
#[test]
fn what_kills_a_merge_ends_a_child_and_not_the_run() {
    let scene = Scene::new();
    write_harms(&scene, &HARMS);
    let before = scene.rows("data");
    let run = compact(&scene, &["--isolate"]);
    assert_eq!(
        run.code, 1,
        "files are quarantined, so something is wrong: {run:?}"
    );
    assert!(scene.rows("data") == before, "rows were lost or doubled");
    let marks = quarantined(&scene);
    let reasons = [
        "overflowed its stack",
        "memory allocation of",
        "panicked",
        "computed and moved nothing",
    ];
    for (number, (harm, reason)) in HARMS.iter().zip(reasons).enumerate() {
        let said = &marks[&format!("in-{number}/{harm}.parquet")];
        assert!(said.contains(reason), "{harm}: {said}");
        let left = scene.data_files(&format!("data/in-{number}"));
        assert_eq!(
            left.len(),
            2,
            "the sound files of {harm} are not merged: {left:?}"
        );
    }
    assert_eq!(marks.len(), HARMS.len(), "{marks:?}");
}

/// The harm is real: without a child the run is over.
#[test]
fn without_isolation_the_same_files_end_the_run() {
    for harm in ["overflows-the-stack", "takes-all-memory"] {
        let scene = Scene::new();
        write_harms(&scene, &[harm]);
        let run = compact(&scene, &[]);
        assert_eq!(run.code, -1, "{harm} did no harm: {run:?}");
        assert!(quarantined(&scene).is_empty());
    }
}

#[test]
fn an_isolated_worker_and_an_isolated_coordinator_outlive_what_they_merge() {
    let harms = ["overflows-the-stack", "takes-all-memory"];
    let env = HARMED.map(|(name, value)| (name, value.to_owned()));
    for coordinated in [false, true] {
        let fleet = Fleet::new();
        write_harms(&fleet.scene, &harms);
        let before = fleet.scene.rows("data");
        let args = ["--isolate", "--lease", "1s"];
        let serve = fleet.serve_with(
            &[&args[..], if coordinated { &["--no-worker"] } else { &[] }].concat(),
            &env,
        );
        let worker = coordinated.then(|| fleet.worker_with(&[&serve.url], &["--isolate"], &env));
        wait_until("both are named, and the others are merged", || {
            let status = fleet.status();
            status["quarantined"].as_array().unwrap().len() == harms.len()
                && status["jobs"].as_array().unwrap().is_empty()
                && fleet.scene.data_files("data").len() == 2 * harms.len()
        });
        for mut process in [Some(serve), worker].into_iter().flatten() {
            assert!(!process.has_ended(), "a process died of its input");
        }
        assert!(fleet.scene.rows("data") == before, "rows were lost or doubled");
    }
}

/// Trap: a store that does not answer is counted against the files that were to be read.
#[test]
fn what_waits_and_does_not_compute_is_no_fault_of_the_file() {
    let scene = Scene::new();
    write_harms(&scene, &["waits-for-ever"]);
    let run = compact(&scene, &["--isolate"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("moved nothing for too long"), "{run:?}");
    assert!(quarantined(&scene).is_empty(), "{run:?}");
}

/// A page of zeros that unpacks to 400 MiB, from a few kilobytes: within what Zstandard can do, and beyond the budget.
fn write_bomb(path: &Path) {
    let schema = Arc::new(Schema::new(vec![
        Field::new("key", DataType::Int64, true),
        Field::new("blob", DataType::Binary, true),
    ]));
    let zeros = vec![0u8; 400 << 20];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![7])),
        Arc::new(BinaryArray::from(vec![&zeros[..]])),
    ];
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let settings = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None);
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, Some(settings.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Trap: a file that no limit on files refuses takes more memory than the machine has.
#[test]
fn a_file_that_takes_more_memory_than_a_child_may_is_named() {
    let scene = Scene::new();
    scene.write_many(6, 50);
    let before = scene.rows("data");
    write_bomb(&scene.path("data/bomb.parquet"));
    let run = compact(
        &scene,
        &[
            "--isolate",
            "--memory",
            "32MiB",
            "--threads",
            "1",
            "--workers",
            "1",
        ],
    );
    assert_eq!(run.code, 1, "{run:?}");
    let marks = quarantined(&scene);
    assert_eq!(marks.keys().collect::<Vec<_>>(), ["bomb.parquet"]);
    std::fs::remove_file(scene.path("data/bomb.parquet")).unwrap();
    assert!(scene.rows("data") == before, "rows were lost or doubled");
    assert_eq!(scene.data_files("data").len(), 1, "the others are not merged");
}

/// Isolation is for hostile inputs: for all others it changes nothing.
#[test]
fn isolated_merges_make_the_same_files() {
    let scene = Scene::new();
    scene.write_many(40, 500);
    let mut rows = Vec::new();
    for (output, args) in [("plain", &[][..]), ("isolated", &["--isolate"])] {
        let run = scene.compact(&[&["--sort-by", "key", "--output", output], args].concat());
        assert_eq!(run.code, 0, "{run:?}");
        rows.push(scene.rows(output));
    }
    assert!(rows[0] == rows[1] && rows[0] == scene.rows("data"));
}
