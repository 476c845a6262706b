//! A column of every type that Parquet has, of any length: values at the edges, nulls at each level, empty lists.

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::*;
use std::sync::Arc;

/// Every seventh row is null.
fn present(row: usize) -> bool {
    row % 7 != 3
}

fn numbers<T: ArrowPrimitiveType>(rows: usize, value: impl Fn(usize) -> T::Native) -> PrimitiveArray<T> {
    (0..rows).map(|row| present(row).then(|| value(row))).collect()
}

/// Numbers that come again, so that dictionaries are worth their while, with the least and the greatest among them.
fn spread(row: usize, least: i128, greatest: i128) -> i128 {
    match row % 11 {
        0 => least,
        1 => greatest,
        2 => 0,
        step => (least / 13).wrapping_add(step as i128 * ((greatest / 17) - (least / 19))),
    }
}

/// Columns that have an order.
pub(crate) fn orderable(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let mut columns = whole_numbers(rows);
    columns.extend(fractions(rows));
    columns.extend(decimals(rows));
    columns.extend(times(rows));
    columns.extend(texts(rows));
    columns
}

/// Columns of every type, those without an order included.
pub(crate) fn all(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let mut columns = orderable(rows);
    columns.push(("nothing", new_null_array(&DataType::Int32, rows)));
    columns.push(("nothing_at_all", Arc::new(NullArray::new(rows))));
    columns.extend(nested(rows));
    columns
}

/// Columns that readers outside Rust may not know.
pub(crate) fn intervals(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    vec![
        (
            "months",
            Arc::new(numbers::<IntervalYearMonthType>(rows, |row| row as i32 % 50)) as ArrayRef,
        ),
        (
            "day_time",
            Arc::new(numbers::<IntervalDayTimeType>(rows, |row| {
                IntervalDayTimeType::make_value(row as i32 % 9, row as i32 % 1_000)
            })),
        ),
    ]
}

fn whole_numbers(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    macro_rules! whole {
        ($type:ty, $native:ty) => {
            Arc::new(numbers::<$type>(rows, |row| {
                spread(row, <$native>::MIN.into(), <$native>::MAX.into()) as $native
            })) as ArrayRef
        };
    }
    let flags: BooleanArray = (0..rows)
        .map(|row| present(row).then_some(row % 3 == 0))
        .collect();
    vec![
        ("bool", Arc::new(flags) as ArrayRef),
        ("i8", whole!(Int8Type, i8)),
        ("i16", whole!(Int16Type, i16)),
        ("i32", whole!(Int32Type, i32)),
        ("i64", whole!(Int64Type, i64)),
        ("u8", whole!(UInt8Type, u8)),
        ("u16", whole!(UInt16Type, u16)),
        ("u32", whole!(UInt32Type, u32)),
        ("u64", whole!(UInt64Type, u64)),
    ]
}

fn fractions(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let value = |row: usize| match row % 9 {
        0 => f64::NAN,
        1 => -0.0,
        2 => 0.0,
        4 => f64::INFINITY,
        5 => f64::NEG_INFINITY,
        step => step as f64 * 1.5 - 9.0,
    };
    let doubles: ArrayRef = Arc::new(numbers::<Float64Type>(rows, value));
    vec![
        ("f16", cast(&doubles, &DataType::Float16).unwrap()),
        ("f32", cast(&doubles, &DataType::Float32).unwrap()),
        ("f64", doubles),
    ]
}

fn decimals(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    macro_rules! decimal {
        ($type:ty, $digits:expr, $scale:expr, $convert:expr) => {{
            let edge = 10i128.pow(u32::from(u8::min($digits, 38))) - 1;
            let column = numbers::<$type>(rows, |row| $convert(spread(row, -edge, edge)));
            Arc::new(column.with_precision_and_scale($digits, $scale).unwrap()) as ArrayRef
        }};
    }
    vec![
        ("decimal32", decimal!(Decimal32Type, 9, 2, |v| v as i32)),
        ("decimal64", decimal!(Decimal64Type, 18, 4, |v| v as i64)),
        ("decimal128_of_5", decimal!(Decimal128Type, 5, 2, |v| v)),
        ("decimal128_of_12", decimal!(Decimal128Type, 12, 0, |v| v)),
        ("decimal128", decimal!(Decimal128Type, 38, 10, |v| v)),
        ("decimal256", decimal!(Decimal256Type, 76, 20, i256::from_i128)),
    ]
}

fn times(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    macro_rules! moments {
        ($type:ty, $edge:expr) => {
            numbers::<$type>(rows, |row| spread(row, -$edge, $edge) as _)
        };
    }
    macro_rules! clock {
        ($type:ty, $day:expr) => {
            Arc::new(numbers::<$type>(rows, |row| {
                (row as i128 * 7_919 % $day) as _
            })) as ArrayRef
        };
    }
    let day_ms = 86_400_000i128;
    let whole_days = numbers::<Date64Type>(rows, |row| (spread(row, -40_000, 40_000) * day_ms) as i64);
    vec![
        ("date32", Arc::new(moments!(Date32Type, 40_000i128)) as ArrayRef),
        ("date64", Arc::new(whole_days)),
        ("time_s", clock!(Time32SecondType, 86_400)),
        ("time_ms", clock!(Time32MillisecondType, day_ms)),
        ("time_us", clock!(Time64MicrosecondType, day_ms * 1_000)),
        ("time_ns", clock!(Time64NanosecondType, day_ms * 1_000_000)),
        ("ts_s", Arc::new(moments!(TimestampSecondType, 4_000_000_000i128))),
        (
            "ts_ms",
            Arc::new(moments!(TimestampMillisecondType, 4_000_000_000_000i128)),
        ),
        (
            "ts_us",
            Arc::new(moments!(TimestampMicrosecondType, 4_000_000_000_000_000i128)),
        ),
        (
            "ts_ns",
            Arc::new(moments!(TimestampNanosecondType, i128::from(i64::MAX))),
        ),
        (
            "utc_ms",
            Arc::new(moments!(TimestampMillisecondType, 4_000_000_000_000i128).with_timezone("UTC")),
        ),
        (
            "zone_us",
            Arc::new(
                moments!(TimestampMicrosecondType, 4_000_000_000_000i128).with_timezone("Europe/Berlin"),
            ),
        ),
        (
            "offset_ns",
            Arc::new(moments!(TimestampNanosecondType, 1_000i128).with_timezone("+05:30")),
        ),
        (
            "duration",
            Arc::new(moments!(DurationMillisecondType, 1_000_000i128)),
        ),
    ]
}

fn texts(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let words = [
        "",
        "a",
        "b\u{0}",
        "bé",
        "zebra",
        "a rather long name, longer than what views keep inline",
    ];
    let word = |row: usize| present(row).then_some(words[row % 5]);
    let text: ArrayRef = Arc::new((0..rows).map(word).collect::<StringArray>());
    let bytes: ArrayRef = Arc::new(
        (0..rows)
            .map(|row| present(row).then(|| vec![0xFFu8.wrapping_mul(row as u8 % 3); row % 5]))
            .collect::<BinaryArray>(),
    );
    let fixed = (0..rows).map(|row| present(row).then_some([(row % 251) as u8, 0, 0xFF, (row % 3) as u8]));
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 4).unwrap();
    let of_words = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    vec![
        ("text", text.clone()),
        ("large_text", cast(&text, &DataType::LargeUtf8).unwrap()),
        ("text_view", cast(&text, &DataType::Utf8View).unwrap()),
        ("words", cast(&text, &of_words).unwrap()),
        ("binary", bytes.clone()),
        ("large_binary", cast(&bytes, &DataType::LargeBinary).unwrap()),
        ("binary_view", cast(&bytes, &DataType::BinaryView).unwrap()),
        ("fixed", Arc::new(fixed)),
    ]
}

fn item(name: &str, data_type: &DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type.clone(), true))
}

/// A list of 0, 1 or 2 values a row; null where `present` says so.
fn lists(values: impl Fn(usize) -> ArrayRef, rows: usize) -> ListArray {
    let lengths: Vec<usize> = (0..rows)
        .map(|row| if present(row) { row % 3 } else { 0 })
        .collect();
    let values = values(lengths.iter().sum());
    let nulls: NullBuffer = (0..rows).map(present).collect::<Vec<bool>>().into();
    let field = item("item", values.data_type());
    ListArray::new(field, OffsetBuffer::from_lengths(lengths), values, Some(nulls))
}

fn structure(fields: Vec<(&str, ArrayRef)>, rows: usize) -> StructArray {
    let nulls: NullBuffer = (0..rows).map(|row| row % 5 != 4).collect::<Vec<bool>>().into();
    let (names, columns): (Vec<_>, Vec<_>) = fields
        .into_iter()
        .map(|(name, column)| (item(name, column.data_type()), column))
        .unzip();
    StructArray::new(names.into(), columns, Some(nulls))
}

fn nested(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let whole = |rows: usize| Arc::new(numbers::<Int32Type>(rows, |row| row as i32 % 6)) as ArrayRef;
    let words = |rows: usize| texts(rows).remove(0).1;
    let list = lists(whole, rows);
    let of_lists = lists(|rows| Arc::new(lists(words, rows)), rows);
    let of_structures = lists(
        |rows| Arc::new(structure(vec![("n", whole(rows)), ("w", words(rows))], rows)),
        rows,
    );
    let in_structure = structure(
        vec![
            ("x", whole(rows)),
            ("l", Arc::new(lists(words, rows)) as ArrayRef),
            ("s", Arc::new(structure(vec![("deep", words(rows))], rows))),
        ],
        rows,
    );
    let mut map = MapBuilder::new(None, StringBuilder::new(), ListBuilder::new(Int64Builder::new()));
    for row in 0..rows {
        for entry in 0..(if present(row) { row % 3 } else { 0 }) {
            map.keys().append_value(format!("k{entry}"));
            map.values()
                .values()
                .append_option((entry == 0).then_some(row as i64 % 4));
            map.values().append(row % 4 != 0);
        }
        map.append(present(row)).unwrap();
    }
    let fixed = FixedSizeListArray::new(item("item", &DataType::Int32), 2, whole(rows * 2), None);
    let large = cast(&list, &DataType::LargeList(item("item", &DataType::Int32))).unwrap();
    vec![
        ("list", Arc::new(list)),
        ("large_list", large),
        ("list_of_lists", Arc::new(of_lists)),
        ("list_of_structures", Arc::new(of_structures)),
        ("structure", Arc::new(in_structure)),
        ("map", Arc::new(map.finish())),
        ("fixed_list", Arc::new(fixed)),
    ]
}
