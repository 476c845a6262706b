//! Hashes of values that are not nested, added row by row.

use arrow::array::*;
use arrow::datatypes::*;
use baler_hash::{LANES, Lanes, hash_9_to_32, hash_16};
use xxhash_rust::xxh3::xxh3_128_with_seed;

pub(super) fn canonical_float(value: f64) -> i128 {
    let value = if value.is_nan() { f64::NAN } else { value };
    i128::from(value.to_bits())
}

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

pub(super) fn numbers<T: ArrowPrimitiveType>(
    sums: &mut [u128],
    array: &PrimitiveArray<T>,
    seed: u64,
    canonical: impl Fn(T::Native) -> i128,
) {
    let hash = |value: T::Native| hash_16(canonical(value).to_le_bytes(), seed);
    let values = &array.values()[..array.len()];
    if array.null_count() > 0 {
        return each(sums, array, |row| hash(values[row]));
    }
    let (mut sums, mut values) = (sums, values);
    if let Some(mut lanes) = Lanes::new() {
        let (many, few) = sums.as_chunks_mut();
        let (many_values, few_values) = values.as_chunks::<LANES>();
        for (sums, values) in many.iter_mut().zip(many_values) {
            fill(&mut lanes, values.iter().map(|value| canonical(*value) as u128));
            add(sums, &lanes.hashes(seed));
        }
        (sums, values) = (few, few_values);
    }
    // Side by side, so that nothing is left to check for each row.
    let rows = sums.iter_mut().zip(values);
    rows.for_each(|(sum, value)| *sum = sum.wrapping_add(hash(*value)));
}

/// Lays values of sixteen bytes into lanes.
#[inline]
pub(super) fn fill(lanes: &mut Lanes, values: impl Iterator<Item = u128>) {
    let places = lanes.first.iter_mut().zip(&mut lanes.last);
    for ((first, last), value) in places.zip(values) {
        (*first, *last) = (value as u64, (value >> 64) as u64);
    }
}

#[inline]
fn add(sums: &mut [u128; LANES], hashes: &[u128; LANES]) {
    for (sum, hash) in sums.iter_mut().zip(hashes) {
        *sum = sum.wrapping_add(*hash);
    }
}

/// Whole numbers that lie close together come again and again: each of them is hashed once, unless many are hashed sooner than looked up.
pub(super) fn wholes<T: ArrowPrimitiveType>(
    sums: &mut [u128],
    array: &PrimitiveArray<T>,
    seed: u64,
    canonical: impl Fn(T::Native) -> i128,
) where
    T::Native: Ord,
{
    if Lanes::new().is_some() {
        return numbers(sums, array, seed, canonical);
    }
    let values = &array.values()[..array.len()];
    let ends = values.iter().min().zip(values.iter().max());
    let Some((least, greatest)) = ends.map(|(min, max)| (canonical(*min), canonical(*max))) else {
        return;
    };
    if array.null_count() > 0 || greatest - least >= array.len() as i128 / TABLE_PAYS {
        return numbers(sums, array, seed, canonical);
    }
    let hashes: Vec<u128> = (least..=greatest)
        .map(|value| hash_16(value.to_le_bytes(), seed))
        .collect();
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = sum.wrapping_add(hashes[(canonical(*value) - least) as usize]);
    }
}

/// So many rows for each number between the least and the greatest make a table of hashes worth it.
const TABLE_PAYS: i128 = 4;

pub(super) fn bytes<'a, A: Array>(
    sums: &mut [u128],
    array: &'a A,
    seed: u64,
    value: impl Fn(&'a A, usize) -> &'a [u8],
) {
    each(sums, array, |row| hash_of(value(array, row), seed));
}

/// The same for values that lie one after another.
pub(super) fn strings<T: ByteArrayType>(sums: &mut [u128], array: &GenericByteArray<T>, seed: u64) {
    let (ends, data) = (array.value_offsets(), array.value_data());
    let value = |start: T::Offset, end: T::Offset| &data[start.as_usize()..end.as_usize()];
    let hash = |row: usize| hash_of(value(ends[row], ends[row + 1]), seed);
    if array.null_count() > 0 {
        return each(sums, array, hash);
    }
    let Some(mut lanes) = Lanes::new() else {
        return each(sums, array, hash);
    };
    for (number, sums) in sums.chunks_mut(LANES).enumerate() {
        let first = number * LANES;
        let row = |lane: usize| value(ends[first + lane], ends[first + lane + 1]);
        match <&mut [u128; LANES]>::try_from(&mut *sums) {
            Ok(sums) if fill_strings(&mut lanes, row) => add(sums, &lanes.hashes(seed)),
            _ => {
                let rows = sums.iter_mut().enumerate();
                rows.for_each(|(lane, sum)| *sum = sum.wrapping_add(hash_of(row(lane), seed)));
            }
        }
    }
}

/// Lays strings into lanes, if all of them fit there.
#[inline]
fn fill_strings<'a>(lanes: &mut Lanes, row: impl Fn(usize) -> &'a [u8]) -> bool {
    for lane in 0..LANES {
        let value = row(lane);
        let (Some(first), Some(last), 9..=16) = (value.first_chunk(), value.last_chunk(), value.len()) else {
            return false;
        };
        lanes.first[lane] = u64::from_le_bytes(*first);
        lanes.last[lane] = u64::from_le_bytes(*last);
        lanes.length[lane] = value.len() as u64;
    }
    true
}

#[inline]
fn hash_of(value: &[u8], seed: u64) -> u128 {
    hash_9_to_32(value, seed).unwrap_or_else(|| xxh3_128_with_seed(value, seed))
}

pub(super) fn decimals<T: ArrowPrimitiveType>(
    sums: &mut [u128],
    array: &PrimitiveArray<T>,
    scale: i8,
    seed: u64,
    widen: impl Fn(T::Native) -> i256,
) {
    let values = array.values();
    each(sums, array, |row| {
        let (digits, scale) = without_trailing_zeros(widen(values[row]), scale);
        let mut bytes = [0; 34];
        bytes[..32].copy_from_slice(&digits.to_le_bytes());
        bytes[32..].copy_from_slice(&scale.to_le_bytes());
        xxh3_128_with_seed(&bytes, seed)
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
