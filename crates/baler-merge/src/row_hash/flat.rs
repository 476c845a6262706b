//! Hashes of values that are not nested, added row by row.

use super::hashing::Hashing;
use arrow::array::*;
use arrow::datatypes::*;

/// Adds what `hash` says of each value that is there.
pub(super) fn each(sums: &mut [u128], array: &dyn Array, hash: impl Fn(usize) -> u128) {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => {
            for (row, sum) in sums.iter_mut().enumerate() {
                *sum = sum.wrapping_add(hash(row));
            }
        }
        Some(nulls) => {
            for row in nulls.valid_indices() {
                sums[row] = sums[row].wrapping_add(hash(row));
            }
        }
    }
}

pub(super) fn signed<T: ArrowPrimitiveType>(
    sums: &mut [u128],
    array: &PrimitiveArray<T>,
    hashing: impl Hashing,
) where
    T::Native: Into<i64>,
{
    numbers(sums, array, |value| hashing.signed(value.into()));
}

pub(super) fn unsigned(sums: &mut [u128], array: &UInt64Array, hashing: impl Hashing) {
    numbers(sums, array, |value| hashing.unsigned(value));
}

/// Every NaN is the same NaN; 0.0 and -0.0 differ.
pub(super) fn floats<T: ArrowPrimitiveType>(
    sums: &mut [u128],
    array: &PrimitiveArray<T>,
    hashing: impl Hashing,
    widen: impl Fn(T::Native) -> f64,
) {
    numbers(sums, array, |value| {
        let value = widen(value);
        let value = if value.is_nan() { f64::NAN } else { value };
        hashing.unsigned(value.to_bits())
    });
}

fn numbers<T: ArrowPrimitiveType>(
    sums: &mut [u128],
    array: &PrimitiveArray<T>,
    hash: impl Fn(T::Native) -> u128,
) {
    let values = array.values();
    if array.null_count() > 0 {
        return each(sums, array, |row| hash(values[row]));
    }
    // Side by side, so that nothing is left to check for each row.
    let rows = sums.iter_mut().zip(values);
    rows.for_each(|(sum, value)| *sum = sum.wrapping_add(hash(*value)));
}

pub(super) fn bytes<'a, A: Array>(
    sums: &mut [u128],
    array: &'a A,
    hashing: impl Hashing,
    value: impl Fn(&'a A, usize) -> &'a [u8],
) {
    each(sums, array, |row| hashing.bytes(value(array, row)));
}

/// The same for values that lie one after another.
pub(super) fn strings<T: ByteArrayType>(
    sums: &mut [u128],
    array: &GenericByteArray<T>,
    hashing: impl Hashing,
) {
    let (ends, data) = (array.value_offsets(), array.value_data());
    let hash = |start: T::Offset, end: T::Offset| hashing.bytes(&data[start.as_usize()..end.as_usize()]);
    if array.null_count() > 0 {
        return each(sums, array, |row| hash(ends[row], ends[row + 1]));
    }
    for (sum, ends) in sums.iter_mut().zip(ends.array_windows()) {
        let [start, end] = *ends;
        *sum = sum.wrapping_add(hash(start, end));
    }
}

pub(super) fn decimals<T: ArrowPrimitiveType>(
    sums: &mut [u128],
    array: &PrimitiveArray<T>,
    scale: i8,
    hashing: impl Hashing,
    widen: impl Fn(T::Native) -> i256,
) {
    numbers(sums, array, |value| {
        let (digits, scale) = without_trailing_zeros(widen(value), scale);
        hashing.decimal(digits, scale)
    });
}

/// 1.50 and 1.5 are one number; zero has scale 0.
fn without_trailing_zeros(mut digits: i256, scale: i8) -> (i256, i16) {
    let (ten, mut scale) = (i256::from_i128(10), i16::from(scale));
    if digits == i256::ZERO {
        return (digits, 0);
    }
    if let Some(mut short) = digits.to_i128() {
        while short % 10 == 0 {
            short /= 10;
            scale -= 1;
        }
        return (i256::from_i128(short), scale);
    }
    while digits.wrapping_rem(ten) == i256::ZERO {
        digits = digits.wrapping_div(ten);
        scale -= 1;
    }
    (digits, scale)
}
