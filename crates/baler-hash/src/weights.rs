//! One product a value: a row is the sum of its values, each times a factor of its column's, and the sum is sealed.
//!
//! ```text
//! number → base + factor × number                                                     modulo 2^128
//! bytes  → base, by their length + factor × first eight + second × last eight; more than sixteen: XXH3-128
//! row    → the sum of its values, sealed: four rounds that mix its halves into each other
//! ```
//!
//! Factors are odd: a number that changes alone always shows, and of changes in several columns hardly one in 2^64 does not. The sum
//! alone would not do: where two rows exchange a value, one's sum gains what the other's loses. The rounds are not linear, so that
//! this shows; and each of them can be undone, so that no two sums become one.

use crate::short::{hash_9_to_32, hash_16};

/// What the values of one kind in one column are weighed with.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    base: u128,
    factor: u128,
    second: u64,
    third: u64,
    seed: u64,
}

impl Weights {
    /// Those that belong to a seed.
    pub fn of(seed: u64) -> Self {
        let drawn = |number: u128| hash_16(number.to_le_bytes(), seed);
        Self {
            base: drawn(0),
            factor: drawn(1) | 1,
            second: drawn(2) as u64 | 1,
            third: drawn(3) as u64,
            seed,
        }
    }

    /// For numbers that count units of so many.
    #[must_use]
    pub fn in_units_of(self, unit: i64) -> Self {
        let factor = self.factor.wrapping_mul(i128::from(unit) as u128);
        Self { factor, ..self }
    }

    /// A number with a sign. Below zero it is 2^64 less than its bits say.
    #[inline]
    pub fn signed(self, number: i64) -> u128 {
        let excess = self.factor as u64 & (number >> 63) as u64;
        self.unsigned(number as u64)
            .wrapping_sub(u128::from(excess) << 64)
    }

    /// A number without a sign.
    #[inline]
    pub fn unsigned(self, number: u64) -> u128 {
        self.base.wrapping_add(times(self.factor, number))
    }

    /// A wide number, and a small one beside it.
    #[inline]
    pub fn pair(self, number: i128, beside: i16) -> u128 {
        self.base
            .wrapping_add(self.factor.wrapping_mul(number as u128))
            .wrapping_add(u128::from(self.second).wrapping_mul(i128::from(beside) as u128))
    }

    /// Any bytes. What is short becomes part of the loop that asks: a call would cost as much as the hash.
    #[inline(always)]
    pub fn bytes(self, value: &[u8]) -> u128 {
        let (first, last) = match value.len() {
            8..=16 => (word(value), word(&value[value.len() - 8..])),
            0..8 => (few(value), 0),
            _ => return many(value, self.seed),
        };
        let length = self.third.rotate_left(value.len() as u32);
        times(self.factor, first)
            .wrapping_add(u128::from(self.second) * u128::from(last))
            .wrapping_add(self.base ^ u128::from(length))
    }

    /// The sum of a structure's fields, as one value.
    #[inline]
    pub fn sealed(self, sum: u128) -> u128 {
        sealed(sum.wrapping_add(self.base))
    }
}

/// What a row's sum becomes before it is added to those of other rows.
#[inline]
pub fn sealed(sum: u128) -> u128 {
    let (low, high) = (sum as u64, (sum >> 64) as u64);
    let high = high ^ folded(low, ROUNDS[0]);
    let low = low ^ folded(high, ROUNDS[1]);
    let high = high ^ folded(low, ROUNDS[2]);
    let low = low ^ folded(high, ROUNDS[3]);
    u128::from(low) | u128::from(high) << 64
}

/// Digits of π behind its point: what is added, and a factor, made odd.
const ROUNDS: [(u64, u64); 4] = [
    (0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d1),
    (0x082e_fa98_ec4e_6c89, 0xbe54_66cf_34e9_0c6d),
    (0x4528_21e6_38d0_1377, 0xc0ac_29b7_c97c_50dd),
    (0x3f84_d5b5_b547_0917, 0x9216_d5d9_8979_fb1b),
];

/// Both halves of a product, over each other: every bit of the word reaches most of the result.
#[inline]
fn folded(word: u64, (added, factor): (u64, u64)) -> u64 {
    let product = u128::from(word.wrapping_add(added)) * u128::from(factor);
    product as u64 ^ (product >> 64) as u64
}

/// Modulo 2^128: one product of which both halves count, and one of which the lower does.
#[inline]
fn times(factor: u128, number: u64) -> u128 {
    let upper = ((factor >> 64) as u64).wrapping_mul(number);
    (u128::from(factor as u64) * u128::from(number)).wrapping_add(u128::from(upper) << 64)
}

#[inline(never)]
fn many(value: &[u8], seed: u64) -> u128 {
    hash_9_to_32(value, seed).unwrap_or_else(|| xxhash_rust::xxh3::xxh3_128_with_seed(value, seed))
}

/// The first eight of at least as many bytes.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}

/// Fewer than eight bytes: beside their number, different for each.
#[inline(never)]
fn few(bytes: &[u8]) -> u64 {
    let half = |bytes: &[u8]| bytes.first_chunk().map_or(0, |first| u32::from_le_bytes(*first));
    match bytes {
        [] => 0,
        [first, .., last] if bytes.len() < 4 => {
            u64::from(*first) | u64::from(bytes[bytes.len() / 2]) << 8 | u64::from(*last) << 16
        }
        [only] => u64::from(*only),
        _ => u64::from(half(bytes)) | u64::from(half(&bytes[bytes.len() - 4..])) << 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const NUMBERS: [i64; 11] = [
        0,
        1,
        -1,
        2,
        255,
        -256,
        1 << 32,
        i64::MAX,
        i64::MIN,
        i64::MIN + 1,
        -1_760_000_000_000,
    ];

    /// A column of 32 bits that another file has in 64 must have the same digests.
    #[test]
    fn a_number_is_the_same_whatever_it_is_written_as() {
        let weights = Weights::of(7);
        for number in NUMBERS {
            assert_eq!(weights.signed(number), weights.pair(number.into(), 0));
            if let Ok(unsigned) = u64::try_from(number) {
                assert_eq!(weights.unsigned(unsigned), weights.signed(number));
            }
        }
        assert_ne!(weights.unsigned(u64::MAX), weights.signed(-1));
        assert_eq!(weights.unsigned(u64::MAX), weights.pair(u64::MAX.into(), 0));
    }

    #[test]
    fn units_are_the_same_time_in_other_words() {
        let weights = Weights::of(7);
        for seconds in NUMBERS {
            let nanos = i128::from(seconds) * 1_000_000_000;
            let counted = weights.in_units_of(1_000_000_000).signed(seconds);
            assert_eq!(counted, weights.pair(nanos, 0));
        }
    }

    /// Every length up to where another function begins, and all that differ in one byte.
    #[test]
    fn no_two_short_strings_are_one() {
        let weights = Weights::of(11);
        let mut strings: BTreeSet<Vec<u8>> = BTreeSet::new();
        for length in 0..=40 {
            for fill in [0, 1, 0xFF] {
                let string = vec![fill; length];
                for place in 0..length {
                    for byte in [0, 1, 2, 0x80, 0xFF] {
                        let mut changed = string.clone();
                        changed[place] = byte;
                        strings.insert(changed);
                    }
                }
                strings.insert(string);
            }
        }
        let hashes: BTreeSet<u128> = strings.iter().map(|string| weights.bytes(string)).collect();
        assert_eq!(hashes.len(), strings.len());
    }

    /// A sum alone would say that nothing happened.
    #[test]
    fn values_that_rows_exchange_show() {
        let (host, count) = (Weights::of(1), Weights::of(2));
        let row = |bytes: &[u8], number: i64| host.bytes(bytes).wrapping_add(count.signed(number));
        let all = |rows: &[u128], seal: fn(u128) -> u128| {
            rows.iter().fold(0u128, |sum, row| sum.wrapping_add(seal(*row)))
        };
        let before = [row(b"a", 1), row(b"b", 2)];
        let after = [row(b"a", 2), row(b"b", 1)];
        assert_eq!(all(&before, |sum| sum), all(&after, |sum| sum));
        assert_ne!(all(&before, sealed), all(&after, sealed));
    }

    /// Three columns of two values each: the rows with an even number of ones have the same pairs of values as those with an odd one,
    /// so that a seal of few products would not tell them apart.
    #[test]
    fn rows_that_agree_in_all_pairs_of_columns_are_told_apart() {
        let columns = [Weights::of(1), Weights::of(2), Weights::of(3)];
        let mut sums = [0u128; 2];
        for row in 0..8u32 {
            let values = (0..3).map(|column| columns[column].signed(i64::from(row >> column & 1)));
            let sum = values.fold(0u128, u128::wrapping_add);
            let side = &mut sums[row.count_ones() as usize % 2];
            *side = side.wrapping_add(sealed(sum));
        }
        assert_ne!(sums[0], sums[1]);
    }

    #[test]
    fn a_seal_can_be_undone() {
        let opened = |seal: u128| {
            let (low, high) = (seal as u64, (seal >> 64) as u64);
            let low = low ^ folded(high, ROUNDS[3]);
            let high = high ^ folded(low, ROUNDS[2]);
            let low = low ^ folded(high, ROUNDS[1]);
            let high = high ^ folded(low, ROUNDS[0]);
            u128::from(low) | u128::from(high) << 64
        };
        for number in 0..10_000u128 {
            let sum = number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834);
            assert_eq!(opened(sealed(sum)), sum);
        }
    }

    /// Half of the bits of a seal change with each bit of the sum.
    #[test]
    fn every_bit_of_a_sum_reaches_all_of_its_seal() {
        let rounds = 400u128;
        for bit in 0..128 {
            let mut changed = [0u32; 128];
            for round in 1..=rounds {
                let sum = round.wrapping_mul(0xDA94_2042_E4DD_58B5_9E37_79B9_7F4A_7C15);
                let difference = sealed(sum) ^ sealed(sum ^ 1 << bit);
                for (place, count) in changed.iter_mut().enumerate() {
                    *count += u32::from(difference >> place & 1 == 1);
                }
            }
            for (place, count) in changed.iter().enumerate() {
                let share = f64::from(*count) / rounds as f64;
                assert!((0.3..0.7).contains(&share), "bit {bit} at {place}: {share}");
            }
        }
    }

    /// The digests of tables lie in their journals: what a value weighs never changes.
    #[test]
    fn weights_stay_what_they_were() {
        let weights = Weights::of(42);
        assert_eq!(
            format!("{:032x}", weights.signed(-5)),
            "9d96189a9d7005d75d38b7b36d05f4f4"
        );
        assert_eq!(
            format!("{:032x}", weights.bytes(b"host-0042")),
            "e63667e5bab101aa89453b33d46a86b8"
        );
        assert_eq!(
            format!("{:032x}", weights.bytes(b"x")),
            "5edc6b7f7c8bd3c70665aa717faf9888"
        );
        assert_eq!(
            format!("{:032x}", weights.sealed(1)),
            "54d2019ac0865581475718eb9b866ecb"
        );
        assert_eq!(format!("{:032x}", sealed(1)), "81f026821141c97b97ea2ebf25ada90c");
    }
}
