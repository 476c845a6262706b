//! Order: kept, made, checked, and never taken from a file's word.

use crate::support::*;
use arrow::array::*;
use baler_merge::*;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

fn values(array: &ArrayRef) -> Vec<i64> {
    array
        .as_primitive::<arrow::datatypes::Int64Type>()
        .values()
        .to_vec()
}

#[test]
fn sorted_inputs_are_merged_in_one_round() {
    let batches = [
        batch(vec![("k", ints([1, 3, 5]))]),
        batch(vec![("k", ints([2, 3, 4]))]),
    ];
    let merged = merged(&batches, &sorted_by(&["k"]));
    assert_eq!(values(&merged.column("k")), [1, 2, 3, 3, 4, 5]);
    assert_eq!(merged.report.spilled_bytes, 0);
    assert_eq!(merged.report.sorted_by, sorted_by(&["k"]).sort);
}

#[test]
fn equal_keys_keep_the_order_of_their_inputs() {
    let batches = [
        batch(vec![("k", ints([1, 1])), ("from", ints([0, 1]))]),
        batch(vec![("k", ints([1, 0])), ("from", ints([2, 3]))]),
        batch(vec![("k", ints([1])), ("from", ints([4]))]),
    ];
    assert_eq!(
        values(&merged(&batches, &sorted_by(&["k"])).column("from")),
        [3, 0, 1, 2, 4]
    );
}

#[test]
fn an_unsorted_input_that_declares_an_order_is_sorted() {
    let lie = WriterProperties::builder()
        .set_sorting_columns(Some(vec![SortingColumn {
            column_idx: 0,
            descending: false,
            nulls_first: true,
        }]))
        .build();
    let rows = batch(vec![("k", ints([5, 1, 4]))]);
    let files = [
        input(parquet_with(&rows, lie)),
        input(parquet(&batch(vec![("k", ints([2, 3]))]))),
    ];
    let merged = try_merge(&files, &sorted_by(&["k"]), 0).unwrap();
    assert_eq!(values(&merged.column("k")), [1, 2, 3, 4, 5]);
    assert_eq!(merged.report.sorted_by, sorted_by(&["k"]).sort);
}

fn declaring(rows: &RecordBatch) -> Arc<dyn Input> {
    let column = SortingColumn {
        column_idx: 0,
        descending: true,
        nulls_first: false,
    };
    input(parquet_with(
        rows,
        WriterProperties::builder()
            .set_sorting_columns(Some(vec![column]))
            .build(),
    ))
}

#[test]
fn without_a_sort_key_a_declared_order_that_holds_is_kept() {
    let files = [
        declaring(&batch(vec![("k", ints([9, 5]))])),
        declaring(&batch(vec![("k", ints([7, 1]))])),
    ];
    let merged = try_merge(&files, &MergeSpec::default(), 0).unwrap();
    assert_eq!(values(&merged.column("k")), [9, 7, 5, 1]);
    let kept = SortColumn {
        name: "k".into(),
        descending: true,
        nulls_first: false,
    };
    assert_eq!(merged.report.sorted_by, [kept]);
}

#[test]
fn without_a_sort_key_a_declared_order_that_does_not_hold_is_not_claimed() {
    let files = [
        declaring(&batch(vec![("k", ints([5, 9]))])),
        declaring(&batch(vec![("k", ints([7, 1]))])),
    ];
    let merged = try_merge(&files, &MergeSpec::default(), 0).unwrap();
    assert_eq!(values(&merged.column("k")), [5, 9, 7, 1], "input order");
    assert!(merged.report.sorted_by.is_empty());
    assert!(merged.report.outputs[0].keys.is_none());
    let facts = inspect(&input(merged.files[0].clone()), &Asked::default()).unwrap();
    assert!(
        facts.declared_sort.is_empty(),
        "no order is claimed in the file either"
    );
}

#[test]
fn many_inputs_with_little_memory_are_laid_on_disk_with_the_same_result() {
    let batches: Vec<RecordBatch> = (0..60)
        .map(|file| {
            let keys = (0..4_000).map(|row| row * 61 + file);
            let text = (0..4_000)
                .map(|row| format!("{file}:{row} {}", "x".repeat(90)))
                .collect::<Vec<_>>();
            batch(vec![
                ("k", ints(keys)),
                ("text", strings(text.iter().map(String::as_str))),
            ])
        })
        .collect();
    let files = inputs(&batches);
    let roomy = try_merge(&files, &sorted_by(&["k"]), 512 << 20).unwrap();
    let tight = try_merge(&files, &sorted_by(&["k"]), 0).unwrap();
    assert_eq!(roomy.report.spilled_bytes, 0);
    assert!(tight.report.spilled_bytes > 0);
    assert_eq!(roomy.rows(), tight.rows());
    assert_eq!(roomy.rows(), sort_naively(&batches, &sorted_by(&["k"]).sort));
}

#[test]
fn files_that_follow_each_other_are_merged_in_one_round_whatever_their_number() {
    let batches: Vec<RecordBatch> = (0..200)
        .map(|file| {
            let text = (0..1000)
                .map(|row| format!("{file}:{row}:{}", "y".repeat(100)))
                .collect::<Vec<_>>();
            batch(vec![
                ("k", ints(file * 1000..(file + 1) * 1000)),
                ("t", strings(text.iter().map(String::as_str))),
            ])
        })
        .rev()
        .collect();
    let merged = try_merge(&inputs(&batches), &sorted_by(&["k"]), 0).unwrap();
    assert_eq!(values(&merged.column("k")), (0..200_000).collect::<Vec<_>>());
}

#[test]
fn nan_is_one_value_after_all_numbers() {
    let odd_nan = f64::from_bits(0xFFF8_0000_0000_0001);
    let floats =
        |values: Vec<Option<f64>>| batch(vec![("f", Arc::new(Float64Array::from(values)) as ArrayRef)]);
    let batches = [
        floats(vec![Some(odd_nan), Some(1.0), None]),
        floats(vec![Some(f64::NAN), Some(-0.0), Some(0.0)]),
    ];
    let merged = merged(&batches, &sorted_by(&["f"]));
    let column = merged.column("f");
    let floats = column.as_primitive::<arrow::datatypes::Float64Type>();
    assert!(floats.is_null(0));
    assert_eq!(floats.value(1).to_bits(), (-0.0f64).to_bits());
    assert_eq!(floats.value(2).to_bits(), 0.0f64.to_bits());
    assert_eq!(floats.value(3), 1.0);
    assert_eq!(
        floats.value(4).to_bits(),
        odd_nan.to_bits(),
        "bits are kept, in input order"
    );
    assert!(floats.value(5).is_nan());
}

#[test]
fn a_key_that_no_input_has_is_refused_with_advice() {
    let why = try_merge(&inputs(&[batch(vec![("a", ints([1]))])]), &sorted_by(&["b"]), 0)
        .err()
        .unwrap();
    assert!(
        matches!(&why, MergeError::Spec(text) if text.contains("column b")),
        "{why}"
    );
}

#[test]
fn a_merge_that_is_cancelled_stops_with_nothing() {
    struct Stop;
    impl Progress for Stop {
        fn advanced(&self, _: u64, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    let files = inputs(&[batch(vec![("a", ints([1]))])]);
    let mut sink = MemorySink::default();
    let result = merge(
        &files,
        &sorted_by(&["a"]),
        Budget::default(),
        "/nowhere".as_ref(),
        &mut sink,
        &Stop,
    );
    assert!(matches!(result, Err(MergeError::Cancelled)));
}

#[test]
fn inputs_without_rows_give_no_outputs() {
    let empty = batch(vec![("k", ints([]))]);
    let merged = try_merge(&inputs(&[empty.clone(), empty]), &sorted_by(&["k"]), 0).unwrap();
    assert!(merged.files.is_empty());
    assert_eq!(merged.report.inputs.len(), 2);
}

/// Files whose dictionaries are small, and too many words when taken together.
fn wordy(file: i64, sorted: bool) -> RecordBatch {
    let rows = 8_000;
    let words: Vec<String> = (0..rows)
        .map(|row| format!("w{}", file * 3_500 + row % 3_500))
        .collect();
    let key = |row: i64| {
        if sorted {
            row * 31 + file
        } else {
            row * 7_919 % rows
        }
    };
    batch(vec![
        ("k", ints((0..rows).map(key))),
        ("word", strings(words.iter().map(String::as_str))),
        (
            "few",
            strings((0..rows).map(|row| ["a", "b", "c"][(row % 3) as usize])),
        ),
    ])
}

#[test]
fn a_dictionary_that_grows_too_large_is_given_up_and_no_word_is_lost() {
    for sorted in [true, false] {
        let batches: Vec<RecordBatch> = (0..30).map(|file| wordy(file, sorted)).collect();
        for (memory_bytes, threads) in [(0, 1), (256 << 20, 3)] {
            let budget = Budget {
                memory_bytes,
                threads,
            };
            let merged = try_merge_within(&inputs(&batches), &sorted_by(&["k"]), budget).unwrap();
            assert_eq!(merged.rows(), sort_naively(&batches, &sorted_by(&["k"]).sort));
        }
    }
}

#[test]
fn a_thousand_inputs_are_merged_within_a_small_budget() {
    let files = 1_000;
    let batches: Vec<RecordBatch> = (0..files)
        .map(|file| batch(vec![("k", ints((0..40).map(|row| row * files + file)))]))
        .collect();
    let merged = try_merge(&inputs(&batches), &sorted_by(&["k"]), 0).unwrap();
    assert_eq!(values(&merged.column("k")), (0..40 * files).collect::<Vec<_>>());
}
