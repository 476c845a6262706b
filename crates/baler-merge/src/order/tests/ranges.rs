//! Every key lies in exactly one range.

use super::super::ranges::*;
use super::super::*;
use super::values::{array, numbers, sorting, types};
use crate::adapt::strict_cast;
use crate::key_range::{KeyRange, encode_row};
use crate::key_span::KeySpan;
use crate::promote::plain;
use crate::spec::SortColumn;
use arrow::array::*;
use arrow::datatypes::*;
use proptest::prelude::*;
use std::sync::Arc;

/// Types whose keys have an encoding.
fn any_type() -> impl Strategy<Value = DataType> {
    let types = types()
        .into_iter()
        .filter(|of_type| !matches!(of_type, DataType::Interval(_)));
    prop::sample::select(types.collect::<Vec<_>>())
}

const ROWS: usize = 40;

/// Bounds as a footer would give them.
fn bounds(columns: &[ArrayRef], rows: std::ops::Range<usize>, sort: &[SortColumn]) -> Option<KeyRange> {
    let bound = |row| encode_row(columns, row, sort).unwrap();
    Some(KeyRange {
        min: rows.clone().map(|row| bound(row).min()).min()?,
        max: rows.map(|row| bound(row).max()).max()?,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]
    #[test]
    fn any_cut_puts_every_row_into_exactly_one_range(
        types in (any_type(), any_type()),
        values in (numbers(ROWS), numbers(ROWS)),
        sort in (sorting("a"), sorting("b")),
        two in any::<bool>(),
        groups in prop::collection::vec((1..ROWS, 0..1000u64, prop::bool::weighted(0.9)), 1..6),
        ranges in 1..9usize,
    ) {
        let columns: Vec<ArrayRef> = [(&types.0, &values.0), (&types.1, &values.1)][..1 + usize::from(two)]
            .iter()
            .map(|(of_type, values)| strict_cast(&array(of_type, values), &plain(of_type)).unwrap())
            .collect();
        let sort = &[sort.0, sort.1][..columns.len()];
        // Row groups of some length, one after the other; some tell nothing.
        let mut weights = Vec::new();
        let mut start = 0;
        for (rows, bytes, known) in groups {
            let end = ROWS.min(start + rows);
            weights.push((start..end, Weight { range: bounds(&columns, start..end, sort).filter(|_| known), bytes }));
            start = end;
        }
        let spans = cut(&weights.iter().map(|(_, weight)| weight.clone()).collect::<Vec<_>>(), ranges);
        prop_assert!(spans.len() <= ranges);
        let masks: Vec<_> = spans.iter()
            .map(|span| RangeFilter::new(span.clone(), sort).rows(&columns, ROWS).unwrap())
            .collect();
        let mut of_row = Vec::new();
        for row in 0..ROWS {
            let inside: Vec<usize> = (0..spans.len()).filter(|span| masks[*span].value(row)).collect();
            prop_assert_eq!(inside.len(), 1, "row {}", row);
            of_row.push(inside[0]);
        }
        // One range after the other is the order of all; no key lies in two.
        let mut observed = Observed::new(&schema(&columns), sort, None).unwrap();
        observed.add(&columns).unwrap();
        let keys = observed.decide().unwrap().pack(&columns).unwrap();
        let order = sort_order(&keys);
        prop_assert!(order.is_sorted_by_key(|row| of_row[*row as usize]));
        for pair in order.windows(2) {
            let (a, b) = (pair[0] as usize, pair[1] as usize);
            prop_assert!(of_row[a] == of_row[b] || keys.compare(a, &keys, b).unwrap().is_lt());
        }
        // Rows that are sorted are found by halving, and are the same rows.
        let picks = UInt32Array::from(order.clone());
        let sorted: Vec<ArrayRef> = columns.iter().map(|c| arrow::compute::take(c, &picks, None).unwrap()).collect();
        for (number, span) in spans.iter().enumerate() {
            let found = RangeFilter::new(span.clone(), sort).sorted_rows(&sorted, ROWS).unwrap();
            let expected: Vec<usize> = (0..ROWS).filter(|at| of_row[order[*at] as usize] == number).collect();
            prop_assert_eq!(found.set_indices().collect::<Vec<_>>(), expected);
        }
        // A row group is met by every range that holds a row of it.
        for (rows, weight) in &weights {
            let Some(range) = &weight.range else { continue };
            for row in rows.clone() {
                prop_assert!(spans[of_row[row]].meets(range));
            }
        }
    }
}

fn schema(columns: &[ArrayRef]) -> Schema {
    let fields = columns.iter().zip(["a", "b"]);
    Schema::new(
        fields
            .map(|(column, name)| Field::new(name, column.data_type().clone(), true))
            .collect::<Vec<_>>(),
    )
}

fn sizes(weights: &[Weight], rows: &[ArrayRef], ranges: usize) -> Vec<usize> {
    let sort = [SortColumn::ascending("a")];
    cut(weights, ranges)
        .into_iter()
        .map(|span| {
            RangeFilter::new(span, &sort)
                .rows(rows, rows[0].len())
                .unwrap()
                .count_set_bits()
        })
        .collect()
}

fn spread(from: i64, until: i64, bytes: u64) -> Weight {
    let columns = [array(&DataType::Int64, &[Some(from), Some(until)])];
    let range = bounds(&columns, 0..2, &[SortColumn::ascending("a")]);
    Weight { range, bytes }
}

#[test]
fn row_groups_that_all_cover_everything_are_still_cut_evenly() {
    let weights = vec![spread(0, 999, 100); 50];
    let rows = [array(&DataType::Int64, &(0..1000).map(Some).collect::<Vec<_>>())];
    for size in sizes(&weights, &rows, 8) {
        assert!((120..=130).contains(&size), "{size}");
    }
}

#[test]
fn ranges_are_balanced_by_bytes_not_by_keys() {
    let weights = [spread(0, 99, 900), spread(100, 999, 100)];
    let rows = [array(&DataType::Int64, &(0..1000).map(Some).collect::<Vec<_>>())];
    let sizes = sizes(&weights, &rows, 2);
    assert!((50..=60).contains(&sizes[0]), "{sizes:?}");
}

#[test]
fn bounds_of_narrow_and_wide_columns_cut_the_same_keys() {
    let sort = [SortColumn::ascending("a")];
    let values: Vec<Option<i64>> = (-50..50).map(Some).collect();
    let (narrow, wide) = (
        [array(&DataType::Int8, &values)],
        [array(&DataType::Int64, &values)],
    );
    let weights = |columns: &[ArrayRef]| {
        vec![Weight {
            range: bounds(columns, 0..100, &sort),
            bytes: 9,
        }]
    };
    assert_eq!(cut(&weights(&narrow), 4), cut(&weights(&wide), 4));
    assert_eq!(cut(&weights(&narrow), 4).len(), 4);
}

#[test]
fn one_key_or_no_statistics_cannot_be_cut() {
    let unknown = Weight {
        range: None,
        bytes: 5,
    };
    for weights in [vec![], vec![unknown], vec![spread(7, 7, 10); 3]] {
        assert_eq!(cut(&weights, 4), [KeySpan::ALL]);
    }
}

#[test]
fn two_keys_are_parted_and_each_stays_whole() {
    let rows = [array(&DataType::Int64, &[Some(7), Some(8), Some(8), Some(7)])];
    assert_eq!(sizes(&[spread(7, 7, 10), spread(8, 8, 10)], &rows, 2), [2, 2]);
}

/// A string that was cut at its bound is longer than its bound, and so greater than one that ends there.
#[test]
fn long_strings_are_told_apart_from_the_bounds_that_they_were_cut_to() {
    let sort = [SortColumn::ascending("a")];
    let texts = ["x".repeat(64), "x".repeat(65), "y".into()];
    let rows: [ArrayRef; 1] = [Arc::new(StringArray::from_iter_values(&texts))];
    // The edge is the whole key of the first.
    let edge = encode_row(&rows, 0, &sort).unwrap().min();
    let behind = KeySpan {
        from: Some(edge),
        until: None,
    };
    let inside = RangeFilter::new(behind, &sort).rows(&rows, 3).unwrap();
    assert_eq!(inside.count_set_bits(), 3);
}
