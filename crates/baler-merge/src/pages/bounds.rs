//! The least and the greatest value of a page or a chunk, and the order by which they are that.
//!
//! The order is the one that the footer will claim for the column: floats in IEEE 754 total order with NaN counted apart,
//! decimals as numbers, strings as bytes. Values are compared as they lie in a PLAIN page, without their length.

use parquet::basic::{ConvertedType, LogicalType, SortOrder, Type};
use parquet::schema::types::ColumnDescriptor;
use std::cmp::Ordering;

/// Bounds of values that are there; a page without any has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// No value is less.
    pub(crate) min: Vec<u8>,
    /// No value is greater.
    pub(crate) max: Vec<u8>,
    /// How many are NaN: told for floats, and only for them. If all are, both bounds are NaN.
    pub(crate) nans: Option<u64>,
    /// The least value is `min` itself.
    pub(crate) min_exact: bool,
    /// The greatest value is `max` itself.
    pub(crate) max_exact: bool,
}

/// How the values of a column compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Bool,
    Signed32,
    Signed64,
    Unsigned32,
    Unsigned64,
    Time96,
    Float16,
    Float32,
    Float64,
    Decimal,
    Bytes,
}

impl Order {
    /// The order of a leaf; none for types that have none.
    pub(crate) fn of(leaf: &ColumnDescriptor) -> Option<Self> {
        let unsigned = leaf.sort_order() == SortOrder::UNSIGNED;
        let decimal = leaf.converted_type() == ConvertedType::DECIMAL
            || matches!(leaf.logical_type_ref(), Some(LogicalType::Decimal(_)));
        Some(match leaf.physical_type() {
            _ if leaf.sort_order() == SortOrder::UNDEFINED => return None,
            Type::BOOLEAN => Order::Bool,
            Type::INT32 if unsigned => Order::Unsigned32,
            Type::INT64 if unsigned => Order::Unsigned64,
            Type::INT32 => Order::Signed32,
            Type::INT64 => Order::Signed64,
            Type::INT96 => Order::Time96,
            Type::FLOAT => Order::Float32,
            Type::DOUBLE => Order::Float64,
            Type::FIXED_LEN_BYTE_ARRAY if leaf.logical_type_ref() == Some(&LogicalType::Float16) => {
                Order::Float16
            }
            Type::FIXED_LEN_BYTE_ARRAY | Type::BYTE_ARRAY if decimal => Order::Decimal,
            Type::FIXED_LEN_BYTE_ARRAY | Type::BYTE_ARRAY => Order::Bytes,
        })
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Order::Float16 | Order::Float32 | Order::Float64)
    }

    /// Whether a bound may be cut and still be one.
    pub(crate) fn can_be_cut(self) -> bool {
        self == Order::Bytes
    }

    pub(crate) fn is_nan(self, value: &[u8]) -> bool {
        match self {
            Order::Float16 => u16::from_le_bytes(head(value)) & 0x7FFF > 0x7C00,
            Order::Float32 => f32::from_le_bytes(head(value)).is_nan(),
            Order::Float64 => f64::from_le_bytes(head(value)).is_nan(),
            _ => false,
        }
    }

    pub(crate) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bool => a.cmp(b),
            Order::Signed32 => i32::from_le_bytes(head(a)).cmp(&i32::from_le_bytes(head(b))),
            Order::Signed64 => i64::from_le_bytes(head(a)).cmp(&i64::from_le_bytes(head(b))),
            Order::Unsigned32 => u32::from_le_bytes(head(a)).cmp(&u32::from_le_bytes(head(b))),
            Order::Unsigned64 => u64::from_le_bytes(head(a)).cmp(&u64::from_le_bytes(head(b))),
            Order::Time96 => {
                let parts = |value: &[u8]| {
                    let day = i32::from_le_bytes(head(value.get(8..).unwrap_or_default()));
                    (day, i64::from_le_bytes(head(value)))
                };
                parts(a).cmp(&parts(b))
            }
            Order::Float16 => total16(a).cmp(&total16(b)),
            Order::Float32 => f32::from_le_bytes(head(a)).total_cmp(&f32::from_le_bytes(head(b))),
            Order::Float64 => f64::from_le_bytes(head(a)).total_cmp(&f64::from_le_bytes(head(b))),
            Order::Decimal => compare_decimals(a, b),
            Order::Bytes => a.cmp(b),
        }
    }

    /// Widens `bounds` by others.
    pub(crate) fn widen(self, bounds: &mut Option<Bounds>, other: &Bounds) {
        let Some(held) = bounds else {
            *bounds = Some(other.clone());
            return;
        };
        held.nans = held.nans.zip(other.nans).map(|(a, b)| a + b);
        // NaN stands for a bound only where there is nothing else.
        match (self.is_nan(&held.min), self.is_nan(&other.min)) {
            (false, true) => return,
            (true, false) => {
                let nans = held.nans;
                *held = Bounds {
                    nans,
                    ..other.clone()
                };
                return;
            }
            _ => {}
        }
        if self.compare(&other.min, &held.min) == Ordering::Less {
            (held.min, held.min_exact) = (other.min.clone(), other.min_exact);
        }
        if self.compare(&other.max, &held.max) == Ordering::Greater {
            (held.max, held.max_exact) = (other.max.clone(), other.max_exact);
        }
    }

    /// The bounds of some values.
    pub(crate) fn bounds_of<'a>(self, values: impl IntoIterator<Item = &'a [u8]>) -> Option<Bounds> {
        let mut nans = 0;
        let mut ends: Option<(&[u8], &[u8])> = None;
        for value in values {
            let nan = self.is_nan(value);
            nans += u64::from(nan);
            ends = match ends {
                None => Some((value, value)),
                Some(held) => match (self.is_nan(held.0), nan) {
                    (false, true) => Some(held),
                    (true, false) => Some((value, value)),
                    _ if self.compare(value, held.0) == Ordering::Less => Some((value, held.1)),
                    _ if self.compare(value, held.1) == Ordering::Greater => Some((held.0, value)),
                    _ => Some(held),
                },
            };
        }
        ends.map(|(min, max)| Bounds::exact(min, max, self.is_float().then_some(nans)))
    }
}

impl Order {
    /// The bounds of values of one width that lie one after another.
    pub(crate) fn bounds_of_fixed(self, bytes: &[u8], width: usize) -> Option<Bounds> {
        match (self, width) {
            (Order::Signed64, 8) => ends::<8>(bytes, i64::from_le_bytes),
            (Order::Unsigned64, 8) => ends::<8>(bytes, |value| i64::from_le_bytes(value) ^ i64::MIN),
            (Order::Signed32, 4) => ends::<4>(bytes, |value| i32::from_le_bytes(value).into()),
            (Order::Unsigned32, 4) => ends::<4>(bytes, |value| u32::from_le_bytes(value).into()),
            (Order::Float64, 8) => float_bounds(bytes).or_else(|| self.bounds_of(bytes.chunks_exact(8))),
            _ => self.bounds_of(bytes.chunks_exact(width.max(1))),
        }
    }
}

/// The values whose keys are least and greatest.
fn ends<const WIDTH: usize>(bytes: &[u8], key: impl Fn([u8; WIDTH]) -> i64) -> Option<Bounds> {
    let (values, _) = bytes.as_chunks::<WIDTH>();
    let (least, greatest) = values
        .iter()
        .fold((i64::MAX, i64::MIN), |(least, greatest), value| {
            let key = key(*value);
            (least.min(key), greatest.max(key))
        });
    // Keys tell values apart, so the first that has the key is the value.
    let of = |wanted: i64| values.iter().find(|value| key(**value) == wanted).copied();
    of(least)
        .zip(of(greatest))
        .map(|(min, max)| Bounds::exact(min, max, None))
}

/// Nothing if all are NaN, or if zero is a bound: comparing does not tell one zero from the other.
fn float_bounds(bytes: &[u8]) -> Option<Bounds> {
    let (mut least, mut greatest, mut numbers) = (f64::INFINITY, f64::NEG_INFINITY, 0u64);
    let (values, _) = bytes.as_chunks::<8>();
    for value in values {
        let value = f64::from_le_bytes(*value);
        numbers += u64::from(!value.is_nan());
        least = if value < least { value } else { least };
        greatest = if value > greatest { value } else { greatest };
    }
    let nans = values.len() as u64 - numbers;
    let is_sure = numbers > 0 && least != 0.0 && greatest != 0.0;
    is_sure.then(|| Bounds::exact(least.to_le_bytes(), greatest.to_le_bytes(), Some(nans)))
}

impl Bounds {
    /// Bounds that are values themselves.
    pub(crate) fn exact(min: impl Into<Vec<u8>>, max: impl Into<Vec<u8>>, nans: Option<u64>) -> Self {
        Self {
            min: min.into(),
            max: max.into(),
            nans,
            min_exact: true,
            max_exact: true,
        }
    }
}

/// The first bytes of a value; what is missing is zero.
fn head<const LENGTH: usize>(value: &[u8]) -> [u8; LENGTH] {
    match value.first_chunk() {
        Some(bytes) => *bytes,
        None => std::array::from_fn(|place| value.get(place).copied().unwrap_or(0)),
    }
}

fn total16(value: &[u8]) -> i16 {
    let bits = i16::from_le_bytes(head(value));
    bits ^ (((bits >> 15) as u16) >> 1) as i16
}

/// Numbers in two's complement, big end first, of any lengths.
fn compare_decimals(a: &[u8], b: &[u8]) -> Ordering {
    let negative = |value: &[u8]| value.first().is_some_and(|byte| byte & 0x80 != 0);
    match (negative(a), negative(b)) {
        (true, false) => return Ordering::Less,
        (false, true) => return Ordering::Greater,
        _ => {}
    }
    let fill = if negative(a) { 0xFF } else { 0x00 };
    let length = a.len().max(b.len());
    let wide = |value: &[u8]| {
        let value = value.to_vec();
        std::iter::repeat_n(fill, length - value.len()).chain(value)
    };
    wide(a).cmp(wide(b))
}
