//! Bounds of a sort key as byte strings that compare as the keys do, whatever the width of the columns they came from.
//!
//! ```text
//! key    = 01 (version of this encoding) then one after another, for each sort column:
//! null   = 00 if nulls come first, 02 if last
//! value  = 01, then, all bits flipped if descending:
//!          integer, date (ms), time, time stamp, duration (ns): 16 bytes, big end first, sign flipped
//!          float:   8 bytes of the 64-bit float in total order; every NaN the greatest     bool: 1 byte
//!          decimal: its floor and its fraction times 10^76, 32 bytes each
//!          bytes:   00 escaped as 00 FF, ended by 00 01, cut after 64 bytes
//! ```
//!
//! Edges of ranges are such strings too and are kept in journals, so an encoding is never changed: a better one gets a new version.
//! A key that was cut is a prefix: as a lower bound it stands, as an upper bound the next greater string of its length does.
//! The whole keys of rows (`encode_whole`) compare with such bounds, and with each other, as the rows do.

use crate::limits::KEY_STRING_BYTES_MAX;
use crate::row_hash::nanos_in;
use crate::spec::SortColumn;
use arrow::array::*;
use arrow::datatypes::*;

/// The least and the greatest key of a file, or bounds of them; comparable across files that share a sort key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// No key is less.
    pub min: Vec<u8>,
    /// No key is greater.
    pub max: Vec<u8>,
}

impl KeyRange {
    /// Whether some key may lie in both.
    pub fn overlaps(&self, other: &KeyRange) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

/// The first byte of every encoded key.
pub(crate) const VERSION: u8 = 1;
const NULL_FIRST: u8 = 0;
const VALUE: u8 = 1;
const NULL_LAST: u8 = 2;

/// An encoded key, or as much of it as was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bound {
    bytes: Vec<u8>,
    whole: bool,
}

impl Bound {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![VERSION],
            whole: true,
        }
    }

    /// As a lower bound.
    pub(crate) fn min(self) -> Vec<u8> {
        self.bytes
    }

    /// As an upper bound.
    pub(crate) fn max(mut self) -> Vec<u8> {
        if self.whole {
            return self.bytes;
        }
        while self.bytes.last() == Some(&0xFF) {
            self.bytes.pop();
        }
        // The version is not 0xFF, so something is left to count up.
        if let Some(last) = self.bytes.last_mut() {
            *last += 1;
        }
        self.bytes
    }

    /// Appends the next column's null.
    pub(crate) fn push_null(&mut self, sort: &SortColumn) {
        if self.whole {
            self.bytes
                .push(if sort.nulls_first { NULL_FIRST } else { NULL_LAST });
        }
    }

    /// Appends the next column's value; after a cut, columns that follow do not matter.
    pub(crate) fn push(&mut self, value: &Value<'_>, sort: &SortColumn) {
        if !self.whole {
            return;
        }
        self.bytes.push(VALUE);
        let start = self.bytes.len();
        self.whole = value.encode(&mut self.bytes, KEY_STRING_BYTES_MAX);
        if sort.descending {
            self.bytes[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

/// A value in the domain that all widths share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'a> {
    Bool(bool),
    Number(i128),
    Float(f64),
    /// Floor and fraction in units of 10^-76.
    Decimal(i256, i256),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// Says whether the value was kept whole.
    fn encode(&self, into: &mut Vec<u8>, string_bytes_max: usize) -> bool {
        match self {
            Value::Bool(value) => into.push(u8::from(*value)),
            Value::Number(value) => into.extend((value ^ i128::MIN).to_be_bytes()),
            Value::Float(value) => {
                let value = if value.is_nan() { f64::NAN } else { *value };
                let bits = value.to_bits() as i64;
                let ordered = bits ^ (((bits >> 63) as u64) >> 1) as i64;
                into.extend((ordered ^ i64::MIN).to_be_bytes());
            }
            Value::Decimal(floor, fraction) => {
                for part in [floor, fraction] {
                    let mut bytes = part.to_be_bytes();
                    bytes[0] ^= 0x80;
                    into.extend(bytes);
                }
            }
            Value::Bytes(bytes) => {
                for byte in bytes.iter().take(string_bytes_max) {
                    into.push(*byte);
                    into.extend((*byte == 0).then_some(0xFF));
                }
                if bytes.len() > string_bytes_max {
                    return false;
                }
                into.extend([0, 1]);
            }
        }
        true
    }
}

/// The key of one row, given the sort columns in key order; nothing if a column's type has no encoding.
pub(crate) fn encode_row(columns: &[ArrayRef], row: usize, sort: &[SortColumn]) -> Option<Bound> {
    let mut bound = Bound::new();
    for (column, sort) in columns.iter().zip(sort) {
        match is_null(column, row) {
            true => bound.push_null(sort),
            false => bound.push(&value_at(column, row)?, sort),
        }
    }
    Some(bound)
}

/// The key of one row with strings of any length, in place of what `into` holds; says whether all types have an encoding.
pub(crate) fn encode_whole(
    columns: &[ArrayRef],
    row: usize,
    sort: &[SortColumn],
    into: &mut Vec<u8>,
) -> bool {
    into.clear();
    into.push(VERSION);
    for (column, sort) in columns.iter().zip(sort) {
        if is_null(column, row) {
            into.push(if sort.nulls_first { NULL_FIRST } else { NULL_LAST });
            continue;
        }
        let Some(value) = value_at(column, row) else {
            return false;
        };
        into.push(VALUE);
        let start = into.len();
        value.encode(into, usize::MAX);
        if sort.descending {
            into[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
    true
}

/// Whether values of a type have an encoding.
pub(crate) fn has_encoding(data_type: &DataType) -> bool {
    // What lies under a null is a value too.
    let any = new_null_array(data_type, 1);
    data_type == &DataType::Null || value_at(&any, 0).is_some()
}

fn is_null(column: &ArrayRef, row: usize) -> bool {
    column.data_type() == &DataType::Null || column.is_null(row)
}

/// One value of an array in plain layout.
pub(crate) fn value_at(array: &ArrayRef, row: usize) -> Option<Value<'_>> {
    use DataType::*;
    use Value::*;
    macro_rules! number {
        ($type:ty) => {
            Number(array.as_primitive::<$type>().value(row).into())
        };
        ($type:ty, $factor:expr) => {
            Number(i128::from(array.as_primitive::<$type>().value(row)) * $factor)
        };
    }
    Some(match array.data_type() {
        Boolean => Bool(array.as_boolean().value(row)),
        Int8 => number!(Int8Type),
        Int16 => number!(Int16Type),
        Int32 => number!(Int32Type),
        Int64 => number!(Int64Type),
        UInt8 => number!(UInt8Type),
        UInt16 => number!(UInt16Type),
        UInt32 => number!(UInt32Type),
        UInt64 => number!(UInt64Type),
        Date32 => number!(Date32Type, 86_400_000),
        Date64 => number!(Date64Type),
        Time32(TimeUnit::Second) => number!(Time32SecondType, 1_000_000_000),
        Time32(_) => number!(Time32MillisecondType, 1_000_000),
        Time64(TimeUnit::Microsecond) => number!(Time64MicrosecondType, 1_000),
        Time64(_) => number!(Time64NanosecondType),
        Timestamp(unit @ TimeUnit::Second, _) => number!(TimestampSecondType, nanos_in(*unit)),
        Timestamp(unit @ TimeUnit::Millisecond, _) => number!(TimestampMillisecondType, nanos_in(*unit)),
        Timestamp(unit @ TimeUnit::Microsecond, _) => number!(TimestampMicrosecondType, nanos_in(*unit)),
        Timestamp(TimeUnit::Nanosecond, _) => number!(TimestampNanosecondType),
        Duration(unit @ TimeUnit::Second) => number!(DurationSecondType, nanos_in(*unit)),
        Duration(unit @ TimeUnit::Millisecond) => number!(DurationMillisecondType, nanos_in(*unit)),
        Duration(unit @ TimeUnit::Microsecond) => number!(DurationMicrosecondType, nanos_in(*unit)),
        Duration(TimeUnit::Nanosecond) => number!(DurationNanosecondType),
        Float16 => Float(array.as_primitive::<Float16Type>().value(row).to_f64()),
        Float32 => Float(array.as_primitive::<Float32Type>().value(row).into()),
        Float64 => Float(array.as_primitive::<Float64Type>().value(row)),
        Decimal32(_, scale) => decimal(
            i256::from_i128(array.as_primitive::<Decimal32Type>().value(row).into()),
            *scale,
        )?,
        Decimal64(_, scale) => decimal(
            i256::from_i128(array.as_primitive::<Decimal64Type>().value(row).into()),
            *scale,
        )?,
        Decimal128(_, scale) => decimal(
            i256::from_i128(array.as_primitive::<Decimal128Type>().value(row)),
            *scale,
        )?,
        Decimal256(_, scale) => decimal(array.as_primitive::<Decimal256Type>().value(row), *scale)?,
        Utf8 => Bytes(array.as_string::<i32>().value(row).as_bytes()),
        LargeUtf8 => Bytes(array.as_string::<i64>().value(row).as_bytes()),
        Utf8View => Bytes(array.as_string_view().value(row).as_bytes()),
        Binary => Bytes(array.as_binary::<i32>().value(row)),
        LargeBinary => Bytes(array.as_binary::<i64>().value(row)),
        BinaryView => Bytes(array.as_binary_view().value(row)),
        FixedSizeBinary(_) => Bytes(array.as_fixed_size_binary().value(row)),
        _ => return None,
    })
}

/// Floor and fraction, so that numbers of different scales compare. Negative scales have no encoding.
fn decimal(digits: i256, scale: i8) -> Option<Value<'static>> {
    let ten = i256::from_i128(10);
    let scale = u32::try_from(scale).ok().filter(|scale| *scale <= 76)?;
    let one = ten.checked_pow(scale)?;
    let (mut floor, mut rest) = (digits.checked_div(one)?, digits.checked_rem(one)?);
    if rest < i256::ZERO {
        floor = floor.checked_sub(i256::ONE)?;
        rest = rest.checked_add(one)?;
    }
    Some(Value::Decimal(
        floor,
        rest.checked_mul(ten.checked_pow(76 - scale)?)?,
    ))
}

#[cfg(test)]
#[path = "key_range_tests.rs"]
mod tests;
