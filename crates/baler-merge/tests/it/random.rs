//! Random tables in random pieces against the naive way.

use crate::support::*;
use arrow::array::*;
use baler_merge::*;
use proptest::prelude::*;
use std::sync::Arc;

type Row = (Option<i32>, Option<String>, Option<u8>, bool);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let text = prop::option::weighted(0.9, "[a-c\u{0}é]{0,6}");
    prop::collection::vec(
        (
            prop::option::of(-4..4i32),
            text,
            prop::option::of(0..3u8),
            any::<bool>(),
        ),
        0..80,
    )
}

fn table(rows: &[Row]) -> RecordBatch {
    let tags = rows.iter().map(|row| {
        row.2
            .map(|count| (0..count).map(|n| Some(i32::from(n))).collect::<Vec<_>>())
    });
    batch(vec![
        (
            "a",
            Arc::new(rows.iter().map(|row| row.0).collect::<Int32Array>()) as ArrayRef,
        ),
        (
            "s",
            Arc::new(rows.iter().map(|row| row.1.as_deref()).collect::<StringArray>()),
        ),
        (
            "tags",
            Arc::new(ListArray::from_iter_primitive::<arrow::datatypes::Int32Type, _, _>(tags)),
        ),
        (
            "flag",
            Arc::new(rows.iter().map(|row| Some(row.3)).collect::<BooleanArray>()),
        ),
    ])
}

fn sort_column(name: &'static str) -> impl Strategy<Value = SortColumn> {
    (any::<bool>(), any::<bool>()).prop_map(move |(descending, nulls_first)| SortColumn {
        name: name.into(),
        descending,
        nulls_first,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn merged_is_what_a_stable_sort_of_everything_gives(
        files in prop::collection::vec(rows(), 1..7),
        by_a in sort_column("a"),
        by_s in sort_column("s"),
        presorted in prop::collection::vec(any::<bool>(), 7),
        target in 500u64..20_000,
        threads in 1usize..4,
        memory_bytes in prop::sample::select(vec![0u64, 64 << 20]),
    ) {
        let sort = vec![by_a, by_s];
        let batches: Vec<RecordBatch> = files.iter().zip(presorted).map(|(rows, presorted)| {
            let rows = table(rows);
            if presorted { sort_naively(&[rows], &sort) } else { rows }
        }).collect();
        let spec = MergeSpec { sort: sort.clone(), target_file_bytes: target, row_group_rows: 50, ..MergeSpec::default() };
        let budget = Budget { memory_bytes, threads };
        let merged = try_merge_within(&inputs(&batches), &spec, budget).unwrap();
        let expected = sort_naively(&batches, &sort);
        if merged.files.is_empty() {
            prop_assert_eq!(expected.num_rows(), 0);
        } else {
            prop_assert_eq!(merged.rows(), expected);
        }
    }

    #[test]
    fn without_a_key_merged_is_everything_in_input_order(files in prop::collection::vec(rows(), 1..5)) {
        let batches: Vec<RecordBatch> = files.iter().map(|rows| table(rows)).collect();
        let merged = try_merge(&inputs(&batches), &MergeSpec::default(), 0).unwrap();
        let all = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
        prop_assert_eq!(merged.files.is_empty(), all.num_rows() == 0);
        if !merged.files.is_empty() {
            prop_assert_eq!(merged.rows(), all);
        }
    }
}
