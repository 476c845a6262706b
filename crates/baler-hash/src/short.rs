//! One value at a time.

/// XOR of two words of the default secret each.
const FLIP_LOW: u64 = 0xcb79_e64e_ccc0_e578_u64.swap_bytes() ^ 0x825a_d07d_ccff_7221_u64.swap_bytes();
const FLIP_HIGH: u64 = 0xb808_4674_f743_248e_u64.swap_bytes() ^ 0xe035_90e6_813a_264c_u64.swap_bytes();
/// Words of the default secret.
const FLIPS_FIRST: [u64; 2] = [
    0xb8fe_6c39_23a4_4bbe_u64.swap_bytes(),
    0x7c01_812c_f721_ad1c_u64.swap_bytes(),
];
const FLIPS_LAST: [u64; 2] = [
    0xded4_6de9_8390_97db_u64.swap_bytes(),
    0x7240_a4a4_b7b3_671f_u64.swap_bytes(),
];
const PRIME32_2: u64 = 0x85EB_CA77;
const PRIME64_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME64_4: u64 = 0x85EB_CA77_C2B2_AE63;
const AVALANCHE: u64 = 0x1656_6791_9E37_79F9;

/// The hash of sixteen bytes.
#[inline]
pub fn hash_16(bytes: [u8; 16], seed: u64) -> u128 {
    let whole = u128::from_le_bytes(bytes);
    mix(whole as u64, (whole >> 64) as u64, 16, seed)
}

/// The hash of 9 to 32 bytes; nothing for fewer or more.
#[inline]
pub fn hash_9_to_32(bytes: &[u8], seed: u64) -> Option<u128> {
    match bytes.len() {
        9..=16 => {
            let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
            let (low, high) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
            Some(mix(low, high, bytes.len() as u64, seed))
        }
        17..=32 => {
            let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
            let (first, last) = (u128::from_le_bytes(*first), u128::from_le_bytes(*last));
            Some(mix_long(halves(first), halves(last), bytes.len() as u64, seed))
        }
        _ => None,
    }
}

/// The low and the high half.
#[inline]
fn halves(whole: u128) -> (u64, u64) {
    (whole as u64, (whole >> 64) as u64)
}

#[inline]
fn mix_long(first: (u64, u64), last: (u64, u64), length: u64, seed: u64) -> u128 {
    let folded = |(low, high): (u64, u64), [flip_low, flip_high]: [u64; 2]| {
        let (low, high) = (
            low ^ flip_low.wrapping_add(seed),
            high ^ flip_high.wrapping_sub(seed),
        );
        let (low, high) = halves(u128::from(low) * u128::from(high));
        low ^ high
    };
    let low = length
        .wrapping_mul(PRIME64_1)
        .wrapping_add(folded(first, FLIPS_FIRST));
    let low = low ^ last.0.wrapping_add(last.1);
    let high = folded(last, FLIPS_LAST) ^ first.0.wrapping_add(first.1);
    let upper = low
        .wrapping_mul(PRIME64_1)
        .wrapping_add(high.wrapping_mul(PRIME64_4))
        .wrapping_add(length.wrapping_sub(seed).wrapping_mul(PRIME64_2));
    let upper = avalanche(upper).wrapping_neg();
    u128::from(avalanche(low.wrapping_add(high))) | u128::from(upper) << 64
}

#[inline]
fn mix(low: u64, high: u64, length: u64, seed: u64) -> u128 {
    let flip_low = FLIP_LOW.wrapping_sub(seed);
    let flip_high = FLIP_HIGH.wrapping_add(seed);
    let product = u128::from(low ^ high ^ flip_low) * u128::from(PRIME64_1);
    let (mut a, mut b) = (product as u64, (product >> 64) as u64);
    a = a.wrapping_add((length - 1) << 54);
    let high = high ^ flip_high;
    b = b
        .wrapping_add(high)
        .wrapping_add(u64::from(high as u32).wrapping_mul(PRIME32_2 - 1));
    a ^= b.swap_bytes();
    let product = u128::from(a) * u128::from(PRIME64_2);
    let upper = ((product >> 64) as u64).wrapping_add(b.wrapping_mul(PRIME64_2));
    u128::from(avalanche(product as u64)) | u128::from(avalanche(upper)) << 64
}

#[inline]
fn avalanche(mut hash: u64) -> u64 {
    hash ^= hash >> 37;
    hash = hash.wrapping_mul(AVALANCHE);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_128_with_seed;

    #[test]
    fn hashes_are_those_of_the_general_function() {
        let mut bytes = [0u8; 36];
        for round in 0..20_000u64 {
            let noise = round.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31);
            bytes[(round % 36) as usize] ^= noise as u8;
            let seed = noise ^ (round << 7);
            for length in 0..=36 {
                let expected = xxh3_128_with_seed(&bytes[..length], seed);
                assert_eq!(
                    hash_9_to_32(&bytes[..length], seed),
                    (9..=32).contains(&length).then_some(expected)
                );
            }
            let sixteen = *bytes.first_chunk().unwrap();
            assert_eq!(hash_16(sixteen, seed), xxh3_128_with_seed(&sixteen, seed));
        }
    }
}
