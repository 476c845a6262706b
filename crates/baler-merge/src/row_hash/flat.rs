//! Hashes of values that are not nested, added row by row.

use arrow::array::*;
use arrow::datatypes::*;
use baler_hash::{LANES, Strings, Sum, Wide, hash_9_to_32, hash_16};
use xxhash_rust::xxh3::xxh3_128_with_seed;

pub(super) fn canonical_float(value: f64) -> i128 {
    let value = if value.is_nan() { f64::NAN } else { value };
    i128::from(value.to_bits())
}

/// Adds what `hash` says of each value that is there.
pub(super) fn each(sums: &mut [Sum], array: &dyn Array, hash: impl Fn(usize) -> u128) {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => {
            for (row, sum) in sums.iter_mut().enumerate() {
                sum.add(hash(row));
            }
        }
        Some(nulls) => {
            for row in nulls.valid_indices() {
                sums[row].add(hash(row));
            }
        }
    }
}

pub(super) fn numbers<T: ArrowPrimitiveType>(
    sums: &mut [Sum],
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
    if let Some(wide) = Wide::here() {
        let (many, few) = sums.as_chunks_mut();
        let (many_values, few_values) = values.as_chunks();
        for (sums, values) in many.iter_mut().zip(many_values) {
            if !add_many(wide, sums, values, seed, &canonical) {
                let rows = sums.iter_mut().zip(values);
                rows.for_each(|(sum, value)| sum.add(hash(*value)));
            }
        }
        (sums, values) = (few, few_values);
    }
    // Side by side, so that nothing is left to check for each row.
    let rows = sums.iter_mut().zip(values);
    rows.for_each(|(sum, value)| sum.add(hash(*value)));
}

/// Adds hashes of numbers of 64 bits, with a sign or without; says no if one of them is longer.
#[inline]
fn add_many<N: Copy>(
    wide: Wide,
    sums: &mut [Sum; LANES],
    values: &[N; LANES],
    seed: u64,
    canonical: impl Fn(N) -> i128,
) -> bool {
    let (mut numbers, mut beyond_signed, mut beyond_unsigned) = ([0; LANES], 0, 0);
    for (number, value) in numbers.iter_mut().zip(values) {
        let whole = canonical(*value);
        let high = (whole >> 64) as i64;
        *number = whole as i64;
        beyond_signed |= high ^ (*number >> 63);
        beyond_unsigned |= high;
    }
    match (beyond_signed, beyond_unsigned) {
        (0, _) => wide.add_signed(sums, &numbers, 1, seed),
        (_, 0) => wide.add_unsigned(sums, &numbers.map(|number| number as u64), seed),
        _ => return false,
    }
    true
}

/// Times in nanoseconds, of which each tick has so many.
pub(super) fn times(sums: &mut [Sum], ticks: &PrimitiveArray<Int64Type>, seed: u64, nanos: i64) {
    let in_nanos = |ticks: i64| i128::from(ticks) * i128::from(nanos);
    let Some(wide) = Wide::here().filter(|_| ticks.null_count() == 0) else {
        return numbers(sums, ticks, seed, in_nanos);
    };
    // So many bits of a number leave room for the product.
    let bits = nanos.leading_zeros() - 1;
    let (many, few) = sums.as_chunks_mut();
    let (many_ticks, few_ticks) = ticks.values().as_chunks();
    let one_by_one = |sums: &mut [Sum], ticks: &[i64]| {
        for (sum, ticks) in sums.iter_mut().zip(ticks) {
            sum.add(hash_16(in_nanos(*ticks).to_le_bytes(), seed));
        }
    };
    for (sums, ticks) in many.iter_mut().zip(many_ticks) {
        let beyond = ticks
            .iter()
            .fold(0, |all, ticks| all | (ticks ^ ticks >> 63) >> bits);
        match beyond {
            0 => wide.add_signed(sums, ticks, nanos, seed),
            _ => one_by_one(sums, ticks),
        }
    }
    one_by_one(few, few_ticks);
}

/// Whole numbers that lie close together come again and again: each of them is hashed once, unless many are hashed sooner than looked up.
pub(super) fn wholes<T: ArrowPrimitiveType>(
    sums: &mut [Sum],
    array: &PrimitiveArray<T>,
    seed: u64,
    canonical: impl Fn(T::Native) -> i128,
) where
    T::Native: Ord,
{
    if Wide::here().is_some() {
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
        sum.add(hashes[(canonical(*value) - least) as usize]);
    }
}

/// So many rows for each number between the least and the greatest make a table of hashes worth it.
const TABLE_PAYS: i128 = 4;

pub(super) fn bytes<'a, A: Array>(
    sums: &mut [Sum],
    array: &'a A,
    seed: u64,
    value: impl Fn(&'a A, usize) -> &'a [u8],
) {
    each(sums, array, |row| hash_of(value(array, row), seed));
}

/// The same for values that lie one after another.
pub(super) fn strings<T: ByteArrayType>(sums: &mut [Sum], array: &GenericByteArray<T>, seed: u64) {
    let (ends, data) = (array.value_offsets(), array.value_data());
    let value = |start: T::Offset, end: T::Offset| &data[start.as_usize()..end.as_usize()];
    let hash = |row: usize| hash_of(value(ends[row], ends[row + 1]), seed);
    if array.null_count() > 0 {
        return each(sums, array, hash);
    }
    let Some(wide) = Wide::here() else {
        return each(sums, array, hash);
    };
    let mut strings = Strings::ZEROS;
    for (number, sums) in sums.chunks_mut(LANES).enumerate() {
        let first = number * LANES;
        let row = |lane: usize| value(ends[first + lane], ends[first + lane + 1]);
        match <&mut [Sum; LANES]>::try_from(&mut *sums) {
            Ok(sums) if fill(&mut strings, row) => wide.add_strings(sums, &strings, seed),
            _ => {
                let rows = sums.iter_mut().enumerate();
                rows.for_each(|(lane, sum)| sum.add(hash_of(row(lane), seed)));
            }
        }
    }
}

/// Lays strings side by side, if all of them are short enough.
#[inline]
fn fill<'a>(strings: &mut Strings, row: impl Fn(usize) -> &'a [u8]) -> bool {
    for lane in 0..LANES {
        let value = row(lane);
        let (Some(first), Some(last), 9..=16) = (value.first_chunk(), value.last_chunk(), value.len()) else {
            return false;
        };
        strings.first[lane] = u64::from_le_bytes(*first);
        strings.last[lane] = u64::from_le_bytes(*last);
        strings.length[lane] = value.len() as u64;
    }
    true
}

#[inline]
fn hash_of(value: &[u8], seed: u64) -> u128 {
    hash_9_to_32(value, seed).unwrap_or_else(|| xxh3_128_with_seed(value, seed))
}

pub(super) fn decimals<T: ArrowPrimitiveType>(
    sums: &mut [Sum],
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
