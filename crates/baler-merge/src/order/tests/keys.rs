//! Packed keys compare as the rows do.

use super::super::forms::KeyColumn;
use super::super::*;
use super::Blocks;
use super::values::{array, numbers, sorting, types};
use crate::adapt::strict_cast;
use crate::promote::{plain, plain_field};
use crate::sort_key::SortKey;
use crate::spec::{Rule, SortColumn};
use arrow::array::*;
use arrow::compute::take;
use arrow::datatypes::*;
use proptest::prelude::*;
use std::sync::Arc;

fn schema(columns: &[(&str, &DataType)]) -> Schema {
    let field = |(name, data_type): &(&str, &DataType)| Field::new(*name, (*data_type).clone(), true);
    Schema::new(columns.iter().map(field).collect::<Vec<_>>())
}

/// The rows as arrow's row format has them, through the sort key.
fn reference(schema: &Schema, sort: &[SortColumn], columns: &[ArrayRef]) -> arrow::row::Rows {
    let fields: Vec<_> = schema.fields().iter().map(plain_field).collect();
    let key = SortKey::new(&Schema::new(fields), sort.to_vec(), &Rule::KeepAll).unwrap();
    let columns: Vec<ArrayRef> = columns
        .iter()
        .map(|column| strict_cast(column, &plain(column.data_type())).unwrap())
        .collect();
    key.keys_of(&columns).unwrap()
}

fn sliced(columns: &[ArrayRef], start: usize, rows: usize) -> Vec<ArrayRef> {
    columns.iter().map(|column| column.slice(start, rows)).collect()
}

fn any_type() -> impl Strategy<Value = DataType> {
    prop::sample::select(types())
}

const ROWS: usize = 24;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn packed_keys_of_any_types_compare_as_rows_do(
        types in (any_type(), any_type()),
        values in (numbers(ROWS), numbers(ROWS)),
        sort in (sorting("a"), sorting("b")),
        two in any::<bool>(),
        cut in 0..=ROWS,
    ) {
        let columns = [array(&types.0, &values.0), array(&types.1, &values.1)];
        let columns = &columns[..1 + usize::from(two)];
        let sort = &[sort.0, sort.1][..columns.len()];
        let schema = schema(&[("a", &types.0), ("b", &types.1)]);
        // Two batches, seen by two threads.
        let mut observed = Observed::new(&schema, sort, Some(1)).unwrap();
        let mut other = observed.clone();
        let batches = [sliced(columns, 0, cut), sliced(columns, cut, ROWS - cut)];
        observed.add(&batches[0]).unwrap();
        other.add(&batches[1]).unwrap();
        observed.join(other);
        let layout = observed.decide().unwrap();
        let packed = batches.map(|batch| layout.pack(&batch).unwrap());
        let at = |row: usize| if row < cut { (&packed[0], row) } else { (&packed[1], row - cut) };
        let rows = reference(&schema, sort, columns);
        let groups = reference(&schema, &sort[..1], &columns[..1]);
        for a in 0..ROWS {
            for b in 0..ROWS {
                let ((keys, row), (others, other)) = (at(a), at(b));
                let order = keys.compare(row, others, other).unwrap();
                prop_assert_eq!(order, rows.row(a).data().cmp(rows.row(b).data()), "rows {} and {}", a, b);
                let same = same_group(&layout, keys.slice(row, 1), others.slice(other, 1));
                prop_assert_eq!(same, groups.row(a) == groups.row(b), "groups of {} and {}", a, b);
            }
        }
    }

    #[test]
    fn rows_in_no_order_are_sorted_and_equal_ones_stay_as_they_lie(
        of_type in any_type(), values in numbers(ROWS), sort in sorting("a"),
    ) {
        let column = [array(&of_type, &values)];
        let (layout, keys) = packed(&schema(&[("a", &of_type)]), &[sort], &column);
        let order = sort_order(&keys);
        let mut expected: Vec<u32> = (0..ROWS as u32).collect();
        expected.sort_by(|a, b| keys.compare(*a as usize, &keys, *b as usize).unwrap());
        prop_assert_eq!(&order, &expected);
        let sorted = [take(&column[0], &UInt32Array::from(order), None).unwrap()];
        prop_assert!(descents(&layout.pack(&sorted).unwrap()).is_empty());
        for row in 1..ROWS {
            let falls = keys.compare(row, &keys, row - 1).unwrap().is_lt();
            prop_assert_eq!(descents(&keys).contains(&row), falls);
        }
    }
}

/// Whether two rows are merged as one key: of two versions of one key one is dropped.
fn same_group(layout: &Layout, a: Keys, b: Keys) -> bool {
    let lane = |keys: Keys| -> Box<dyn KeyLane> {
        let versions = Some(Keys::Short(vec![0].into()));
        let rows = KeyBlock {
            keys,
            versions,
            ordinals: None,
        };
        Box::new(Blocks::new(rows, 1))
    };
    let mut merger = Merger::new(layout, vec![lane(a), lane(b)]).unwrap();
    merger.next_window(2).unwrap().unwrap().kept() == 1
}

fn packed(schema: &Schema, sort: &[SortColumn], columns: &[ArrayRef]) -> (Layout, Keys) {
    let mut observed = Observed::new(schema, sort, None).unwrap();
    observed.add(columns).unwrap();
    let layout = observed.decide().unwrap();
    let keys = layout.pack(columns).unwrap();
    (layout, keys)
}

fn key_bytes(columns: &[ArrayRef]) -> Option<usize> {
    let names = ["a", "b"];
    let fields: Vec<_> = columns
        .iter()
        .zip(names)
        .map(|(c, name)| (name, c.data_type()))
        .collect();
    let sort: Vec<_> = names[..columns.len()]
        .iter()
        .map(|name| SortColumn::ascending(*name))
        .collect();
    packed(&schema(&fields), &sort, columns).0.key_bytes()
}

fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn keys_take_no_more_bits_than_their_values_need() {
    let ends: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX]));
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![i64::MAX, i64::MIN]));
    assert_eq!(key_bytes(&[Arc::clone(&ends)]), Some(8));
    assert_eq!(key_bytes(&[Arc::clone(&ends), Arc::clone(&times)]), Some(16));
    let holes: ArrayRef = Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None]));
    assert_eq!(key_bytes(&[Arc::clone(&holes)]), Some(16));
    // A null has no bit left.
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![i64::MAX, i64::MIN, 0]));
    assert_eq!(key_bytes(&[holes, times]), None);
    // 20 bits and 44.
    let series: ArrayRef = Arc::new(Int64Array::from(vec![7 << 40, (7 << 40) + (1 << 20) - 1]));
    let millis: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![0, (1 << 44) - 1]));
    assert_eq!(key_bytes(&[series, millis]), Some(8));
}

#[test]
fn short_strings_are_packed_and_long_ones_are_not() {
    assert_eq!(key_bytes(&[strings(&["b23456789012345", "", "c"])]), Some(16));
    assert_eq!(key_bytes(&[strings(&["b234567890123456", "", "c"])]), None);
    assert_eq!(
        key_bytes(&[strings(&["b234567890123456", "c234567890123456"])]),
        Some(16)
    );
    // Only what follows the common beginning counts.
    assert_eq!(key_bytes(&[strings(&["000001234567", "000007654321"])]), Some(8));
    assert_eq!(
        key_bytes(&[strings(&["a common beginning, 1", "a common beginning, 20"])]),
        Some(8)
    );
}

#[test]
fn what_all_long_keys_begin_with_takes_no_room_in_their_heads() {
    let key = |number: u32| format!("https://example.com/accounts/{number:012}/profile/of/the/owner");
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..500).map(key)));
    let (_, keys) = packed(
        &schema(&[("a", &DataType::Utf8)]),
        &[SortColumn::ascending("a")],
        &[texts],
    );
    let Keys::Headed(keys) = keys else {
        panic!("keys of {} bytes have heads", key(0).len());
    };
    assert!(keys.heads().is_sorted_by(|a, b| a < b));
}

#[test]
fn a_key_that_was_not_observed_is_never_packed_wrongly() {
    let of_type = DataType::Utf8;
    let schema = schema(&[("a", &of_type)]);
    let (layout, _) = packed(
        &schema,
        &[SortColumn::ascending("a")],
        &[strings(&["key-10", "key-99"])],
    );
    for stray in ["key-1", "key-100", "kex-10"] {
        assert!(layout.pack(&[strings(&[stray])]).is_err(), "{stray}");
    }
    assert!(
        layout
            .pack(&[Arc::new(StringArray::from(vec![None::<&str>]))])
            .is_err()
    );
    let (layout, _) = packed(
        &schema,
        &[SortColumn::ascending("a")],
        &[strings(&[
            "a key of more than sixteen bytes, and that is a long one",
            "a key of more than sixteen bytes, but this is a longer one",
        ])],
    );
    assert!(layout.pack(&[strings(&["b"])]).is_err());
    let of_type = DataType::Int64;
    let schema = self::schema(&[("a", &of_type)]);
    let number = |value: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![value])) };
    let (layout, _) = packed(&schema, &[SortColumn::ascending("a")], &[number(5)]);
    assert!(layout.pack(&[number(4)]).is_err() && layout.pack(&[number(6)]).is_err());
}
