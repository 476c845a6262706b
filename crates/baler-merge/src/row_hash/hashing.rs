//! How single values are hashed: what a table of today asks for, and what tables asked for before.

use arrow::datatypes::i256;
use baler_hash::{Weights, hash_9_to_32, hash_16, sealed};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// How rows are hashed. Digests of two kinds have nothing to do with each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RowHash {
    /// XXH3-128 of each value, and of their sum.
    Xxh3,
    /// Each value times a factor, and their sum sealed: a third of the work.
    #[default]
    Weighted,
}

/// Hashes the values of one kind in one column.
pub(super) trait Hashing: Copy {
    /// That of a seed.
    fn of(seed: u64) -> Self;
    /// For numbers that count units of so many.
    fn in_units_of(self, unit: i64) -> Self;
    /// A number that has room in 64 bits, and a sign.
    fn signed(self, number: i64) -> u128;
    /// A number without a sign.
    fn unsigned(self, number: u64) -> u128;
    /// A number of up to 128 bits.
    fn wide(self, number: i128) -> u128;
    /// A decimal without trailing zeros.
    fn decimal(self, digits: i256, scale: i16) -> u128;
    /// Any bytes.
    fn bytes(self, value: &[u8]) -> u128;
    /// Fields that belong together, by the sum of theirs.
    fn sealed(self, sum: u128) -> u128;
    /// A row, by the sum of its values.
    fn row(sum: u128, seed: u64) -> u128;
}

#[derive(Clone, Copy)]
pub(super) struct Xxh3Of {
    seed: u64,
    unit: i64,
}

impl Hashing for Xxh3Of {
    fn of(seed: u64) -> Self {
        Self { seed, unit: 1 }
    }

    fn in_units_of(self, unit: i64) -> Self {
        Self { unit, ..self }
    }

    #[inline]
    fn signed(self, number: i64) -> u128 {
        self.wide(i128::from(number) * i128::from(self.unit))
    }

    #[inline]
    fn unsigned(self, number: u64) -> u128 {
        self.wide(i128::from(number))
    }

    #[inline]
    fn wide(self, number: i128) -> u128 {
        hash_16(number.to_le_bytes(), self.seed)
    }

    fn decimal(self, digits: i256, scale: i16) -> u128 {
        self.bytes(&decimal_bytes(digits, scale))
    }

    #[inline]
    fn bytes(self, value: &[u8]) -> u128 {
        hash_9_to_32(value, self.seed).unwrap_or_else(|| xxh3_128_with_seed(value, self.seed))
    }

    #[inline]
    fn sealed(self, sum: u128) -> u128 {
        hash_16(sum.to_le_bytes(), self.seed)
    }

    #[inline]
    fn row(sum: u128, seed: u64) -> u128 {
        hash_16(sum.to_le_bytes(), seed)
    }
}

impl Hashing for Weights {
    fn of(seed: u64) -> Self {
        Self::of(seed)
    }

    fn in_units_of(self, unit: i64) -> Self {
        self.in_units_of(unit)
    }

    #[inline]
    fn signed(self, number: i64) -> u128 {
        self.signed(number)
    }

    #[inline]
    fn unsigned(self, number: u64) -> u128 {
        self.unsigned(number)
    }

    fn wide(self, number: i128) -> u128 {
        self.pair(number, 0)
    }

    #[inline]
    fn decimal(self, digits: i256, scale: i16) -> u128 {
        match digits.to_i128() {
            Some(digits) => self.pair(digits, scale),
            None => self.bytes(&decimal_bytes(digits, scale)),
        }
    }

    #[inline(always)]
    fn bytes(self, value: &[u8]) -> u128 {
        self.bytes(value)
    }

    #[inline]
    fn sealed(self, sum: u128) -> u128 {
        self.sealed(sum)
    }

    #[inline]
    fn row(sum: u128, _seed: u64) -> u128 {
        sealed(sum)
    }
}

fn decimal_bytes(digits: i256, scale: i16) -> [u8; 34] {
    let mut bytes = [0; 34];
    bytes[..32].copy_from_slice(&digits.to_le_bytes());
    bytes[32..].copy_from_slice(&scale.to_le_bytes());
    bytes
}
