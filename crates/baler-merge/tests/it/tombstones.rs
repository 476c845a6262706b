//! Tombstones and expiry: what may go goes with its whole key, what may not stays, and nothing rises from the dead.

use crate::support::*;
use arrow::array::*;
use arrow::datatypes::Int64Type;
use baler_merge::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    key: i64,
    version: Option<i64>,
    deleted: Option<bool>,
    /// Microseconds.
    time: Option<i64>,
    id: i64,
}

fn row(key: i64, version: i64, deleted: bool, time_ms: i64, id: i64) -> Row {
    Row {
        key,
        version: Some(version),
        deleted: Some(deleted),
        time: Some(time_ms * 1_000),
        id,
    }
}

/// With a payload of so many bytes in each row, so that few rows fill a chunk or a run.
fn wide_table(rows: &[Row], payload_bytes: usize) -> RecordBatch {
    // All different, so that no dictionary makes them short.
    let payloads: Vec<String> = rows
        .iter()
        .map(|row| format!("{:0payload_bytes$}", row.id))
        .collect();
    batch(vec![
        ("key", ints(rows.iter().map(|row| row.key))),
        (
            "version",
            Arc::new(rows.iter().map(|row| row.version).collect::<Int64Array>()) as ArrayRef,
        ),
        (
            "gone",
            Arc::new(rows.iter().map(|row| row.deleted).collect::<BooleanArray>()),
        ),
        (
            "time",
            Arc::new(
                rows.iter()
                    .map(|row| row.time)
                    .collect::<TimestampMicrosecondArray>(),
            ),
        ),
        ("id", ints(rows.iter().map(|row| row.id))),
        ("payload", strings(payloads.iter().map(String::as_str))),
    ])
}

fn table(rows: &[Row]) -> RecordBatch {
    wide_table(rows, 1)
}

fn spec(drop_before: Option<i64>, expire_before: Option<i64>) -> MergeSpec {
    MergeSpec {
        row_time: Some(TimeColumn::new("time")),
        deleted: Some(Deleted {
            column: "gone".into(),
            drop_before: drop_before.map(RowTime),
        }),
        expire: expire_before.map(expiry),
        ..last_write_wins(&["key"], "version")
    }
}

fn expiry(before: i64) -> Expire {
    Expire {
        column: TimeColumn::new("time"),
        before: RowTime(before),
    }
}

fn survivors(merged: &Merged) -> Vec<i64> {
    if merged.files.is_empty() {
        return Vec::new();
    }
    merged.column("id").as_primitive::<Int64Type>().values().to_vec()
}

fn drops(merged: &Merged) -> Vec<(&'static str, u64)> {
    let drops = merged.report.drops.iter();
    drops.map(|dropped| (dropped.rule, dropped.rows)).collect()
}

#[test]
fn a_tombstone_that_may_go_takes_every_version_of_its_key_with_it() {
    let files = [
        table(&[row(1, 1, false, 10, 0), row(2, 1, false, 10, 1)]),
        table(&[row(1, 3, true, 20, 2)]),
        table(&[row(1, 2, false, 90, 3)]),
    ];
    let merged = merged(&files, &spec(Some(50), None));
    assert_eq!(survivors(&merged), [1]);
    assert_eq!(drops(&merged), [(DELETED, 1), (OLDER_VERSION, 2)]);
    let tombstone = digest(&table(&[row(1, 3, true, 20, 2)]));
    assert_eq!(merged.report.drops[0].digest, tombstone);
}

#[test]
fn a_tombstone_that_may_not_go_stays_as_a_row() {
    let null_time = Row {
        time: None,
        ..row(3, 2, true, 0, 3)
    };
    let file = table(&[
        row(1, 1, false, 10, 0),
        row(1, 2, true, 50, 1),
        row(2, 2, true, 49, 2),
        null_time,
    ]);
    let all_stay = merged(std::slice::from_ref(&file), &spec(None, None));
    assert_eq!(survivors(&all_stay), [1, 2, 3]);
    let watermark = merged(std::slice::from_ref(&file), &spec(Some(50), None));
    assert_eq!(survivors(&watermark), [1, 3], "only what is strictly before goes");
    let expiring = merged(&[file], &spec(None, Some(1_000)));
    assert_eq!(survivors(&expiring), [1, 2, 3], "expiry takes no tombstones");
}

#[test]
fn a_tombstone_does_not_delete_what_is_newer() {
    let file = table(&[row(1, 5, true, 10, 0), row(1, 6, false, 5, 1)]);
    let merged = merged(&[file], &spec(Some(50), None));
    assert_eq!(survivors(&merged), [1]);
    assert_eq!(drops(&merged), [(OLDER_VERSION, 1)]);
}

#[test]
fn of_equal_versions_a_later_tombstone_wins_and_an_earlier_one_loses() {
    let (alive, dead) = (row(1, 7, false, 10, 0), row(1, 7, true, 10, 1));
    assert_eq!(
        survivors(&merged(&[table(&[alive]), table(&[dead])], &spec(Some(50), None))),
        [0; 0]
    );
    assert_eq!(
        survivors(&merged(&[table(&[dead]), table(&[alive])], &spec(Some(50), None))),
        [0]
    );
}

#[test]
fn an_expired_newest_row_takes_its_key_with_it_else_an_older_version_would_rise() {
    // The older version has the younger time, as after a correction.
    let file = table(&[
        row(1, 1, false, 90, 0),
        row(1, 2, false, 10, 1),
        row(2, 1, false, 10, 2),
        row(2, 2, false, 90, 3),
    ]);
    let merged = merged(&[file], &spec(None, Some(50)));
    assert_eq!(survivors(&merged), [3]);
    assert_eq!(drops(&merged), [(EXPIRED, 1), (OLDER_VERSION, 2)]);
}

#[test]
fn without_a_key_every_row_expires_by_itself() {
    let null_time = Row {
        time: None,
        ..Row::default()
    };
    let files = [
        table(&[row(3, 0, false, 49, 1), row(1, 0, false, 50, 2)]),
        table(&[null_time, row(2, 0, true, 7, 4)]),
    ];
    for sort in [vec![], sorted_by(&["key"]).sort] {
        let spec = MergeSpec {
            sort,
            expire: Some(expiry(50)),
            ..MergeSpec::default()
        };
        let merged = merged(&files, &spec);
        let mut left = survivors(&merged);
        left.sort_unstable();
        assert_eq!(left, [0, 2], "a row without a time never expires");
        assert_eq!(drops(&merged), [(EXPIRED, 2)]);
    }
}

#[test]
fn where_all_rows_go_there_are_no_outputs_and_the_report_proves_it() {
    let file = table(&[
        row(1, 1, false, 10, 0),
        row(1, 2, true, 20, 1),
        row(2, 1, false, 5, 2),
    ]);
    let merged = merged(&[file], &spec(Some(50), Some(50)));
    assert!(merged.files.is_empty() && merged.report.outputs.is_empty());
    assert_eq!(drops(&merged), [(DELETED, 1), (EXPIRED, 1), (OLDER_VERSION, 1)]);
    merged.report.prove().unwrap();
}

#[test]
fn a_watermark_in_milliseconds_is_not_compared_with_nanoseconds() {
    let at_ms = |unit: &str, times: [i64; 2]| {
        let column: ArrayRef = match unit {
            "s" => Arc::new(TimestampSecondArray::from(times.map(|ms| ms / 1_000).to_vec())),
            "ns" => Arc::new(TimestampNanosecondArray::from(
                times.map(|ms| ms * 1_000_000).to_vec(),
            )),
            "zone" => Arc::new(TimestampMillisecondArray::from(times.to_vec()).with_timezone("+02:00")),
            "date" => Arc::new(Date32Array::from(
                times.map(|ms| (ms / 86_400_000) as i32).to_vec(),
            )),
            _ => ints(times),
        };
        batch(vec![("time", column), ("id", ints([0, 1]))])
    };
    let day = 86_400_000;
    for unit in ["s", "ns", "zone", "date", "plain"] {
        let spec = MergeSpec {
            expire: Some(Expire {
                column: TimeColumn {
                    name: "time".into(),
                    integer_unit: (unit == "plain").then_some(EpochUnit::Milliseconds),
                },
                before: RowTime(2 * day),
            }),
            ..MergeSpec::default()
        };
        let merged = merged(&[at_ms(unit, [day, 2 * day])], &spec);
        assert_eq!(survivors(&merged), [1], "{unit}");
    }
}

#[test]
fn files_from_before_the_column_was_there_are_alive_and_never_expire() {
    let old = batch(vec![
        ("key", ints([1, 2])),
        ("version", ints([1, 1])),
        ("id", ints([0, 1])),
    ]);
    let new = table(&[row(2, 2, true, 10, 2)]);
    assert_eq!(
        survivors(&merged(&[old.clone(), new], &spec(Some(50), Some(50)))),
        [0]
    );
    assert_eq!(survivors(&merged(&[old], &spec(Some(50), Some(50)))), [0, 1]);
}

#[test]
fn tombstones_may_be_marked_by_one_but_by_no_other_number() {
    let marked = |marks: Vec<Option<u8>>| {
        batch(vec![
            ("key", ints([1, 2, 3])),
            ("version", ints([1, 1, 1])),
            ("gone", Arc::new(UInt8Array::from(marks)) as ArrayRef),
            ("time", Arc::new(TimestampSecondArray::from(vec![0, 0, 0]))),
            ("id", ints([0, 1, 2])),
        ])
    };
    let spec = spec(Some(50), None);
    let ones = merged(&[marked(vec![Some(1), Some(0), None])], &spec);
    assert_eq!(survivors(&ones), [1, 2]);
    let other = try_merge(&inputs(&[marked(vec![Some(7), None, None])]), &spec, 0);
    assert!(matches!(other, Err(MergeError::Spec(text)) if text.contains("holds 7")));
}

#[test]
fn what_cannot_be_carried_out_is_refused_with_advice() {
    let refusal = |spec: MergeSpec| match try_merge(&inputs(&[table(&[])]), &spec, 0) {
        Err(MergeError::Spec(advice)) => advice,
        other => panic!("{:?}", other.map(|merged| merged.report)),
    };
    let keyless = MergeSpec {
        rule: Rule::KeepAll,
        ..spec(None, None)
    };
    assert!(refusal(keyless).contains("last write wins"));
    let timeless = MergeSpec {
        row_time: None,
        ..spec(Some(1), None)
    };
    assert!(refusal(timeless).contains("row time"));
    let mut unmarked = spec(None, None);
    unmarked.deleted = Some(Deleted {
        column: "payload".into(),
        drop_before: None,
    });
    assert!(refusal(unmarked).contains("true or by 1"));
    let mut unitless = spec(None, Some(1));
    unitless.expire = Some(Expire {
        column: TimeColumn::new("id"),
        before: RowTime(0),
    });
    assert!(refusal(unitless).contains("say whether"));
}

/// What a map from key to newest row would do: survivors by key, and what goes under each rule.
fn oracle(
    files: &[Vec<Row>],
    drop_before: Option<i64>,
    expire_before: Option<i64>,
) -> (Vec<i64>, BTreeMap<&'static str, Vec<Row>>) {
    let mut newest: BTreeMap<i64, Row> = BTreeMap::new();
    let mut gone: BTreeMap<&'static str, Vec<Row>> = BTreeMap::new();
    for row in files.iter().flatten() {
        match newest.get_mut(&row.key) {
            Some(held) if row.version < held.version => gone.entry(OLDER_VERSION).or_default().push(*row),
            Some(held) => gone
                .entry(OLDER_VERSION)
                .or_default()
                .push(std::mem::replace(held, *row)),
            None => drop(newest.insert(row.key, *row)),
        }
    }
    let before = |row: &Row, limit: Option<i64>| {
        row.time
            .zip(limit)
            .is_some_and(|(time, limit)| time < limit * 1_000)
    };
    let mut left = Vec::new();
    for row in newest.into_values() {
        match row.deleted {
            Some(true) if before(&row, drop_before) => gone.entry(DELETED).or_default().push(row),
            Some(true) => left.push(row.id),
            _ if before(&row, expire_before) => gone.entry(EXPIRED).or_default().push(row),
            _ => left.push(row.id),
        }
    }
    (left, gone)
}

fn rows(keys: i64, most: usize) -> impl Strategy<Value = Vec<Row>> {
    let row = (
        0..keys,
        prop::option::weighted(0.9, 0..4i64),
        prop::option::weighted(0.8, any::<bool>()),
        prop::option::weighted(0.9, -3_000..20_000i64),
    );
    let row = row.prop_map(|(key, version, deleted, time)| Row {
        key,
        version,
        deleted,
        time,
        id: 0,
    });
    prop::collection::vec(row, 0..most)
}

fn check_against_oracle(
    mut files: Vec<Vec<Row>>,
    sorted: &[bool],
    limits: (Option<i64>, Option<i64>),
    payload_bytes: usize,
) -> Result<(), TestCaseError> {
    for (number, row) in files.iter_mut().flatten().enumerate() {
        row.id = number as i64;
    }
    for (file, _) in files.iter_mut().zip(sorted).filter(|(_, sorted)| **sorted) {
        file.sort_by_key(|row| row.key);
    }
    let batches: Vec<RecordBatch> = files.iter().map(|file| wide_table(file, payload_bytes)).collect();
    let merged = try_merge(&inputs(&batches), &spec(limits.0, limits.1), 0).unwrap();
    let (left, gone) = oracle(&files, limits.0, limits.1);
    prop_assert_eq!(survivors(&merged), left);
    prop_assert_eq!(merged.report.drops.len(), gone.len());
    for dropped in &merged.report.drops {
        let expected = &gone[dropped.rule];
        prop_assert_eq!(dropped.rows, expected.len() as u64, "{}", dropped.rule);
        prop_assert_eq!(
            dropped.digest,
            digest(&wide_table(expected, payload_bytes)),
            "{}",
            dropped.rule
        );
    }
    Ok(())
}

fn limit() -> impl Strategy<Value = Option<i64>> {
    prop::option::of(-2..20i64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn as_a_map_would_do(
        files in prop::collection::vec(rows(12, 40), 1..6),
        sorted in prop::collection::vec(any::<bool>(), 6),
        drop_before in limit(),
        expire_before in limit(),
    ) {
        check_against_oracle(files, &sorted, (drop_before, expire_before), 1)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    /// Versions of a key lie in different chunks and runs: a tombstone that went before its older versions came would show.
    #[test]
    fn as_a_map_would_do_where_a_few_rows_fill_a_chunk_and_a_run(
        files in prop::collection::vec(rows(4, 120), 3..5),
        drop_before in limit(),
        expire_before in limit(),
    ) {
        check_against_oracle(files, &[], (drop_before, expire_before), 60_000)?;
    }
}

#[test]
fn a_tombstone_is_not_dropped_before_its_older_versions_came() {
    // Unsorted files of which each fills lanes of its own; the tombstone comes in the first, older versions in all.
    let files: Vec<Vec<Row>> = (0..3)
        .map(|file| {
            let mut rows: Vec<Row> = (0..120)
                .map(|at| row((119 - at) % 7, 1, false, 500, file * 1_000 + at))
                .collect();
            if file == 0 {
                rows[60] = row(3, 9, true, 10, 60);
            }
            rows
        })
        .collect();
    let batches: Vec<RecordBatch> = files.iter().map(|rows| wide_table(rows, 60_000)).collect();
    let merged = try_merge(&inputs(&batches), &spec(Some(50), None), 0).unwrap();
    assert!(merged.report.spilled_bytes > 0);
    let (left, _) = oracle(&files, Some(50), None);
    assert_eq!(survivors(&merged), left);
    let keys = merged.column("key");
    assert!(!keys.as_primitive::<Int64Type>().values().contains(&3));
}
