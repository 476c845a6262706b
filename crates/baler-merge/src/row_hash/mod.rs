//! Hashes the rows of a batch, column by column.
//!
//! Values are hashed in a canonical form that survives safe promotion: integers of any width as 128-bit numbers, floats as
//! 64-bit ones (every NaN is the same NaN; 0.0 and -0.0 differ), times and time stamps in nanoseconds, dates in milliseconds,
//! decimals without trailing zeros, strings and binaries as their bytes. Dictionaries and views hash as the values they stand for.

mod flat;
mod nested;

use crate::digest::Digest;
use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::*;
use arrow::error::ArrowError;
use baler_hash::{Sum, Wide, hash_16};
use flat::{bytes, canonical_float, decimals, each, numbers, strings, times, wholes};
use nested::{ends_of, lists, maps, structs};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// Kinds whose values may be equal under promotion share one; all others differ, so that the number 5 is not day 5.
#[derive(Clone, Copy)]
enum Kind {
    Bool = 1,
    Int,
    Float,
    Decimal,
    Date,
    Time,
    Timestamp,
    Duration,
    Interval,
    Bytes,
    Struct,
    List,
    Row,
}

/// The digest of a batch's rows.
pub(crate) fn digest_of_batch(batch: &RecordBatch) -> Result<Digest, ArrowError> {
    let mut sums = vec![Sum::ZERO; batch.num_rows()];
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        add_column(&mut sums, field.name(), column)?;
    }
    Ok(seal(&mut sums))
}

/// Adds the hashes of a top-level column's values, one to each row.
pub(crate) fn add_column(sums: &mut [Sum], name: &str, column: &ArrayRef) -> Result<(), ArrowError> {
    add_values(sums, column, xxh3_64_with_seed(name.as_bytes(), 0))
}

/// A hash for each value of a top-level column, or of its dictionary, the same whatever width it was promoted to.
pub(crate) fn hash_entries(name: &str, values: &ArrayRef) -> Result<Vec<Sum>, ArrowError> {
    hash_values(values, xxh3_64_with_seed(name.as_bytes(), 0))
}

/// Adds the hashes of the entries that the rows of a column have.
pub(crate) fn add_codes(sums: &mut [Sum], entries: &[Sum], codes: &Int32Array) {
    let values = codes.values();
    match codes.null_count() {
        0 => {
            let rows = sums.iter_mut().zip(values);
            rows.for_each(|(sum, code)| sum.add(entries[*code as usize].whole()));
        }
        _ => each(sums, codes, |row| entries[values[row] as usize].whole()),
    }
}

/// Turns sums over all columns into hashes of rows, in place, and gives their digest.
pub(crate) fn seal(sums: &mut [Sum]) -> Digest {
    let (mut digest, seed) = (Digest::EMPTY, Kind::Row as u64);
    let mut rest = sums;
    if let Some(wide) = Wide::here() {
        let (many, few) = rest.as_chunks_mut();
        many.iter_mut()
            .for_each(|sums| digest.add_row(wide.seal(sums, seed)));
        rest = few;
    }
    for sum in rest {
        let hash = hash_16(sum.whole().to_le_bytes(), seed);
        *sum = hash.into();
        digest.add_row(hash);
    }
    digest
}

/// One hash for each value, 0 for nulls.
fn hash_values(array: &ArrayRef, path: u64) -> Result<Vec<Sum>, ArrowError> {
    let mut hashes = vec![Sum::ZERO; array.len()];
    add_values(&mut hashes, array, path)?;
    Ok(hashes)
}

/// Adds one hash for each value, nothing for nulls.
fn add_values(sums: &mut [Sum], array: &ArrayRef, path: u64) -> Result<(), ArrowError> {
    use DataType::*;
    let seed = |kind: Kind| path ^ (kind as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    macro_rules! numbers {
        ($type:ty, $kind:expr, $canonical:expr) => {
            numbers(sums, array.as_primitive::<$type>(), seed($kind), $canonical)
        };
    }
    macro_rules! wholes {
        ($type:ty, $kind:expr, $canonical:expr) => {
            wholes(sums, array.as_primitive::<$type>(), seed($kind), $canonical)
        };
    }
    match array.data_type() {
        Null => {}
        Boolean => {
            let array = array.as_boolean();
            let hashes = [false, true].map(|bit| xxh3_128_with_seed(&[u8::from(bit)], seed(Kind::Bool)));
            each(sums, array, |row| hashes[usize::from(array.value(row))])
        }
        Int8 => wholes!(Int8Type, Kind::Int, i128::from),
        Int16 => wholes!(Int16Type, Kind::Int, i128::from),
        Int32 => wholes!(Int32Type, Kind::Int, i128::from),
        Int64 => wholes!(Int64Type, Kind::Int, i128::from),
        UInt8 => wholes!(UInt8Type, Kind::Int, i128::from),
        UInt16 => wholes!(UInt16Type, Kind::Int, i128::from),
        UInt32 => wholes!(UInt32Type, Kind::Int, i128::from),
        UInt64 => wholes!(UInt64Type, Kind::Int, i128::from),
        Float16 => numbers!(Float16Type, Kind::Float, |v| canonical_float(v.to_f64())),
        Float32 => numbers!(Float32Type, Kind::Float, |v| canonical_float(f64::from(v))),
        Float64 => numbers!(Float64Type, Kind::Float, canonical_float),
        Date32 => numbers!(Date32Type, Kind::Date, |v| i128::from(v) * 86_400_000),
        Date64 => numbers!(Date64Type, Kind::Date, i128::from),
        Time32(TimeUnit::Second) => numbers!(Time32SecondType, Kind::Time, |v| i128::from(v) * 1_000_000_000),
        Time32(_) => numbers!(Time32MillisecondType, Kind::Time, |v| i128::from(v) * 1_000_000),
        Time64(TimeUnit::Microsecond) => {
            numbers!(Time64MicrosecondType, Kind::Time, |v| i128::from(v) * 1_000)
        }
        Time64(_) => numbers!(Time64NanosecondType, Kind::Time, i128::from),
        Timestamp(unit, _) => {
            let nanos = nanos_in(*unit) as i64;
            let whole = array.to_data().into_builder().data_type(Int64).build()?;
            times(sums, &whole.into(), seed(Kind::Timestamp), nanos)
        }
        Duration(unit) => {
            let nanos = nanos_in(*unit) as i64;
            let whole = array.to_data().into_builder().data_type(Int64).build()?;
            times(sums, &whole.into(), seed(Kind::Duration), nanos)
        }
        Interval(IntervalUnit::YearMonth) => {
            numbers!(IntervalYearMonthType, Kind::Interval, i128::from)
        }
        Interval(IntervalUnit::DayTime) => numbers!(IntervalDayTimeType, Kind::Interval, |v| {
            (1 << 100) + (i128::from(v.days) << 32) + i128::from(v.milliseconds)
        }),
        Interval(IntervalUnit::MonthDayNano) => {
            let array = array.as_primitive::<IntervalMonthDayNanoType>();
            each(sums, array, |row| {
                let value = array.value(row);
                let mut bytes = [0; 17];
                bytes[..4].copy_from_slice(&value.months.to_le_bytes());
                bytes[4..8].copy_from_slice(&value.days.to_le_bytes());
                bytes[8..16].copy_from_slice(&value.nanoseconds.to_le_bytes());
                xxh3_128_with_seed(&bytes, seed(Kind::Interval))
            })
        }
        Decimal32(_, scale) => decimals(
            sums,
            array.as_primitive::<Decimal32Type>(),
            *scale,
            seed(Kind::Decimal),
            |v| i256::from_i128(v.into()),
        ),
        Decimal64(_, scale) => decimals(
            sums,
            array.as_primitive::<Decimal64Type>(),
            *scale,
            seed(Kind::Decimal),
            |v| i256::from_i128(v.into()),
        ),
        Decimal128(_, scale) => decimals(
            sums,
            array.as_primitive::<Decimal128Type>(),
            *scale,
            seed(Kind::Decimal),
            i256::from_i128,
        ),
        Decimal256(_, scale) => decimals(
            sums,
            array.as_primitive::<Decimal256Type>(),
            *scale,
            seed(Kind::Decimal),
            |v| v,
        ),
        Utf8 => strings(sums, array.as_string::<i32>(), seed(Kind::Bytes)),
        LargeUtf8 => strings(sums, array.as_string::<i64>(), seed(Kind::Bytes)),
        Binary => strings(sums, array.as_binary::<i32>(), seed(Kind::Bytes)),
        LargeBinary => strings(sums, array.as_binary::<i64>(), seed(Kind::Bytes)),
        Utf8View => bytes(sums, array.as_string_view(), seed(Kind::Bytes), |a, row| {
            a.value(row).as_bytes()
        }),
        BinaryView => bytes(sums, array.as_binary_view(), seed(Kind::Bytes), |a, row| {
            a.value(row)
        }),
        FixedSizeBinary(_) => bytes(sums, array.as_fixed_size_binary(), seed(Kind::Bytes), |a, row| {
            a.value(row)
        }),
        Dictionary(_, values) => match array.as_any_dictionary_opt() {
            Some(coded) if coded.values().len() <= array.len() => entries(sums, coded, path)?,
            _ => add_values(sums, &cast(array, values)?, path)?,
        },
        RunEndEncoded(_, values) => add_values(sums, &cast(array, values.data_type())?, path)?,
        Struct(_) => structs(sums, array.as_struct(), path, seed(Kind::Struct))?,
        List(_) => {
            let array = array.as_list::<i32>();
            let ends = ends_of(array.value_offsets());
            lists(sums, array, array.values(), &ends, path, seed(Kind::List))?
        }
        LargeList(_) => {
            let array = array.as_list::<i64>();
            let ends = ends_of(array.value_offsets());
            lists(sums, array, array.values(), &ends, path, seed(Kind::List))?
        }
        FixedSizeList(_, size) => {
            let array = array.as_fixed_size_list();
            let ends = (0..=array.len())
                .map(|row| row * *size as usize)
                .collect::<Vec<_>>();
            lists(sums, array, array.values(), &ends, path, seed(Kind::List))?
        }
        Map(_, _) => maps(sums, array.as_map(), path, seed(Kind::List))?,
        other => return Err(ArrowError::NotYetImplemented(format!("columns of type {other}"))),
    }
    Ok(())
}

/// Nanoseconds in one tick of a unit.
pub(crate) fn nanos_in(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Each entry of a dictionary is hashed once, however many rows have it.
fn entries(sums: &mut [Sum], array: &dyn AnyDictionaryArray, path: u64) -> Result<(), ArrowError> {
    let hashes = hash_values(array.values(), path)?;
    if hashes.is_empty() {
        return Ok(());
    }
    match array.keys().as_primitive_opt::<Int32Type>() {
        Some(codes) => add_codes(sums, &hashes, codes),
        None => {
            let keys = array.normalized_keys();
            each(sums, array.keys(), |row| hashes[keys[row]].whole());
        }
    }
    Ok(())
}
