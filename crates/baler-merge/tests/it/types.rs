//! Every type that Parquet and Arrow share goes in and comes out unchanged, whether or not it is spilled on the way.

use crate::support::*;
use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::*;
use baler_merge::*;
use std::sync::Arc;

fn nested() -> Vec<(&'static str, ArrayRef)> {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
        Some(vec![Some(4)]),
    ]);
    let mut of_lists = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for row in 0..4 {
        for _ in 0..row {
            of_lists.values().values().append_value(format!("v{row}"));
            of_lists.values().append(true);
        }
        of_lists.append(row != 2);
    }
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for row in 0..4 {
        for entry in 0..row {
            map.keys().append_value(format!("k{entry}"));
            map.values().append_option((entry % 2 == 0).then_some(row));
        }
        map.append(row != 1).unwrap();
    }
    let field = |name: &str, data_type: DataType| Arc::new(Field::new(name, data_type, true));
    let structure = StructArray::try_new(
        vec![field("x", DataType::Int64), field("l", lists.data_type().clone())].into(),
        vec![ints([1, 2, 3, 4]), Arc::new(lists.clone())],
        Some(NullBuffer::from(vec![true, false, true, true])),
    );
    vec![
        ("list", Arc::new(lists)),
        ("list_of_lists", Arc::new(of_lists.finish())),
        ("map", Arc::new(map.finish())),
        ("struct", Arc::new(structure.unwrap())),
    ]
}

fn flat() -> Vec<(&'static str, ArrayRef)> {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(3), None, Some(1), Some(2)]));
    let to = |data_type: DataType| cast(&numbers, &data_type).unwrap();
    let small: ArrayRef = Arc::new(Int32Array::from(vec![Some(3), None, Some(1), Some(2)]));
    vec![
        ("bool", to(DataType::Boolean)),
        ("i8", to(DataType::Int8)),
        ("u16", to(DataType::UInt16)),
        ("u64", to(DataType::UInt64)),
        ("f16", to(DataType::Float16)),
        ("f32", to(DataType::Float32)),
        ("date32", cast(&small, &DataType::Date32).unwrap()),
        ("date64", to(DataType::Date64)),
        (
            "time32",
            cast(&small, &DataType::Time32(TimeUnit::Millisecond)).unwrap(),
        ),
        ("time64", to(DataType::Time64(TimeUnit::Nanosecond))),
        ("ts_s", to(DataType::Timestamp(TimeUnit::Second, None))),
        (
            "ts_zone",
            to(DataType::Timestamp(
                TimeUnit::Microsecond,
                Some("Europe/Berlin".into()),
            )),
        ),
        ("duration", to(DataType::Duration(TimeUnit::Millisecond))),
        ("decimal32", to(DataType::Decimal32(9, 2))),
        ("decimal64", to(DataType::Decimal64(18, 2))),
        ("decimal128", to(DataType::Decimal128(38, 10))),
        ("decimal256", to(DataType::Decimal256(76, 20))),
        ("large", to(DataType::LargeUtf8)),
        ("text", to(DataType::Utf8)),
        (
            "binary",
            Arc::new(BinaryArray::from(vec![
                Some(&b"\0\xFF"[..]),
                None,
                Some(b""),
                Some(b"a"),
            ])),
        ),
        (
            "fixed",
            Arc::new(FixedSizeBinaryArray::try_from_iter([[1u8, 2], [0, 0], [3, 4], [9, 9]].iter()).unwrap()),
        ),
        ("nothing", new_null_array(&DataType::Int32, 4)),
    ]
}

#[test]
fn all_types_come_back_as_they_were() {
    let mut columns = vec![("k", ints([4, 3, 2, 1]))];
    columns.extend(flat());
    columns.extend(nested());
    let rows = batch(columns);
    let rows = concat_batches(&rows.schema(), std::iter::repeat_n(&rows, 2_500)).unwrap();
    let files = vec![rows; 3];
    let spec = sorted_by(&["k"]);
    let merged = try_merge(&inputs(&files), &spec, 0).unwrap();
    assert!(
        merged.report.spilled_bytes > 0,
        "too much for memory, so it was laid on disk"
    );
    let expected = sort_naively(&files, &spec.sort);
    let found = merged.rows();
    for (field, column) in expected.schema().fields().iter().zip(expected.columns()) {
        assert_eq!(
            found.column_by_name(field.name()).unwrap(),
            column,
            "{}",
            field.name()
        );
    }
}

#[test]
fn dictionaries_and_views_come_back_as_their_values() {
    let text = strings(["a", "b", "a"]);
    let dictionary = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    let rows = batch(vec![
        ("d", cast(&text, &dictionary).unwrap()),
        ("v", cast(&text, &DataType::Utf8View).unwrap()),
    ]);
    let merged = merged(&[rows], &sorted_by(&["d"]));
    assert_eq!(merged.column("d").as_ref(), strings(["a", "a", "b"]).as_ref());
    assert_eq!(merged.column("v").as_ref(), strings(["a", "a", "b"]).as_ref());
}

#[test]
fn every_orderable_type_sorts_in_every_direction() {
    for (name, column) in flat() {
        for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let rows = batch(vec![(name, column.clone()), ("id", ints([0, 1, 2, 3]))]);
            let sort = vec![SortColumn {
                name: name.into(),
                descending,
                nulls_first,
            }];
            let spec = MergeSpec {
                sort: sort.clone(),
                ..MergeSpec::default()
            };
            let merged = merged(&[rows.clone(), rows.clone()], &spec);
            let expected = sort_naively(&[rows.clone(), rows], &sort);
            assert_eq!(
                merged.column("id").as_ref(),
                expected.column(1).as_ref(),
                "{name} {descending} {nulls_first}"
            );
            assert!(merged.report.outputs[0].keys.is_some(), "{name} has a key range");
            let facts = inspect(&input(merged.files[0].clone()), &by(&sort)).unwrap();
            if let (Some(loose), Some(exact)) = (facts.keys, &merged.report.outputs[0].keys) {
                assert!(
                    loose.min <= exact.min && exact.max <= loose.max,
                    "{name} {descending} {nulls_first}"
                );
            }
        }
    }
}

#[test]
fn lists_have_no_order_to_sort_by() {
    let why = try_merge(&inputs(&[batch(nested())]), &sorted_by(&["list"]), 0).err();
    assert!(matches!(why, Some(MergeError::Spec(_))));
}
