//! Hashes of structures, lists and maps, from those of what they hold.

use super::flat::each;
use super::hashing::Hashing;
use super::{add_values, hash_values};
use arrow::array::*;
use arrow::error::ArrowError;
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// A structure hashes as the sum of its fields, sealed, so that one of nulls only differs from none.
pub(super) fn structs<H: Hashing>(
    sums: &mut [u128],
    array: &StructArray,
    path: u64,
    hashing: H,
) -> Result<(), ArrowError> {
    let mut inside = vec![0; array.len()];
    for (field, column) in array.fields().iter().zip(array.columns()) {
        let path = xxh3_64_with_seed(field.name().as_bytes(), path);
        add_values::<H>(&mut inside, column, path)?;
    }
    each(sums, array, |row| hashing.sealed(inside[row]));
    Ok(())
}

/// A list hashes as its length and its elements in order; only the elements that a list shows are looked at.
pub(super) fn lists<H: Hashing>(
    sums: &mut [u128],
    array: &dyn Array,
    values: &ArrayRef,
    ends: &[usize],
    path: u64,
    seed: u64,
) -> Result<(), ArrowError> {
    let (first, last) = (ends[0], ends[ends.len() - 1]);
    let elements = hash_values::<H>(&values.slice(first, last - first), path.rotate_left(17) ^ 1)?;
    sequences(sums, array, ends, &[&elements], seed);
    Ok(())
}

pub(super) fn maps<H: Hashing>(
    sums: &mut [u128],
    array: &MapArray,
    path: u64,
    seed: u64,
) -> Result<(), ArrowError> {
    let ends = ends_of(array.value_offsets());
    let (first, last) = (ends[0], ends[ends.len() - 1]);
    let keys = hash_values::<H>(&array.keys().slice(first, last - first), path.rotate_left(17) ^ 2)?;
    let values = hash_values::<H>(
        &array.values().slice(first, last - first),
        path.rotate_left(17) ^ 3,
    )?;
    sequences(sums, array, &ends, &[&keys, &values], seed);
    Ok(())
}

fn sequences(sums: &mut [u128], array: &dyn Array, ends: &[usize], columns: &[&[u128]], seed: u64) {
    each(sums, array, |row| {
        let mut hasher = Xxh3::with_seed(seed);
        hasher.update(&((ends[row + 1] - ends[row]) as u64).to_le_bytes());
        for element in ends[row] - ends[0]..ends[row + 1] - ends[0] {
            columns
                .iter()
                .for_each(|column| hasher.update(&column[element].to_le_bytes()));
        }
        hasher.digest128()
    });
}

/// Where lists begin and end among their elements.
pub(super) fn ends_of<O: OffsetSizeTrait>(offsets: &[O]) -> Vec<usize> {
    offsets.iter().map(|offset| offset.as_usize()).collect()
}
