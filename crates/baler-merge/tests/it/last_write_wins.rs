//! Last write wins: the newest version of every key survives, and what goes is counted.

use crate::support::*;
use arrow::array::*;
use arrow::datatypes::Int64Type;
use baler_merge::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

type Row = (Option<i64>, Option<i64>, i64);

fn table(rows: &[Row]) -> RecordBatch {
    batch(vec![
        (
            "key",
            Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>()) as ArrayRef,
        ),
        (
            "version",
            Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>()),
        ),
        ("id", ints(rows.iter().map(|row| row.2))),
    ])
}

fn survivors(merged: &Merged) -> Vec<i64> {
    merged.column("id").as_primitive::<Int64Type>().values().to_vec()
}

fn spec() -> MergeSpec {
    last_write_wins(&["key"], "version")
}

#[test]
fn the_newest_version_survives_wherever_it_stands() {
    let files = [
        table(&[(Some(1), Some(9), 0), (Some(2), Some(1), 1)]),
        table(&[(Some(1), Some(3), 2), (Some(2), Some(5), 3)]),
    ];
    let merged = merged(&files, &spec());
    assert_eq!(
        survivors(&merged),
        [0, 3],
        "an older record never beats a newer one"
    );
    assert_eq!(merged.report.drops.len(), 1);
    assert_eq!(
        (merged.report.drops[0].rows, merged.report.drops[0].rule),
        (2, OLDER_VERSION)
    );
}

#[test]
fn of_equal_versions_the_later_input_wins_and_then_the_later_row() {
    let first = table(&[
        (Some(1), Some(7), 0),
        (Some(2), Some(7), 1),
        (Some(2), Some(7), 2),
    ]);
    let second = table(&[(Some(1), Some(7), 3)]);
    assert_eq!(
        survivors(&merged(&[first.clone(), second.clone()], &spec())),
        [3, 2]
    );
    assert_eq!(survivors(&merged(&[second, first], &spec())), [0, 2]);
}

#[test]
fn the_later_row_wins_a_tie_even_if_sorting_puts_it_first() {
    let file = table(&[(Some(1), Some(7), 5), (Some(1), Some(7), 3)]);
    let spec = MergeSpec {
        sort: sorted_by(&["key", "id"]).sort,
        ..spec()
    };
    assert_eq!(survivors(&merged(&[file], &spec)), [3]);
}

#[test]
fn a_null_version_is_the_oldest_and_null_keys_are_one_key() {
    let file = table(&[
        (None, None, 0),
        (None, Some(-5), 1),
        (None, None, 2),
        (Some(1), None, 3),
    ]);
    assert_eq!(survivors(&merged(&[file], &spec())), [1, 3]);
}

#[test]
fn nan_keys_are_one_key() {
    let odd = f64::from_bits(0x7FF8_0000_0000_0001);
    let keys: ArrayRef = Arc::new(Float64Array::from(vec![odd, f64::NAN, -f64::NAN]));
    let file = batch(vec![
        ("key", keys),
        ("version", ints([1, 3, 2])),
        ("id", ints([0, 1, 2])),
    ]);
    assert_eq!(survivors(&merged(&[file], &spec())), [1]);
}

#[test]
fn a_key_that_is_no_prefix_of_the_sort_key_is_refused() {
    let spec = MergeSpec {
        sort: sorted_by(&["id", "key"]).sort,
        ..spec()
    };
    let why = try_merge(&inputs(&[table(&[])]), &spec, 0).err().unwrap();
    assert!(
        matches!(&why, MergeError::Spec(text) if text.contains("beginning of the sort key")),
        "{why}"
    );
}

#[test]
fn a_key_longer_than_one_column_drops_no_distinct_rows() {
    let files = [
        batch(vec![
            ("a", ints([1, 1])),
            ("b", ints([1, 2])),
            ("version", ints([1, 1])),
            ("id", ints([0, 1])),
        ]),
        batch(vec![
            ("a", ints([1])),
            ("b", ints([2])),
            ("version", ints([2])),
            ("id", ints([2])),
        ]),
    ];
    assert_eq!(
        survivors(&merged(&files, &last_write_wins(&["a", "b"], "version"))),
        [0, 2]
    );
}

#[test]
fn one_key_in_more_rows_than_a_chunk_holds_leaves_one_row() {
    let files: Vec<RecordBatch> = (0..3)
        .map(|file| {
            let rows: Vec<Row> = (0..50_000)
                .map(|row| (Some(1), Some((row * 7919) % 50_021), file * 50_000 + row))
                .collect();
            table(&rows)
        })
        .collect();
    let merged = try_merge(&inputs(&files), &spec(), 0).unwrap();
    assert_eq!(merged.report.rows_out(), 1);
    assert_eq!(merged.report.drops[0].rows, 149_999);
}

/// What a map from key to newest row would hold.
fn oracle(files: &[Vec<Row>]) -> Vec<i64> {
    let mut newest: BTreeMap<Option<i64>, (Option<i64>, i64)> = BTreeMap::new();
    for (key, version, id) in files.iter().flatten() {
        let held = newest.entry(*key).or_insert((*version, *id));
        if *version >= held.0 {
            *held = (*version, *id);
        }
    }
    newest.into_values().map(|(_, id)| id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn as_a_map_would_do(
        mut files in prop::collection::vec(prop::collection::vec(
            (prop::option::weighted(0.9, 0..30i64), prop::option::weighted(0.8, 0..4i64), 0..1i64), 0..60), 1..6),
        sorted in any::<bool>(),
    ) {
        for (number, row) in files.iter_mut().flatten().enumerate() {
            row.2 = number as i64;
        }
        if sorted {
            files.iter_mut().for_each(|file| file.sort_by_key(|row| row.0));
        }
        let batches: Vec<RecordBatch> = files.iter().map(|file| table(file)).collect();
        let merged = try_merge(&inputs(&batches), &spec(), 0).unwrap();
        let survived = if merged.files.is_empty() { Vec::new() } else { survivors(&merged) };
        prop_assert_eq!(survived, oracle(&files));
    }
}
