//! Which rows of a file were read: one number, that adds up over ranges to that of all rows, known without looking at any.
//!
//! A row stands for a power of a fixed base, by its position in the file, modulo a prime; rows read stand for the sum. Counts
//! alone would let a row that one range lost and another that two ranges read make up for each other. The merge engine
//! does the same sums by itself: neither takes the other's word for it.

use std::fmt;
use std::iter::Sum;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::ids::NotAnId;

/// 2^61 − 1, a prime.
const PRIME: u64 = (1 << 61) - 1;

/// All its powers differ, for more positions than a file can have.
const BASE: u64 = 0x0a6e_b8c9_bd69_fe29;

/// By which to divide by `BASE - 1`.
const SHARE: u64 = power(BASE - 1, PRIME - 2);

/// Which rows of a file were read, each as often as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Positions(u64);

impl Positions {
    /// As the merge engine tells them.
    pub fn from_number(number: u64) -> Self {
        Self(number % PRIME)
    }

    /// Each row of a file that has so many, once.
    pub fn all(rows: u64) -> Self {
        Self::of(0..rows)
    }

    /// These rows, counted from 0.
    pub fn of(rows: Range<u64>) -> Self {
        let length = rows.end.saturating_sub(rows.start);
        // The sum of a geometric series.
        let series = times((power(BASE, length) + PRIME - 1) % PRIME, SHARE);
        Self(times(power(BASE, rows.start), series))
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0) % PRIME)
    }

    /// What lacks to the whole.
    #[cfg(test)]
    pub(crate) fn lacking_to(self, whole: Self) -> Self {
        Self((whole.0 + PRIME - self.0) % PRIME)
    }
}

impl Sum for Positions {
    fn sum<I: Iterator<Item = Self>>(positions: I) -> Self {
        positions.fold(Self::default(), Self::plus)
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<Positions> for String {
    fn from(positions: Positions) -> Self {
        positions.to_string()
    }
}

impl TryFrom<String> for Positions {
    type Error = NotAnId;
    fn try_from(text: String) -> Result<Self, NotAnId> {
        let number = u64::from_str_radix(&text, 16).ok().map(Self);
        number
            .filter(|positions| positions.0 < PRIME && positions.to_string() == text)
            .ok_or(NotAnId)
    }
}

const fn times(a: u64, b: u64) -> u64 {
    (a as u128 * b as u128 % PRIME as u128) as u64
}

const fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut square, mut result) = (base % PRIME, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_parts_add_up_to_the_whole() {
        let one_by_one = |rows: Range<u64>| rows.map(|row| Positions(power(BASE, row))).sum::<Positions>();
        for rows in [0..0, 0..1, 3..4, 5..105] {
            assert_eq!(Positions::of(rows.clone()), one_by_one(rows));
        }
        let parts = [40..100, 0..7, 7..40].map(Positions::of);
        assert_eq!(parts.into_iter().sum::<Positions>(), Positions::all(100));
        let largest = Positions::all(u64::MAX);
        assert_ne!(largest, Positions::all(u64::MAX - 1));
    }

    #[test]
    fn positions_are_written_in_one_way() {
        let some = Positions::of(3..9);
        assert_eq!(Positions::try_from(String::from(some)), Ok(some));
        for wrong in [
            "",
            "7",
            "ffffffffffffffff",
            "+00000000000000f",
            "00000000000000F0",
        ] {
            assert_eq!(Positions::try_from(wrong.to_owned()), Err(NotAnId), "{wrong}");
        }
    }
}
