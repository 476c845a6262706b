//! DELTA_BINARY_PACKED: differences of neighbours, in blocks whose least difference is told apart, packed as narrow as each
//! quarter of a block allows. Times that follow one another take next to nothing.

use super::bits::{pack, unpack, unpack_wide, width_of};
use super::header::push_varint;

const BLOCK_VALUES: usize = 128;
const MINIS: usize = 4;
const MINI_VALUES: usize = BLOCK_VALUES / MINIS;

/// A 32-bit or a 64-bit integer. Differences wrap around at its width.
pub(crate) trait Whole: Copy {
    fn wide(self) -> i64;
    fn minus(self, other: Self) -> i64;
}

impl Whole for i32 {
    fn wide(self) -> i64 {
        self.into()
    }
    fn minus(self, other: Self) -> i64 {
        self.wrapping_sub(other).into()
    }
}

impl Whole for i64 {
    fn wide(self) -> i64 {
        self
    }
    fn minus(self, other: Self) -> i64 {
        self.wrapping_sub(other)
    }
}

/// The values of a page.
pub(crate) fn encode<W: Whole>(values: &[W]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 + values.len());
    push_varint(&mut bytes, BLOCK_VALUES as u64);
    push_varint(&mut bytes, MINIS as u64);
    push_varint(&mut bytes, values.len() as u64);
    push_zigzag(&mut bytes, values.first().map_or(0, |first| first.wide()));
    let mut excess = [0u64; BLOCK_VALUES];
    let mut at = 1;
    while at < values.len() {
        let count = BLOCK_VALUES.min(values.len() - at);
        let mut least = i64::MAX;
        for (place, pair) in values[at - 1..at + count].windows(2).enumerate() {
            let difference = pair[1].minus(pair[0]);
            least = least.min(difference);
            excess[place] = difference as u64;
        }
        for difference in &mut excess[..count] {
            *difference = difference.wrapping_sub(least as u64);
        }
        excess[count..].fill(0);
        push_zigzag(&mut bytes, least);
        push_minis(&mut bytes, &excess, count.div_ceil(MINI_VALUES));
        at += count;
    }
    bytes
}

/// Widths of all quarters, then those of them that hold values.
fn push_minis(bytes: &mut Vec<u8>, excess: &[u64; BLOCK_VALUES], used: usize) {
    let widths: [u8; MINIS] = std::array::from_fn(|mini| {
        let values = &excess[mini * MINI_VALUES..][..MINI_VALUES];
        width_of(values.iter().fold(0, |all, value| all | value))
    });
    bytes.extend(widths);
    for (mini, width) in widths.iter().enumerate().take(used) {
        pack(&excess[mini * MINI_VALUES..][..MINI_VALUES], *width, bytes);
    }
}

fn push_zigzag(bytes: &mut Vec<u8>, value: i64) {
    push_varint(bytes, (value << 1 ^ value >> 63) as u64);
}

/// How many values a page claims to hold.
pub(crate) fn count_of(bytes: &[u8]) -> Result<u64, String> {
    let mut rest = bytes;
    varint(&mut rest)?;
    varint(&mut rest)?;
    varint(&mut rest)
}

/// Hands over exactly `count` values; those of 32-bit columns are to be cut to their width. Answers with what follows them.
pub(crate) fn decode(bytes: &[u8], count: usize, mut take: impl FnMut(i64)) -> Result<&[u8], String> {
    let mut rest = bytes;
    let block = varint(&mut rest)? as usize;
    let minis = varint(&mut rest)? as usize;
    let total = varint(&mut rest)? as usize;
    let mut last = zigzag(&mut rest)?;
    if total != count {
        return Err(format!(
            "a delta page claims {total} values and should have {count}"
        ));
    }
    let whole = minis > 0 && block.is_multiple_of(minis) && (block / minis).is_multiple_of(32);
    if block == 0 || block > 1 << 20 || !whole {
        return Err(format!(
            "a delta page has blocks of {block} values in {minis} parts"
        ));
    }
    if count > 0 {
        take(last);
    }
    let (mini_values, mut due) = (block / minis, count.saturating_sub(1));
    let mut narrow = Vec::new();
    while due > 0 {
        let least = zigzag(&mut rest)?;
        let widths = split(&mut rest, minis)?;
        for width in widths {
            if due == 0 {
                break;
            }
            if *width > 64 {
                return Err(format!("a delta of {width} bits is too wide"));
            }
            let here = due.min(mini_values);
            // The last part may be cut short by some writers.
            let length = (mini_values * usize::from(*width) / 8).min(rest.len());
            if length * 8 < here * usize::from(*width) {
                return Err("a delta page ends in the middle".into());
            }
            let packed = split(&mut rest, length)?;
            let mut step = |excess: u64| {
                last = last.wrapping_add(least).wrapping_add(excess as i64);
                take(last);
            };
            match *width {
                0 => (0..here).for_each(|_| step(0)),
                1..=16 => {
                    narrow.clear();
                    unpack(packed, *width, here, &mut narrow);
                    narrow.iter().for_each(|excess| step(u64::from(*excess)));
                }
                width => unpack_wide(packed, width, here, step),
            }
            due -= here;
        }
    }
    Ok(rest)
}

/// The same as values of a PLAIN page, 4 or 8 bytes each, in place of what `into` holds.
pub(crate) fn decode_plain(
    bytes: &[u8],
    count: usize,
    width: usize,
    into: &mut Vec<u8>,
) -> Result<(), String> {
    // Every byte is written: what was there before need not be cleared.
    into.resize(count * width, 0);
    match width {
        4 => decode_into::<4>(bytes, count, into),
        8 => decode_into::<8>(bytes, count, into),
        _ => Err(format!("integers of {width} bytes have no differences")),
    }
}

fn decode_into<const WIDTH: usize>(bytes: &[u8], count: usize, into: &mut [u8]) -> Result<(), String> {
    let mut places = into.as_chunks_mut::<WIDTH>().0.iter_mut();
    decode(bytes, count, |value| {
        if let (Some(place), Some(low)) = (places.next(), value.to_le_bytes().first_chunk()) {
            *place = *low;
        }
    })?;
    Ok(())
}

fn split<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (taken, left) = rest
        .split_at_checked(length)
        .ok_or("a delta page ends in the middle")?;
    *rest = left;
    Ok(taken)
}

fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = split(rest, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is longer than 64 bits".into())
}

fn zigzag(rest: &mut &[u8]) -> Result<i64, String> {
    let raw = varint(rest)?;
    Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
}
