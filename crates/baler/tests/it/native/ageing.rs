//! Rows that go by themselves: retention, tombstones, expiry.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::array::{BooleanArray, Int64Array, StringArray};

use super::{Halted, add, arrive, arrive_many, compact, create, read, texts};
use crate::support::{Scene, write_columns};

const HOUR: i64 = 60 * 60 * 1_000;
const DAY: i64 = 24 * HOUR;

/// So long ago, in milliseconds since 1970.
fn ago(length: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap() - length
}

/// Dropping every file that overlaps the limit would take newer rows along.
#[test]
fn retention_drops_a_file_only_when_its_newest_row_is_past_the_limit() {
    let scene = Scene::new();
    create(
        &scene,
        &["--row-time", "seq:ms", "--retain", "30d", "--grace", "1h"],
    );
    arrive(
        &scene,
        "old.parquet",
        &[(1, ago(40 * DAY), "old"), (2, ago(31 * DAY), "old too")],
    );
    arrive(
        &scene,
        "both.parquet",
        &[(3, ago(40 * DAY), "beside"), (4, ago(20 * DAY), "young")],
    );
    let plan = scene.baler(&["plan", "lake", "--json"]);
    assert_eq!(plan.json()["files_expired"], 1, "{plan:?}");
    let run = compact(&scene);
    assert_eq!(
        (run.number("expired_files"), run.number("expired_rows")),
        (1, 2),
        "{run:?}"
    );
    assert_eq!(texts(&read(&scene, &[])), ["beside", "young"]);
    assert!(
        scene.path("lake/old.parquet").exists(),
        "readers of the version before may still read it"
    );
    let again = add(&scene, &["old.parquet"]);
    assert_eq!(
        (again.number("added"), again.number("known")),
        (0, 1),
        "{again:?}"
    );
    scene.baler(&["gc", "lake", "--now"]);
    assert!(!scene.path("lake/old.parquet").exists());
    assert_eq!(compact(&scene).number("expired_files"), 0);
}

#[test]
fn the_summary_says_what_retention_dropped() {
    let scene = Scene::new();
    create(&scene, &["--row-time", "seq:ms"]);
    arrive(&scene, "old.parquet", &[(1, ago(40 * DAY), "old")]);
    assert_eq!(
        scene
            .baler(&["table", "alter", "lake", "events", "--retain", "30d"])
            .code,
        0
    );
    let run = scene.baler(&["compact", "lake"]);
    assert!(run.stdout.contains("1 file with 1 rows dropped"), "{run:?}");
    assert_eq!(
        scene
            .baler(&["table", "alter", "lake", "events", "--retain", "none"])
            .code,
        0
    );
    arrive(&scene, "older.parquet", &[(1, ago(400 * DAY), "older")]);
    assert_eq!(compact(&scene).number("expired_files"), 0);
}

/// A job that finishes after retention has removed its sources must not bring them back.
#[test]
fn a_source_removed_by_retention_in_mid_job_is_not_resurrected() {
    let scene = Scene::new();
    create(&scene, &["--sort-by", "key", "--row-time", "seq:ms"]);
    arrive_many(&scene, ago(40 * DAY));
    let halted = Halted::begin(&scene);
    let altered = scene.baler(&["table", "alter", "lake", "events", "--retain", "30d"]);
    let dropping = scene.baler(&["compact", "lake", "--json"]);
    let merged = halted.go_on();

    assert_eq!(altered.code, 0, "{altered:?}");
    assert_eq!(dropping.number("expired_files"), 40, "{dropping:?}");
    assert_eq!(merged.number("jobs"), 0, "{merged:?}");
    assert_eq!(read(&scene, &[]).len(), 0, "dropped rows came back: {merged:?}");
    let reason = scene.baler(&["jobs", "lake", "--json"]).json()["reason"].clone();
    assert!(
        reason.as_str().unwrap().contains("past the retention"),
        "{reason}"
    );
    scene.baler(&["gc", "lake", "--now"]);
    assert_eq!(scene.data_files("lake").len(), 0, "something was left behind");
}

fn write_marked(scene: &Scene, path: &str, rows: &[(i64, i64, bool, &str)]) {
    let key: Int64Array = rows.iter().map(|row| Some(row.0)).collect();
    let at: Int64Array = rows.iter().map(|row| Some(row.1)).collect();
    let gone: BooleanArray = rows.iter().map(|row| Some(row.2)).collect();
    let text: StringArray = rows.iter().map(|row| Some(row.3)).collect();
    write_columns(
        &scene.path(&format!("lake/{path}")),
        vec![
            ("key", Arc::new(key)),
            ("seq", Arc::new(at)),
            ("gone", Arc::new(gone)),
            ("text", Arc::new(text)),
        ],
    );
    assert_eq!(add(scene, &[path]).code, 0);
}

const KEYED: [&str; 10] = [
    "--key",
    "key",
    "--newest",
    "seq",
    "--row-time",
    "seq:ms",
    "--lateness",
    "1h",
    "--drop-deleted-where",
    "gone",
];

#[test]
fn a_tombstone_goes_with_what_it_hides_and_not_before_the_lateness() {
    let scene = Scene::new();
    create(&scene, &KEYED);
    write_marked(
        &scene,
        "a.parquet",
        &[
            (1, ago(9 * DAY), false, "hidden"),
            (2, ago(9 * DAY), false, "stays"),
        ],
    );
    write_marked(&scene, "b.parquet", &[(1, ago(8 * DAY), true, "tombstone")]);
    let run = compact(&scene);
    assert_eq!(run.number("rows_dropped"), 2, "{run:?}");
    assert_eq!(texts(&read(&scene, &[])), ["stays"]);

    write_marked(
        &scene,
        "c.parquet",
        &[(2, ago(HOUR / 60), true, "young tombstone")],
    );
    let run = compact(&scene);
    assert_eq!(
        (run.number("jobs"), run.number("rows_dropped")),
        (1, 1),
        "{run:?}"
    );
    assert_eq!(
        texts(&read(&scene, &[])),
        ["young tombstone"],
        "a late row of its key may still come"
    );
}

#[test]
fn rows_expire_when_they_are_old_enough() {
    let scene = Scene::new();
    create(&scene, &["--row-time", "seq:ms", "--expire-after", "7d"]);
    arrive(
        &scene,
        "a.parquet",
        &[(1, ago(8 * DAY), "expired"), (2, ago(6 * DAY), "young")],
    );
    arrive(&scene, "b.parquet", &[(3, ago(DAY), "younger")]);
    let run = compact(&scene);
    assert_eq!(
        (run.number("rows_in"), run.number("rows_dropped")),
        (3, 1),
        "{run:?}"
    );
    assert_eq!(texts(&read(&scene, &[])), ["young", "younger"]);
    assert_eq!(scene.baler(&["verify", "lake"]).code, 0);
}
