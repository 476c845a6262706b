//! One odd file never stops the others: it is named with its reason, the exit code says so, and nothing is lost.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Int64Array, ListArray, MapBuilder,
    StringArray, StringBuilder, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Int64Type};

use crate::support::{Ended, Scene, write_columns, write_rows};

/// Compacts a folder of four good files and an odd one, and checks that only the odd one is left out.
fn compact_with_odd_one(scene: &Scene, odd: &str) -> Ended {
    let good = scene.write_many(4, 50);
    let bytes = fs::read(scene.path(odd)).unwrap();
    let run = scene.compact(&["--sort-by", "key"]);
    assert_eq!(
        (run.code, run.number("quarantined"), run.number("rows_out")),
        (1, 1, good),
        "{run:?}"
    );
    assert_eq!(
        fs::read(scene.path(odd)).unwrap(),
        bytes,
        "the odd file was touched"
    );
    assert_eq!(scene.data_files("data").len(), 2, "one output and the odd file");
    let named = &run.json()["quarantined_files"][0];
    assert_eq!(named["path"].as_str(), odd.strip_prefix("data/"), "{run:?}");
    let again = scene.compact(&[]);
    assert_eq!(
        (again.code, again.number("jobs"), again.number("quarantined")),
        (1, 0, 1),
        "{again:?}"
    );
    run
}

fn reason(run: &Ended) -> String {
    run.json()["quarantined_files"][0]["reason"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_zero_byte_file_is_quarantined() {
    let scene = Scene::new();
    fs::create_dir(scene.path("data")).unwrap();
    fs::write(scene.path("data/empty.parquet"), b"").unwrap();
    let run = compact_with_odd_one(&scene, "data/empty.parquet");
    assert!(reason(&run).contains("empty"), "{run:?}");
}

#[test]
fn a_text_file_named_parquet_is_quarantined() {
    let scene = Scene::new();
    fs::create_dir(scene.path("data")).unwrap();
    fs::write(
        scene.path("data/notes.parquet"),
        b"these are notes, and no Parquet file at all\n",
    )
    .unwrap();
    let run = compact_with_odd_one(&scene, "data/notes.parquet");
    assert!(reason(&run).contains("Parquet"), "{run:?}");
}

#[test]
fn a_truncated_file_is_quarantined() {
    let scene = Scene::new();
    let path = scene.write("data/cut.parquet", &[(1, 1, "one"), (2, 2, "two")]);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    compact_with_odd_one(&scene, "data/cut.parquet");
}

/// The footer is sound, so only the merge notices.
#[test]
fn a_damaged_row_group_is_quarantined_and_never_skipped_silently() {
    let scene = Scene::new();
    let texts: Vec<String> = (0..2_000).map(|row| format!("text number {row}")).collect();
    let rows: Vec<(i64, i64, &str)> = (0..)
        .zip(&texts)
        .map(|(row, text)| (row, 0, text.as_str()))
        .collect();
    let path = scene.write("data/damaged.parquet", &rows);
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[4..400] {
        *byte = 0xa5;
    }
    fs::write(&path, bytes).unwrap();
    compact_with_odd_one(&scene, "data/damaged.parquet");
}

#[test]
fn a_schema_that_cannot_be_united_is_quarantined_with_the_reason() {
    let scene = Scene::new();
    fs::create_dir(scene.path("data")).unwrap();
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    write_columns(
        &scene.path("data/odd.parquet"),
        vec![("key", keys), ("text", flags)],
    );
    let run = compact_with_odd_one(&scene, "data/odd.parquet");
    assert!(reason(&run).contains("text"), "{run:?}");
}

#[test]
fn nested_and_wide_types_come_through_unchanged() {
    let scene = Scene::new();
    fs::create_dir(scene.path("data")).unwrap();
    for file in 0..3i64 {
        let keys = Int64Array::from(vec![file, file + 10]);
        let list =
            ListArray::from_iter_primitive::<Int64Type, _, _>(vec![Some(vec![Some(file), None]), None]);
        let decimals = Decimal128Array::from(vec![Some(i128::from(file) * 100), None]);
        let decimals = decimals.with_precision_and_scale(30, 4).unwrap();
        let stamps = TimestampMicrosecondArray::from(vec![Some(file), None]).with_timezone("+02:00");
        let fixed = FixedSizeBinaryArray::try_from_iter([[1u8, 2, 3], [4, 5, 6]].iter()).unwrap();
        let words: ArrayRef = Arc::new(StringArray::from(vec![Some("ø"), None]));
        let field = Arc::new(Field::new("word", DataType::Utf8, true));
        let record = StructArray::from(vec![(field, words)]);
        let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
        map.keys().append_value("k");
        map.values().append_value("v");
        map.append(true).unwrap();
        map.append(false).unwrap();
        write_columns(
            &scene.path(&format!("data/{file}.parquet")),
            vec![
                ("key", Arc::new(keys)),
                ("list", Arc::new(list)),
                ("decimal", Arc::new(decimals)),
                ("stamp", Arc::new(stamps)),
                ("fixed", Arc::new(fixed)),
                ("record", Arc::new(record)),
                ("map", Arc::new(map.finish())),
            ],
        );
    }
    let before = scene.rows("data");
    let run = scene.compact(&["--sort-by", "key"]);
    assert_eq!((run.code, run.number("files_after")), (0, 1), "{run:?}");
    assert_eq!(scene.rows("data"), before);
}

#[test]
fn retry_takes_the_mark_off_and_a_mended_file_needs_no_retry() {
    let scene = Scene::new();
    scene.write_many(3, 20);
    fs::write(scene.path("data/bad.parquet"), b"").unwrap();
    assert_eq!(scene.compact(&[]).number("quarantined"), 1);
    assert_eq!(
        scene.baler(&["retry", "data", "part-0000.parquet"]).code,
        1,
        "it is not quarantined"
    );
    assert_eq!(scene.baler(&["retry", "data", "--json"]).number("lifted"), 1);
    assert_eq!(scene.compact(&[]).number("quarantined"), 1, "it is still bad");
    write_rows(&scene.path("data/bad.parquet"), &[(7, 7, "mended")]);
    let run = scene.compact(&[]);
    assert_eq!((run.code, run.number("quarantined")), (0, 0), "{run:?}");
    assert!(scene.rows("data").contains_key("key=7 seq=7 text=mended"));
}

/// Starts a compaction that takes a while, and does something to its folder once it has begun to merge.
fn meddle(scene: &Scene, args: &[&str], meddle: impl FnOnce()) -> Ended {
    let all: Vec<&str> = ["compact", "data", "--settle", "0s", "--json"]
        .iter()
        .chain(args)
        .copied()
        .collect();
    let child = scene
        .command(&all)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    scene.wait_for_merge(if args.contains(&"--output") {
        "packed"
    } else {
        "data"
    });
    meddle();
    crate::support::ended(child.wait_with_output().unwrap())
}

fn large_scene() -> (Scene, u64) {
    let scene = Scene::new();
    let rows = scene.write_many(40, 20_000);
    (scene, rows)
}

#[test]
fn a_file_that_vanishes_in_mid_run_costs_only_its_own_rows() {
    let (scene, rows) = large_scene();
    let run = meddle(&scene, &["--sort-by", "key"], || {
        fs::remove_file(scene.path("data/part-0007.parquet")).unwrap()
    });
    assert_eq!(run.code, 0, "{run:?}");
    let found: u64 = scene.rows("data").values().sum();
    // Either it vanished before it was replaced, or its rows are in the output.
    assert!(
        found == rows || found == rows - 20_000,
        "{found} of {rows}: {run:?}"
    );
    assert_eq!(scene.compact(&[]).code, 0);
}

#[test]
fn a_file_overwritten_in_mid_run_survives_in_its_new_version() {
    let (scene, rows) = large_scene();
    let run = meddle(&scene, &["--sort-by", "key"], || {
        write_rows(&scene.path("data/part-0007.parquet"), &[(-1, 0, "rewritten")]);
    });
    assert_eq!(run.code, 0, "{run:?}");
    scene.compact(&[]);
    let after = scene.rows("data");
    assert_eq!(after.get("key=-1 seq=0 text=rewritten"), Some(&1), "{run:?}");
    let found: u64 = after.values().sum();
    assert!(
        found == rows + 1 || found == rows - 20_000 + 1,
        "{found} of {rows}"
    );
}

#[test]
fn a_file_that_grows_in_mid_run_is_not_taken_half() {
    let (scene, _) = large_scene();
    let path = scene.path("data/part-0007.parquet");
    let run = meddle(&scene, &["--sort-by", "key"], || {
        fs::File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"more bytes")
            .unwrap();
    });
    let survived = path.exists() && fs::read(&path).unwrap().ends_with(b"more bytes");
    assert!(survived, "what was written to it is gone: {run:?}");
}

#[test]
fn others_may_add_files_while_it_runs() {
    let (scene, rows) = large_scene();
    let run = meddle(&scene, &["--sort-by", "key"], || {
        for late in 0..5 {
            scene.write(&format!("data/late-{late}.parquet"), &[(late, 9, "late")]);
        }
    });
    assert_eq!(run.code, 0, "{run:?}");
    let found: u64 = scene.rows("data").values().sum();
    assert_eq!(found, rows + 5);
}

#[test]
fn a_rewritten_source_file_is_reported_and_its_old_rows_are_kept_once() {
    let scene = Scene::new();
    scene.write_many(3, 20);
    scene.compact(&["--output", "packed"]);
    let packed = scene.rows("packed");
    scene.write("data/part-0001.parquet", &[(1, 1, "rewritten")]);
    let run = scene.compact(&["--output", "packed"]);
    assert_eq!(
        (run.code, run.json()["changed"][0].as_str()),
        (1, Some("part-0001.parquet")),
        "{run:?}"
    );
    assert_eq!(scene.rows("packed"), packed);
    let run = scene.compact(&["--output", "packed", "--rewritten", "add"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(scene.baler(&["files", "packed"]).stdout.contains("part-0001") || run.number("jobs") > 0);
}

#[test]
fn names_with_a_leading_underscore_or_dot_are_never_inputs() {
    let scene = Scene::new();
    scene.write_many(3, 20);
    let hidden = scene.write("data/_tmp/x.parquet", &[(1, 1, "x")]);
    let dotted = scene.write("data/.y.parquet", &[(1, 1, "y")]);
    let run = scene.compact(&[]);
    assert_eq!((run.code, run.number("files_before")), (0, 3), "{run:?}");
    assert!(hidden.exists() && dotted.exists());
}
