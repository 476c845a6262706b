//! Row times and single values, as footers and reports tell them: never a bound that a row breaks.

use crate::support::*;
use arrow::array::*;
use baler_merge::*;
use bytes::Bytes;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::sync::Arc;

fn nanos(values: Vec<Option<i64>>) -> RecordBatch {
    batch(vec![(
        "t",
        Arc::new(TimestampNanosecondArray::from(values)) as ArrayRef,
    )])
}

fn times(file: &Bytes, column: &TimeColumn) -> Option<(i64, i64)> {
    let asked = Asked {
        row_time: Some(column),
        ..Asked::default()
    };
    let facts = inspect(&input(file.clone()), &asked).unwrap();
    facts.times.map(|times| (times.min.0, times.max.0))
}

fn constant(rows: &RecordBatch, properties: WriterProperties) -> Option<String> {
    let asked = Asked {
        constants: &["c".into()],
        ..Asked::default()
    };
    let facts = inspect(&input(parquet_with(rows, properties)), &asked).unwrap();
    facts.constant_of("c").map(str::to_owned)
}

fn plain() -> WriterProperties {
    WriterProperties::builder().build()
}

#[test]
fn the_least_row_time_is_rounded_down_and_the_greatest_up() {
    let t = TimeColumn::new("t");
    let rows = nanos(vec![Some(5_000_001), Some(1_999_999), Some(7_000_001)]);
    let groups = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1))
        .build();
    assert_eq!(times(&parquet_with(&rows, groups), &t), Some((1, 8)));
    assert_eq!(times(&parquet(&nanos(vec![Some(-1)])), &t), Some((-1, 0)));
}

#[test]
fn a_file_with_a_row_without_time_or_without_statistics_has_no_times() {
    let t = TimeColumn::new("t");
    assert_eq!(times(&parquet(&nanos(vec![Some(1), None])), &t), None);
    assert_eq!(times(&parquet(&nanos(vec![None])), &t), None);
    assert_eq!(times(&parquet(&nanos(vec![])), &t), None);
    assert_eq!(
        times(&parquet(&nanos(vec![Some(1)])), &TimeColumn::new("absent")),
        None
    );
    let silent = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    assert_eq!(times(&parquet_with(&nanos(vec![Some(1)]), silent), &t), None);
}

#[test]
fn plain_integers_have_times_only_if_their_unit_is_named() {
    let file = parquet(&batch(vec![("t", ints([3, 9]))]));
    assert_eq!(times(&file, &TimeColumn::new("t")), None);
    let seconds = TimeColumn {
        name: "t".into(),
        integer_unit: Some(EpochUnit::Seconds),
    };
    assert_eq!(times(&file, &seconds), Some((3_000, 9_000)));
}

#[test]
fn outputs_report_the_times_of_their_rows_as_their_footers_do() {
    let t = TimeColumn::new("t");
    let spec = MergeSpec {
        row_time: Some(t.clone()),
        target_file_bytes: 400,
        ..sorted_by(&["t"])
    };
    let files: Vec<RecordBatch> = (0..4)
        .map(|file| {
            nanos(
                (0..2_000)
                    .map(|row| Some((row * 7_919 + file) % 104_729 * 700_001 - 9))
                    .collect(),
            )
        })
        .collect();
    let done = merged(&files, &spec);
    assert!(done.files.len() > 1);
    for (output, file) in done.report.outputs.iter().zip(&done.files) {
        let reported = output.times.map(|times| (times.min.0, times.max.0));
        assert!(reported.is_some());
        assert_eq!(reported, times(file, &t));
    }
    let with_null = merged(&[nanos(vec![Some(1), None])], &spec);
    assert_eq!(with_null.report.outputs[0].times, None);
}

#[test]
fn a_column_of_one_value_is_known_from_the_footer() {
    let groups = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1))
        .build();
    let acme = batch(vec![("c", strings(["acme", "acme"]))]);
    assert_eq!(constant(&acme, plain()).as_deref(), Some("acme"));
    assert_eq!(constant(&acme, groups.clone()).as_deref(), Some("acme"));
    assert_eq!(
        constant(&batch(vec![("c", strings(["acme", "bolt"]))]), groups),
        None
    );
    assert_eq!(
        constant(&batch(vec![("c", ints([7, 7]))]), plain()).as_deref(),
        Some("7")
    );
    assert_eq!(constant(&batch(vec![("d", ints([7]))]), plain()), None);
}

#[test]
fn nulls_floats_and_values_that_were_cut_are_not_taken_for_one_value() {
    let null: ArrayRef = Arc::new(StringArray::from(vec![Some("acme"), None]));
    assert_eq!(constant(&batch(vec![("c", null)]), plain()), None);
    let nan: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
    assert_eq!(constant(&batch(vec![("c", nan)]), plain()), None);
    let (one, other) = (format!("{}1", "x".repeat(99)), format!("{}2", "x".repeat(99)));
    let cut = WriterProperties::builder()
        .set_statistics_truncate_length(Some(64))
        .build();
    let long = batch(vec![("c", strings([one.as_str(), other.as_str()]))]);
    assert_eq!(constant(&long, cut), None);
    let whole = WriterProperties::builder()
        .set_statistics_truncate_length(None)
        .build();
    let same = batch(vec![("c", strings([one.as_str(), one.as_str()]))]);
    assert_eq!(constant(&same, whole).as_deref(), Some(one.as_str()));
}
