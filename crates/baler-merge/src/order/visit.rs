//! Looks at the values of a key column, whatever its type, as unsigned integers or as bytes that compare as the values do.
//!
//! The order is that of `sort_key`: every NaN is one value, after all numbers; -0.0 comes before 0.0 and is another key.

use crate::adapt::strict_cast;
use crate::promote::plain;
use arrow::array::*;
use arrow::datatypes::*;
use arrow::error::ArrowError;
use std::sync::Arc;

/// What is done with the values of a column.
pub(super) trait Visit {
    /// Numbers of up to 64 bits.
    fn numbers<T: ArrowPrimitiveType>(&mut self, values: &PrimitiveArray<T>, code: impl Fn(T::Native) -> u64);
    /// Numbers of 128 bits.
    fn wide_numbers<T: ArrowPrimitiveType>(
        &mut self,
        values: &PrimitiveArray<T>,
        code: impl Fn(T::Native) -> u128,
    );
    /// Strings and binaries.
    fn bytes<'a>(&mut self, values: &'a dyn Array, value: impl Fn(usize) -> &'a [u8]);
    /// Nulls of no type.
    fn nulls(&mut self, rows: usize);
    /// A type that has no short form.
    fn others(&mut self);
}

/// Shows a column in plain layout to a visitor.
pub(super) fn visit(array: &ArrayRef, visitor: &mut impl Visit) -> Result<(), ArrowError> {
    use DataType::*;
    macro_rules! signed {
        ($type:ty) => {
            visitor.numbers(array.as_primitive::<$type>(), |value| {
                i64::from(value) as u64 ^ (1 << 63)
            })
        };
    }
    macro_rules! unsigned {
        ($type:ty) => {
            visitor.numbers(array.as_primitive::<$type>(), u64::from)
        };
    }
    match array.data_type() {
        Int8 => signed!(Int8Type),
        Int16 => signed!(Int16Type),
        Int32 => signed!(Int32Type),
        Int64 => signed!(Int64Type),
        UInt8 => unsigned!(UInt8Type),
        UInt16 => unsigned!(UInt16Type),
        UInt32 => unsigned!(UInt32Type),
        UInt64 => unsigned!(UInt64Type),
        Boolean => return visit(&strict_cast(array, &UInt8)?, visitor),
        Date32 | Time32(_) | Decimal32(_, _) => return visit(&stored_as(array, Int32)?, visitor),
        Date64 | Time64(_) | Timestamp(_, _) | Duration(_) | Decimal64(_, _) => {
            return visit(&stored_as(array, Int64)?, visitor);
        }
        Decimal128(_, _) => visitor.wide_numbers(array.as_primitive::<Decimal128Type>(), |value| {
            value as u128 ^ (1 << 127)
        }),
        Float16 => visitor.numbers(array.as_primitive::<Float16Type>(), |value| {
            u64::from(ordered_narrow(value.to_f32()))
        }),
        Float32 => visitor.numbers(array.as_primitive::<Float32Type>(), |value| {
            u64::from(ordered_narrow(value))
        }),
        Float64 => visitor.numbers(array.as_primitive::<Float64Type>(), ordered),
        Utf8 => bytes(visitor, array.as_string::<i32>(), |array, row| {
            array.value(row).as_bytes()
        }),
        LargeUtf8 => bytes(visitor, array.as_string::<i64>(), |array, row| {
            array.value(row).as_bytes()
        }),
        Binary => bytes(visitor, array.as_binary::<i32>(), GenericByteArray::value),
        LargeBinary => bytes(visitor, array.as_binary::<i64>(), GenericByteArray::value),
        FixedSizeBinary(_) => bytes(visitor, array.as_fixed_size_binary(), FixedSizeBinaryArray::value),
        Null => visitor.nulls(array.len()),
        _ => visitor.others(),
    }
    Ok(())
}

fn bytes<A: Array + 'static>(visitor: &mut impl Visit, array: &A, value: impl Fn(&A, usize) -> &[u8]) {
    visitor.bytes(array, |row| value(array, row));
}

/// A column in plain layout: dictionaries and views as the values that they stand for.
pub(super) fn plain_column(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let layout = plain(array.data_type());
    if &layout == array.data_type() {
        Ok(Arc::clone(array))
    } else {
        strict_cast(array, &layout)
    }
}

/// The same bits under the name of the integer that they are stored as.
fn stored_as(array: &ArrayRef, integer: DataType) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data().into_builder().data_type(integer).build()?;
    Ok(make_array(data))
}

/// Bits of a float in total order, every NaN the same.
fn ordered(value: f64) -> u64 {
    let bits = if value.is_nan() { f64::NAN } else { value }.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn ordered_narrow(value: f32) -> u32 {
    let bits = if value.is_nan() { f32::NAN } else { value }.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}
