//! Many values at once, side by side in registers as wide as the processor has them.
//!
//! The products of 64 by 64 bits that the hash is made of are put together from smaller ones, because no such register multiplies more
//! than 32 by 32. That pays with eight values in a register; with four it does not, and then values are hashed one by one.

use crate::short::{AVALANCHE, FLIP_HIGH, FLIP_LOW, PRIME32_2, PRIME64_1, PRIME64_2};
use crate::sum::Sum;

/// Values that are hashed at once.
pub const LANES: usize = 64;

/// A processor on which many values are hashed sooner together than one by one.
#[derive(Clone, Copy, Debug)]
pub struct Wide(());

/// Some values of 9 to 16 bytes each.
#[derive(Clone, Debug)]
pub struct Strings {
    /// The first eight bytes of each, little end first.
    pub first: [u64; LANES],
    /// The last eight.
    pub last: [u64; LANES],
    /// How many there are.
    pub length: [u64; LANES],
}

impl Strings {
    /// Values of sixteen bytes, all of them zero.
    pub const ZEROS: Self = Self {
        first: [0; LANES],
        last: [0; LANES],
        length: [16; LANES],
    };
}

impl Wide {
    /// Nothing where this is no such processor.
    #[inline]
    pub fn here() -> Option<Self> {
        wide::is_there().then_some(Self(()))
    }

    /// Adds the hash of each string to a sum.
    #[inline]
    pub fn add_strings(self, sums: &mut [Sum; LANES], strings: &Strings, seed: u64) {
        wide::run(AddStrings { sums, strings, seed });
    }

    /// Adds the hash of each number times a factor, as sixteen bytes, to a sum. The products must have room in 64 bits.
    #[inline]
    pub fn add_signed(self, sums: &mut [Sum; LANES], numbers: &[i64; LANES], factor: i64, seed: u64) {
        wide::run(AddSigned {
            sums,
            numbers,
            factor,
            seed,
        });
    }

    /// The same for numbers without a sign.
    #[inline]
    pub fn add_unsigned(self, sums: &mut [Sum; LANES], numbers: &[u64; LANES], seed: u64) {
        wide::run(AddUnsigned { sums, numbers, seed });
    }

    /// Puts the hash of each sum into its place, and gives the sum of all hashes.
    #[inline]
    pub fn seal(self, sums: &mut [Sum; LANES], seed: u64) -> u128 {
        wide::run(Seal { sums, seed })
    }
}

/// Something to do with all lanes, for whatever registers it is compiled for: all of it must become part of its caller.
trait Work {
    type Done;
    fn run(self) -> Self::Done;
}

struct AddStrings<'a> {
    sums: &'a mut [Sum; LANES],
    strings: &'a Strings,
    seed: u64,
}

impl Work for AddStrings<'_> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        let Strings { first, last, length } = self.strings;
        add(self.sums, |lane| {
            mix(first[lane], last[lane], length[lane], self.seed)
        });
    }
}

struct AddSigned<'a> {
    sums: &'a mut [Sum; LANES],
    numbers: &'a [i64; LANES],
    factor: i64,
    seed: u64,
}

impl Work for AddSigned<'_> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        let hash = |number: i64| {
            let number = number.wrapping_mul(self.factor);
            mix(number as u64, (number >> 63) as u64, 16, self.seed)
        };
        match all_alike(self.numbers) {
            Some(number) => add_same(self.sums, hash(number)),
            None => add(self.sums, |lane| hash(self.numbers[lane])),
        }
    }
}

struct AddUnsigned<'a> {
    sums: &'a mut [Sum; LANES],
    numbers: &'a [u64; LANES],
    seed: u64,
}

impl Work for AddUnsigned<'_> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        add(self.sums, |lane| mix(self.numbers[lane], 0, 16, self.seed));
    }
}

struct Seal<'a> {
    sums: &'a mut [Sum; LANES],
    seed: u64,
}

impl Work for Seal<'_> {
    type Done = u128;

    #[inline(always)]
    fn run(self) -> u128 {
        let (low, high) = hashes(|lane| {
            let (first, last) = self.sums[lane].halves();
            mix(first, last, 16, self.seed)
        });
        let mut all = Sum::ZERO;
        for lane in 0..LANES {
            self.sums[lane] = Sum::of_halves(low[lane], high[lane]);
            all.add_halves(low[lane], high[lane]);
        }
        all.whole()
    }
}

/// In sorted rows a number often stays the same for long, and is then hashed once.
#[inline(always)]
fn all_alike(numbers: &[i64; LANES]) -> Option<i64> {
    let differences = numbers.iter().fold(0, |all, number| all | number ^ numbers[0]);
    (differences == 0).then_some(numbers[0])
}

/// Adds one hash to every sum.
#[inline(always)]
fn add_same(sums: &mut [Sum; LANES], (low, high): (u64, u64)) {
    sums.iter_mut().for_each(|sum| sum.add_halves(low, high));
}

/// Hashes first, all of them, and then sums, whose halves lie side by side.
#[inline(always)]
fn add(sums: &mut [Sum; LANES], hash: impl Fn(usize) -> (u64, u64)) {
    let (low, high) = hashes(hash);
    for lane in 0..LANES {
        sums[lane].add_halves(low[lane], high[lane]);
    }
}

/// The low and the high halves of all hashes.
#[inline(always)]
fn hashes(hash: impl Fn(usize) -> (u64, u64)) -> ([u64; LANES], [u64; LANES]) {
    let (mut low, mut high) = ([0; LANES], [0; LANES]);
    for lane in 0..LANES {
        (low[lane], high[lane]) = hash(lane);
    }
    (low, high)
}

/// The same steps as for a single value, without a product of 128 bits.
#[inline(always)]
fn mix(first: u64, last: u64, length: u64, seed: u64) -> (u64, u64) {
    let flipped = first ^ last ^ FLIP_LOW.wrapping_sub(seed);
    let (low, high) = product(flipped, PRIME64_1);
    let low = low.wrapping_add(length.wrapping_sub(1) << 54);
    let last = last ^ FLIP_HIGH.wrapping_add(seed);
    let high = high
        .wrapping_add(last)
        .wrapping_add((last & LOW_HALF).wrapping_mul(PRIME32_2 - 1));
    let (low, upper) = product(low ^ high.swap_bytes(), PRIME64_2);
    let upper = upper.wrapping_add(high.wrapping_mul(PRIME64_2));
    (avalanche(low), avalanche(upper))
}

const LOW_HALF: u64 = 0xFFFF_FFFF;

/// The low and the high half of a product.
#[inline(always)]
fn product(one: u64, other: u64) -> (u64, u64) {
    let ((one_low, one_high), (low, high)) = (parts(one), parts(other));
    let (across, back) = (one_low.wrapping_mul(high), one_high.wrapping_mul(low));
    let middle = (one_low.wrapping_mul(low) >> 32) + (across & LOW_HALF) + (back & LOW_HALF);
    let upper = one_high
        .wrapping_mul(high)
        .wrapping_add(across >> 32)
        .wrapping_add(back >> 32)
        .wrapping_add(middle >> 32);
    (one.wrapping_mul(other), upper)
}

#[inline(always)]
fn parts(whole: u64) -> (u64, u64) {
    (whole & LOW_HALF, whole >> 32)
}

#[inline(always)]
fn avalanche(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 37).wrapping_mul(AVALANCHE);
    hash ^ hash >> 32
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::Work;
    use std::arch::is_x86_feature_detected;

    /// Whether this processor has what `widely` is compiled for. Remembered by the standard library.
    #[inline]
    pub(super) fn is_there() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
    fn widely<W: Work>(work: W) -> W::Done {
        work.run()
    }

    #[inline]
    #[expect(unsafe_code, reason = "only the caller can know what the processor has")]
    pub(super) fn run<W: Work>(work: W) -> W::Done {
        match is_there() {
            // SAFETY: the processor has every feature that the function is compiled for: each of them has just been asked for.
            true => unsafe { widely(work) },
            false => work.run(),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod wide {
    use super::Work;

    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn run<W: Work>(work: W) -> W::Done {
        work.run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_128_with_seed;

    /// Whatever the processor: where it is not wide, the same is done in narrow registers.
    const ANY: Wide = Wide(());

    fn noise(number: u64) -> u128 {
        let low = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let high = low.rotate_left(23).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        u128::from(low) | u128::from(high) << 64
    }

    fn lanes<T>(round: u64, value: impl Fn(u128) -> T) -> [T; LANES] {
        std::array::from_fn(|lane| value(noise(round * 1_000 + lane as u64)))
    }

    /// What comes of adding hashes of these bytes to these sums.
    fn expected(sums: [Sum; LANES], seed: u64, bytes: impl Fn(usize) -> Vec<u8>) -> [Sum; LANES] {
        std::array::from_fn(|lane| {
            let hash = xxh3_128_with_seed(&bytes(lane), seed);
            sums[lane].whole().wrapping_add(hash).into()
        })
    }

    #[test]
    fn hashes_are_those_of_the_general_function() {
        for round in 0..500 {
            let (seed, before) = (noise(round) as u64, lanes(round, Sum::from));
            let values = lanes(round + 7, u128::to_le_bytes);

            let mut strings = Strings::ZEROS;
            let length = |lane: usize| 9 + (round as usize + lane) % 8;
            for lane in 0..LANES {
                let bytes = &values[lane][..length(lane)];
                strings.first[lane] = u64::from_le_bytes(*bytes.first_chunk().expect("nine bytes"));
                strings.last[lane] = u64::from_le_bytes(*bytes.last_chunk().expect("nine bytes"));
                strings.length[lane] = bytes.len() as u64;
            }
            let mut sums = before;
            ANY.add_strings(&mut sums, &strings, seed);
            assert_eq!(
                sums,
                expected(before, seed, |lane| values[lane][..length(lane)].into())
            );

            let signed = lanes(round, |noise| noise as i64);
            let mut sums = before;
            ANY.add_signed(&mut sums, &signed, 1, seed);
            let wide = |lane: usize| i128::from(signed[lane]).to_le_bytes().into();
            assert_eq!(sums, expected(before, seed, wide));

            let short = signed.map(|number| number >> 22);
            let mut sums = before;
            ANY.add_signed(&mut sums, &short, 1_000_000, seed);
            let wide = |lane: usize| (i128::from(short[lane]) * 1_000_000).to_le_bytes().into();
            assert_eq!(sums, expected(before, seed, wide));

            let alike = [signed[0]; LANES];
            let mut sums = before;
            ANY.add_signed(&mut sums, &alike, 1, seed);
            let wide = |_| i128::from(signed[0]).to_le_bytes().into();
            assert_eq!(sums, expected(before, seed, wide));

            let unsigned = lanes(round, |noise| noise as u64);
            let mut sums = before;
            ANY.add_unsigned(&mut sums, &unsigned, seed);
            let wide = |lane: usize| u128::from(unsigned[lane]).to_le_bytes().into();
            assert_eq!(sums, expected(before, seed, wide));

            let mut sums = before;
            let all = ANY.seal(&mut sums, seed);
            assert_eq!(
                sums,
                expected([Sum::ZERO; LANES], seed, |lane| before[lane]
                    .whole()
                    .to_le_bytes()
                    .into())
            );
            assert_eq!(
                all,
                sums.iter()
                    .fold(0, |all: u128, sum| all.wrapping_add(sum.whole()))
            );
        }
    }

    /// A processor whose registers are narrow runs the same steps.
    #[test]
    fn narrow_registers_give_the_same() {
        let (numbers, mut narrow, mut wide) = (
            lanes(3, |noise| noise as i64),
            [Sum::ZERO; LANES],
            [Sum::ZERO; LANES],
        );
        AddSigned {
            sums: &mut narrow,
            numbers: &numbers,
            factor: 1,
            seed: 9,
        }
        .run();
        ANY.add_signed(&mut wide, &numbers, 1, 9);
        assert_eq!(narrow, wide);
    }

    #[test]
    fn a_product_is_the_same_by_halves() {
        let ends = [0, 1, 2, 1 << 32, 1 << 33, u64::MAX, PRIME64_1, PRIME64_2];
        for (one, other) in ends
            .iter()
            .flat_map(|one| ends.iter().map(move |other| (*one, *other)))
        {
            let whole = u128::from(one) * u128::from(other);
            assert_eq!(product(one, other), (whole as u64, (whole >> 64) as u64));
        }
    }
}
