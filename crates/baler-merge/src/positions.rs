//! Which rows of a file were taken: one number, that adds up over ranges to that of all rows, known without looking at any.
//!
//! A row stands for a power of a fixed base, by its position in the file, modulo a prime; rows taken stand for the sum. Rows that lie
//! together are a geometric series, so a slice costs a few multiplications however long it is. A digest tells what rows were taken, and so
//! only whoever has read the whole file knows what it should be. This tells which: a row that one range lost, and another that two
//! ranges took, do not make up for each other.

use crate::decode::OpenFile;
use arrow::buffer::BooleanBuffer;
use std::collections::VecDeque;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Range};

/// 2^61 − 1, a prime.
const PRIME: u64 = (1 << 61) - 1;

/// All its powers differ, for more positions than a file can have.
const BASE: u64 = 0x0a6e_b8c9_bd69_fe29;

/// By which to divide by `BASE - 1`.
const SHARE: u64 = power(BASE - 1, PRIME - 2);

/// Which rows of a file were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Positions(u64);

impl Positions {
    /// No row.
    pub const NONE: Positions = Positions(0);

    /// Each row of a file that has so many, once.
    pub fn all(rows: u64) -> Self {
        Self(series(rows))
    }

    /// These rows.
    pub(crate) fn of(rows: Range<u64>) -> Self {
        let length = rows.end.saturating_sub(rows.start);
        Self(times(power(BASE, rows.start), series(length)))
    }

    /// As a number below 2^61.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl Add for Positions {
    type Output = Positions;
    fn add(self, other: Positions) -> Positions {
        Positions((self.0 + other.0) % PRIME)
    }
}

impl AddAssign for Positions {
    fn add_assign(&mut self, other: Positions) {
        *self = *self + other;
    }
}

impl Sum for Positions {
    fn sum<I: Iterator<Item = Positions>>(positions: I) -> Positions {
        positions.fold(Positions::NONE, Add::add)
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

/// The sum of the first so many powers.
const fn series(powers: u64) -> u64 {
    times((power(BASE, powers) + PRIME - 1) % PRIME, SHARE)
}

/// Where the rows lie that come out of a file, batch by batch.
pub(crate) struct Places {
    /// What is still to come, in the order of the file.
    left: VecDeque<Range<u64>>,
    /// A position, and the power that it stands for: the next one is never far.
    at: u64,
    power: u64,
}

impl Places {
    /// Of all rows that reading the file gives.
    pub(crate) fn of(file: &OpenFile) -> Self {
        Self {
            left: file.positions().into(),
            at: 0,
            power: 1,
        }
    }

    /// The next batch has so many rows, and these of them are taken; all if none are named.
    pub(crate) fn take(&mut self, rows: usize, taken: Option<&BooleanBuffer>) -> Positions {
        let mut sum = Positions::NONE;
        let mut done = 0;
        while done < rows {
            let Some(first) = self.left.front_mut() else {
                break;
            };
            let length = (first.end - first.start).min((rows - done) as u64);
            let start = first.start;
            first.start += length;
            if first.is_empty() {
                self.left.pop_front();
            }
            let length = length as usize;
            match taken {
                None => sum += self.slice(start, length),
                Some(taken) => {
                    for (from, until) in taken.slice(done, length).set_slices() {
                        sum += self.slice(start + from as u64, until - from);
                    }
                }
            }
            done += length;
        }
        sum
    }

    fn slice(&mut self, start: u64, length: usize) -> Positions {
        self.power = times(self.power, power(BASE, start - self.at));
        self.at = start;
        Positions(times(self.power, series(length as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prime's predecessor, taken apart.
    const FACTORS: [u64; 12] = [2, 3, 5, 7, 11, 13, 31, 41, 61, 151, 331, 1321];

    #[test]
    fn no_two_positions_stand_for_the_same() {
        assert!(FACTORS.iter().all(|factor| (PRIME - 1).is_multiple_of(*factor)));
        let rest = FACTORS.iter().fold(PRIME - 1, |mut rest, factor| {
            while rest.is_multiple_of(*factor) {
                rest /= factor;
            }
            rest
        });
        assert_eq!(rest, 1, "these are all of its factors");
        for factor in FACTORS {
            assert_ne!(power(BASE, (PRIME - 1) / factor), 1, "its powers repeat too soon");
        }
    }

    #[test]
    fn a_slice_is_the_sum_of_its_rows() {
        let one_by_one = |rows: Range<u64>| rows.map(|row| Positions(power(BASE, row))).sum::<Positions>();
        for rows in [0..0, 0..1, 0..7, 3..4, 5..105, 1_000_000..1_000_031] {
            assert_eq!(Positions::of(rows.clone()), one_by_one(rows));
        }
        assert_eq!(Positions::all(105), Positions::of(0..5) + Positions::of(5..105));
    }

    #[test]
    fn batches_find_their_rows_whatever_was_left_out() {
        let mut places = Places {
            left: [10..14, 20..21, 30..40].into(),
            at: 0,
            power: 1,
        };
        let taken = BooleanBuffer::from(vec![true, false, true, true, true, false]);
        let rows = |rows: &[u64]| rows.iter().map(|row| Positions::of(*row..*row + 1)).sum();
        assert_eq!(places.take(6, Some(&taken)), rows(&[10, 12, 13, 20]));
        assert_eq!(places.take(3, None), rows(&[31, 32, 33]));
        assert_eq!(places.take(0, None), Positions::NONE);
        assert_eq!(places.take(6, None), Positions::of(34..40));
    }

    /// Trap: one row is lost and another doubled, and every count stays as it was.
    #[test]
    fn rows_that_were_lost_and_doubled_do_not_make_up_for_each_other() {
        let all = Positions::all(1_000);
        for (lost, doubled) in [(0, 1), (7, 993), (499, 500), (999, 0)] {
            let read =
                Positions::of(0..lost) + Positions::of(lost + 1..1_000) + Positions::of(doubled..doubled + 1);
            assert_ne!(read, all);
        }
    }
}
