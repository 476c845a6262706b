//! Hashes the rows of a batch, column by column.
//!
//! Values are hashed in a canonical form that survives safe promotion: integers of any width as 128-bit numbers, floats as
//! 64-bit ones (every NaN is the same NaN; 0.0 and -0.0 differ), times and time stamps in nanoseconds, dates in milliseconds,
//! decimals without trailing zeros, strings and binaries as their bytes. Dictionaries and views hash as the values they stand for.

mod blocks;
mod flat;
mod hashing;
mod nested;

use crate::digest::Digest;
use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::*;
use arrow::error::ArrowError;
use baler_hash::Weights;
use flat::{bytes, decimals, each, floats, signed, strings, unsigned};
use hashing::{Hashing, Xxh3Of};
use nested::{ends_of, lists, maps, structs};
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub use hashing::RowHash;

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

impl RowHash {
    /// Adds the hashes of a top-level column's values, one to each row.
    pub(crate) fn add_column(
        self,
        sums: &mut [u128],
        name: &str,
        column: &ArrayRef,
    ) -> Result<(), ArrowError> {
        let path = xxh3_64_with_seed(name.as_bytes(), 0);
        match self {
            Self::Xxh3 => add_values::<Xxh3Of>(sums, column, path),
            Self::Weighted => add_values::<Weights>(sums, column, path),
        }
    }

    /// A hash for each value of a top-level column, or of its dictionary, the same whatever width it was promoted to.
    pub(crate) fn entries(self, name: &str, values: &ArrayRef) -> Result<Vec<u128>, ArrowError> {
        let mut hashes = vec![0; values.len()];
        self.add_column(&mut hashes, name, values)?;
        Ok(hashes)
    }

    /// Turns sums over all columns into hashes of rows, in place, and gives their digest.
    pub(crate) fn seal(self, sums: &mut [u128]) -> Digest {
        match self {
            Self::Xxh3 => seal_rows::<Xxh3Of>(sums),
            Self::Weighted => seal_rows::<Weights>(sums),
        }
    }
}

/// Adds the hashes of the entries that the rows of a column have.
pub(crate) fn add_codes(sums: &mut [u128], entries: &[u128], codes: &Int32Array) {
    let values = codes.values();
    match codes.null_count() {
        0 => {
            let rows = sums.iter_mut().zip(values);
            rows.for_each(|(sum, code)| *sum = sum.wrapping_add(entries[*code as usize]));
        }
        _ => each(sums, codes, |row| entries[values[row] as usize]),
    }
}

fn seal_rows<H: Hashing>(sums: &mut [u128]) -> Digest {
    let mut digest = Digest::EMPTY;
    for sum in sums {
        *sum = H::row(*sum, Kind::Row as u64);
        digest.add_row(*sum);
    }
    digest
}

/// One hash for each value, 0 for nulls.
fn hash_values<H: Hashing>(array: &ArrayRef, path: u64) -> Result<Vec<u128>, ArrowError> {
    let mut hashes = vec![0; array.len()];
    add_values::<H>(&mut hashes, array, path)?;
    Ok(hashes)
}

/// Adds one hash for each value, nothing for nulls.
fn add_values<H: Hashing>(sums: &mut [u128], array: &ArrayRef, path: u64) -> Result<(), ArrowError> {
    use DataType::*;
    let seed = |kind: Kind| path ^ (kind as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let of = |kind: Kind| H::of(seed(kind));
    macro_rules! signed {
        ($type:ty, $kind:expr) => {
            signed(sums, array.as_primitive::<$type>(), of($kind))
        };
        ($type:ty, $kind:expr, $unit:expr) => {
            signed(
                sums,
                array.as_primitive::<$type>(),
                of($kind).in_units_of($unit),
            )
        };
    }
    macro_rules! decimals {
        ($type:ty, $scale:expr, $widen:expr) => {
            decimals(
                sums,
                array.as_primitive::<$type>(),
                $scale,
                of(Kind::Decimal),
                $widen,
            )
        };
    }
    match array.data_type() {
        Null => {}
        Boolean => {
            let array = array.as_boolean();
            let hashes = [0, 1].map(|bit| of(Kind::Bool).bytes(&[bit]));
            each(sums, array, |row| hashes[usize::from(array.value(row))])
        }
        Int8 => signed!(Int8Type, Kind::Int),
        Int16 => signed!(Int16Type, Kind::Int),
        Int32 => signed!(Int32Type, Kind::Int),
        Int64 => signed!(Int64Type, Kind::Int),
        UInt8 => signed!(UInt8Type, Kind::Int),
        UInt16 => signed!(UInt16Type, Kind::Int),
        UInt32 => signed!(UInt32Type, Kind::Int),
        UInt64 => unsigned(sums, array.as_primitive::<UInt64Type>(), of(Kind::Int)),
        Float16 => floats(sums, array.as_primitive::<Float16Type>(), of(Kind::Float), |v| {
            v.to_f64()
        }),
        Float32 => floats(
            sums,
            array.as_primitive::<Float32Type>(),
            of(Kind::Float),
            f64::from,
        ),
        Float64 => floats(sums, array.as_primitive::<Float64Type>(), of(Kind::Float), |v| v),
        Date32 => signed!(Date32Type, Kind::Date, 86_400_000),
        Date64 => signed!(Date64Type, Kind::Date),
        Time32(TimeUnit::Second) => signed!(Time32SecondType, Kind::Time, 1_000_000_000),
        Time32(_) => signed!(Time32MillisecondType, Kind::Time, 1_000_000),
        Time64(TimeUnit::Microsecond) => signed!(Time64MicrosecondType, Kind::Time, 1_000),
        Time64(_) => signed!(Time64NanosecondType, Kind::Time),
        Timestamp(unit, _) => ticks(sums, array, *unit, of(Kind::Timestamp))?,
        Duration(unit) => ticks(sums, array, *unit, of(Kind::Duration))?,
        Interval(IntervalUnit::YearMonth) => signed!(IntervalYearMonthType, Kind::Interval),
        Interval(IntervalUnit::DayTime) => {
            let values = array.as_primitive::<IntervalDayTimeType>();
            let interval = of(Kind::Interval);
            each(sums, values, |row| {
                let value = values.value(row);
                interval.wide((1 << 100) + (i128::from(value.days) << 32) + i128::from(value.milliseconds))
            })
        }
        Interval(IntervalUnit::MonthDayNano) => {
            let array = array.as_primitive::<IntervalMonthDayNanoType>();
            let interval = of(Kind::Interval);
            each(sums, array, |row| {
                let value = array.value(row);
                let mut bytes = [0; 17];
                bytes[..4].copy_from_slice(&value.months.to_le_bytes());
                bytes[4..8].copy_from_slice(&value.days.to_le_bytes());
                bytes[8..16].copy_from_slice(&value.nanoseconds.to_le_bytes());
                interval.bytes(&bytes)
            })
        }
        Decimal32(_, scale) => decimals!(Decimal32Type, *scale, |v| i256::from_i128(v.into())),
        Decimal64(_, scale) => decimals!(Decimal64Type, *scale, |v| i256::from_i128(v.into())),
        Decimal128(_, scale) => decimals!(Decimal128Type, *scale, i256::from_i128),
        Decimal256(_, scale) => decimals!(Decimal256Type, *scale, |v| v),
        Utf8 => strings(sums, array.as_string::<i32>(), of(Kind::Bytes)),
        LargeUtf8 => strings(sums, array.as_string::<i64>(), of(Kind::Bytes)),
        Binary => strings(sums, array.as_binary::<i32>(), of(Kind::Bytes)),
        LargeBinary => strings(sums, array.as_binary::<i64>(), of(Kind::Bytes)),
        Utf8View => bytes(sums, array.as_string_view(), of(Kind::Bytes), |a, row| {
            a.value(row).as_bytes()
        }),
        BinaryView => bytes(sums, array.as_binary_view(), of(Kind::Bytes), |a, row| {
            a.value(row)
        }),
        FixedSizeBinary(_) => bytes(sums, array.as_fixed_size_binary(), of(Kind::Bytes), |a, row| {
            a.value(row)
        }),
        Dictionary(_, values) => match array.as_any_dictionary_opt() {
            Some(coded) if coded.values().len() <= array.len() => entries::<H>(sums, coded, path)?,
            _ => add_values::<H>(sums, &cast(array, values)?, path)?,
        },
        RunEndEncoded(_, values) => add_values::<H>(sums, &cast(array, values.data_type())?, path)?,
        Struct(_) => structs(sums, array.as_struct(), path, of(Kind::Struct))?,
        List(_) => {
            let array = array.as_list::<i32>();
            let ends = ends_of(array.value_offsets());
            lists::<H>(sums, array, array.values(), &ends, path, seed(Kind::List))?
        }
        LargeList(_) => {
            let array = array.as_list::<i64>();
            let ends = ends_of(array.value_offsets());
            lists::<H>(sums, array, array.values(), &ends, path, seed(Kind::List))?
        }
        FixedSizeList(_, size) => {
            let array = array.as_fixed_size_list();
            let ends = (0..=array.len())
                .map(|row| row * *size as usize)
                .collect::<Vec<_>>();
            lists::<H>(sums, array, array.values(), &ends, path, seed(Kind::List))?
        }
        Map(_, _) => maps::<H>(sums, array.as_map(), path, seed(Kind::List))?,
        other => return Err(ArrowError::NotYetImplemented(format!("columns of type {other}"))),
    }
    Ok(())
}

/// Time stamps and durations, in nanoseconds.
fn ticks<H: Hashing>(
    sums: &mut [u128],
    array: &ArrayRef,
    unit: TimeUnit,
    hashing: H,
) -> Result<(), ArrowError> {
    let whole = array.to_data().into_builder().data_type(DataType::Int64);
    let whole: Int64Array = whole.build()?.into();
    signed(sums, &whole, hashing.in_units_of(nanos_in(unit) as i64));
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
fn entries<H: Hashing>(
    sums: &mut [u128],
    array: &dyn AnyDictionaryArray,
    path: u64,
) -> Result<(), ArrowError> {
    let hashes = hash_values::<H>(array.values(), path)?;
    if hashes.is_empty() {
        return Ok(());
    }
    match array.keys().as_primitive_opt::<Int32Type>() {
        Some(codes) => add_codes(sums, &hashes, codes),
        None => {
            let keys = array.normalized_keys();
            each(sums, array.keys(), |row| hashes[keys[row]]);
        }
    }
    Ok(())
}
