//! Arrays of any type from plain numbers, so that one strategy serves all types.

use crate::spec::SortColumn;
use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::*;
use proptest::prelude::*;
use std::sync::Arc;

/// Types that a key can have.
pub(super) fn types() -> Vec<DataType> {
    use DataType::*;
    vec![
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Date32,
        Date64,
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Nanosecond),
        Timestamp(TimeUnit::Second, None),
        Timestamp(TimeUnit::Millisecond, None),
        Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Timestamp(TimeUnit::Nanosecond, Some("Europe/Oslo".into())),
        Duration(TimeUnit::Microsecond),
        Decimal32(9, 2),
        Decimal64(18, 3),
        Decimal128(38, 5),
        Decimal256(76, 5),
        Float16,
        Float32,
        Float64,
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        LargeBinary,
        BinaryView,
        FixedSizeBinary(8),
        Dictionary(Box::new(Int32), Box::new(Utf8)),
        Null,
        Interval(IntervalUnit::MonthDayNano),
    ]
}

/// An array of a type, a value for each number. Equal numbers make equal values, and no others need to differ.
pub(super) fn array(data_type: &DataType, numbers: &[Option<i64>]) -> ArrayRef {
    use DataType::*;
    let whole = |fit: fn(i64) -> i64| -> ArrayRef {
        let fitted: Int64Array = numbers.iter().map(|number| number.map(fit)).collect();
        Arc::new(fitted)
    };
    // A column that stores these integers under another name.
    let stored = |integers: ArrayRef| {
        let data = integers.to_data().into_builder().data_type(data_type.clone());
        make_array(data.build().expect("the same layout"))
    };
    let plain = |integers: ArrayRef, to: &DataType| cast(&integers, to).expect("it fits");
    match data_type {
        Boolean => plain(whole(|n| n & 1), &Boolean),
        Int8 => plain(whole(|n| (n as i8).into()), &Int8),
        Int16 => plain(whole(|n| (n as i16).into()), &Int16),
        Int32 => plain(whole(|n| (n as i32).into()), &Int32),
        Int64 => whole(|n| n),
        UInt8 => plain(whole(|n| (n as u8).into()), &UInt8),
        UInt16 => plain(whole(|n| (n as u16).into()), &UInt16),
        UInt32 => plain(whole(|n| (n as u32).into()), &UInt32),
        UInt64 => Arc::new(UInt64Array::from_iter(
            numbers.iter().map(|n| n.map(|n| n as u64)),
        )),
        Date32 | Time32(_) | Decimal32(_, _) => stored(plain(whole(|n| (n as i32).into()), &Int32)),
        Date64 | Time64(_) | Timestamp(_, _) | Duration(_) | Decimal64(_, _) => stored(whole(|n| n)),
        Decimal128(_, _) => {
            let wide = numbers.iter().map(|n| n.map(|n| i128::from(n) * 12_345_678_901));
            stored(Arc::new(Decimal128Array::from_iter(wide)))
        }
        Decimal256(_, _) => {
            let wide = numbers.iter().map(|n| n.map(|n| i256::from_i128(n.into())));
            stored(Arc::new(Decimal256Array::from_iter(wide)))
        }
        Float16 | Float32 | Float64 => {
            let floats: Float64Array = numbers.iter().map(|n| n.map(float)).collect();
            let floats: ArrayRef = Arc::new(floats);
            plain(floats, data_type)
        }
        FixedSizeBinary(size) => {
            let bytes = numbers.iter().map(|n| n.map(|n| n.to_be_bytes()));
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, *size);
            Arc::new(array.expect("eight bytes each"))
        }
        Binary | LargeBinary | BinaryView => {
            let bytes: BinaryArray = numbers.iter().map(|n| n.map(binary)).collect();
            let bytes: ArrayRef = Arc::new(bytes);
            plain(bytes, data_type)
        }
        Null => new_null_array(&Null, numbers.len()),
        Interval(_) => {
            let parts = numbers
                .iter()
                .map(|n| n.map(|n| IntervalMonthDayNano::new(n as i32, 0, n)));
            Arc::new(IntervalMonthDayNanoArray::from_iter(parts))
        }
        strings => {
            let texts: StringArray = numbers.iter().map(|n| n.map(text)).collect();
            let texts: ArrayRef = Arc::new(texts);
            plain(texts, strings)
        }
    }
}

/// Numbers with the odd ones among them.
fn float(number: i64) -> f64 {
    match number.rem_euclid(11) {
        0 => 0.0,
        1 => -0.0,
        2 => f64::NAN,
        3 => -f64::NAN,
        4 => f64::INFINITY,
        5 => f64::NEG_INFINITY,
        _ => number as f64 / 3.0,
    }
}

/// Texts of many lengths with common beginnings and zeros at the end.
fn text(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    match number.rem_euclid(7) {
        0 => String::new(),
        1 => "\0".repeat(number.rem_euclid(4) as usize),
        2 => format!("key-{digits}\0"),
        3 => format!("{:>70}", number.rem_euclid(1000)),
        _ => format!("key-{}", &digits[..digits.len().min(9)]),
    }
}

fn binary(number: i64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    bytes[..number.rem_euclid(9) as usize].to_vec()
}

/// A direction and a place for nulls.
pub(super) fn sorting(name: &'static str) -> impl Strategy<Value = SortColumn> {
    (any::<bool>(), any::<bool>()).prop_map(move |(descending, nulls_first)| SortColumn {
        name: name.into(),
        descending,
        nulls_first,
    })
}

/// Numbers that repeat, spread little, or spread over everything; with nulls or without.
pub(super) fn numbers(rows: usize) -> impl Strategy<Value = Vec<Option<i64>>> {
    let few = prop::collection::vec(prop::option::of(-3..9i64), rows);
    let near = prop::collection::vec((1_000_000..1_000_300i64).prop_map(Some), rows);
    let ends = prop_oneof![
        any::<i64>(),
        Just(i64::MIN),
        Just(i64::MAX),
        Just(0),
        Just(2),
        Just(4)
    ];
    let wide = prop::collection::vec(prop::option::weighted(0.9, ends), rows);
    let full = prop::collection::vec(any::<i64>().prop_map(Some), rows);
    prop_oneof![few, near, wide, full]
}
