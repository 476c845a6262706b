//! Many values at once, side by side in registers as wide as the processor has them.
//!
//! The products of 64 by 64 bits that the hash is made of are put together from smaller ones, because no such register multiplies more
//! than 32 by 32. That pays with eight values in a register; with four it does not, and then values are hashed one by one.

use crate::short::{AVALANCHE, FLIP_HIGH, FLIP_LOW, PRIME32_2, PRIME64_1, PRIME64_2};

/// Values that are hashed at once.
pub const LANES: usize = 64;

/// Some values of 9 to 16 bytes each.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// The first eight bytes of each, little end first.
    pub first: [u64; LANES],
    /// The last eight.
    pub last: [u64; LANES],
    /// How many there are.
    pub length: [u64; LANES],
}

impl Lanes {
    /// Values of sixteen bytes, all of them zero; nothing where values are hashed quicker one by one.
    pub fn new() -> Option<Self> {
        wide::is_there().then_some(Self {
            first: [0; LANES],
            last: [0; LANES],
            length: [16; LANES],
        })
    }

    /// The hash of each.
    #[inline]
    pub fn hashes(&self, seed: u64) -> [u128; LANES] {
        wide::hashes(self, seed)
    }
}

/// The hashes, for whatever registers the caller is compiled for.
#[inline(always)]
fn hash_all(lanes: &Lanes, seed: u64) -> [u128; LANES] {
    let mut halves = [[0; LANES]; 2];
    for lane in 0..LANES {
        let (low, high) = mix(lanes.first[lane], lanes.last[lane], lanes.length[lane], seed);
        (halves[0][lane], halves[1][lane]) = (low, high);
    }
    std::array::from_fn(|lane| u128::from(halves[0][lane]) | u128::from(halves[1][lane]) << 64)
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
    use super::{LANES, Lanes, hash_all};
    use std::arch::is_x86_feature_detected;

    /// Whether this processor has what `hash_wide` is compiled for. Remembered by the standard library.
    #[inline]
    pub(super) fn is_there() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
    fn hash_wide(lanes: &Lanes, seed: u64) -> [u128; LANES] {
        hash_all(lanes, seed)
    }

    #[inline]
    #[expect(unsafe_code, reason = "only the caller can know what the processor has")]
    pub(super) fn hashes(lanes: &Lanes, seed: u64) -> [u128; LANES] {
        match is_there() {
            // SAFETY: the processor has every feature that the function is compiled for: `is_there` has just asked for each of them.
            true => unsafe { hash_wide(lanes, seed) },
            false => hash_all(lanes, seed),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod wide {
    use super::{LANES, Lanes, hash_all};

    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn hashes(lanes: &Lanes, seed: u64) -> [u128; LANES] {
        hash_all(lanes, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_128_with_seed;

    /// Values of all lengths whose first and last bytes overlap as they do in a slice.
    fn noise(round: u64) -> ([[u8; 16]; LANES], Lanes) {
        let mut values = [[0; 16]; LANES];
        let mut lanes = Lanes {
            first: [0; LANES],
            last: [0; LANES],
            length: [16; LANES],
        };
        for (lane, value) in values.iter_mut().enumerate() {
            let number = round * 1_000 + lane as u64;
            let low = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let high = low.rotate_left(23).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
            *value = (u128::from(low) | u128::from(high) << 64).to_le_bytes();
            let length = 9 + (number % 8) as usize;
            let bytes = &value[..length];
            lanes.first[lane] = u64::from_le_bytes(*bytes.first_chunk().expect("nine bytes"));
            lanes.last[lane] = u64::from_le_bytes(*bytes.last_chunk().expect("nine bytes"));
            lanes.length[lane] = length as u64;
        }
        (values, lanes)
    }

    #[test]
    fn hashes_are_those_of_the_general_function_in_registers_of_any_width() {
        for round in 0..500 {
            let (values, lanes) = noise(round);
            let seed = round.wrapping_mul(0x1656_6791_9E37_79F9);
            let expected: [u128; LANES] = std::array::from_fn(|lane| {
                xxh3_128_with_seed(&values[lane][..lanes.length[lane] as usize], seed)
            });
            assert_eq!(lanes.hashes(seed), expected);
            assert_eq!(hash_all(&lanes, seed), expected, "as any processor does it");
        }
    }

    #[test]
    fn a_product_is_the_same_by_halves() {
        for (one, other) in [(0, 5), (u64::MAX, u64::MAX), (u64::MAX, 2), (1 << 32, 1 << 33), (PRIME64_1, PRIME64_2)] {
            let whole = u128::from(one) * u128::from(other);
            assert_eq!(product(one, other), (whole as u64, (whole >> 64) as u64));
        }
    }
}
