//! The hybrid of runs and bit-packed blocks in which Parquet keeps dictionary indices and levels.

use super::bits::{BLOCK, Code, pack, unpack, width_of};
use super::header::push_varint;

/// Indices as a data page holds them: a byte that says how wide they are, then the hybrid. `values` is how many values the
/// dictionary has.
pub(crate) fn encode_indices<C: Code>(codes: &[C], values: usize) -> Vec<u8> {
    let width = width_of(values.saturating_sub(1) as u64);
    let mut bytes = Vec::with_capacity(2 + codes.len() * usize::from(width) / 8);
    bytes.push(width);
    encode(codes, width, &mut bytes);
    bytes
}

/// Runs of equal blocks become runs, all else is packed.
pub(crate) fn encode<C: Code>(codes: &[C], width: u8, into: &mut Vec<u8>) {
    let mut rest = codes;
    while !rest.is_empty() {
        let packed = blocks_to_pack(rest);
        let (first, others) = rest.split_at((packed * BLOCK).min(rest.len()));
        if packed > 0 {
            push_varint(into, (packed as u64) << 1 | 1);
            let start = into.len();
            pack(first, width, into);
            into.resize(start + packed * usize::from(width), 0);
        }
        let run = run_at(others);
        if run > 0 {
            push_varint(into, (run as u64) << 1);
            let bytes = others[0].wide().to_le_bytes();
            into.extend_from_slice(&bytes[..usize::from(width).div_ceil(8)]);
        }
        rest = &others[run..];
    }
}

/// Blocks until one whose codes are all equal.
fn blocks_to_pack<C: Code>(codes: &[C]) -> usize {
    let equal = |block: &[C]| block.len() == BLOCK && block.iter().all(|code| *code == block[0]);
    codes.chunks(BLOCK).take_while(|block| !equal(block)).count()
}

/// Equal codes at the beginning.
fn run_at<C: Code>(codes: &[C]) -> usize {
    codes.iter().take_while(|code| **code == codes[0]).count()
}

/// Appends `count` indices of a data page.
pub(crate) fn decode_indices(bytes: &[u8], count: usize, into: &mut Vec<u32>) -> Result<(), String> {
    match bytes.split_first() {
        Some((width, rest)) => decode(rest, *width, count, into),
        None if count == 0 => Ok(()),
        None => Err("a page of indices is empty".into()),
    }
}

/// Appends `count` numbers of a hybrid.
pub(crate) fn decode(bytes: &[u8], width: u8, count: usize, into: &mut Vec<u32>) -> Result<(), String> {
    let mut runs = Runs::new(bytes, width)?;
    let mut due = count;
    while due > 0 {
        match runs.next_run()? {
            Run::Equal(value, length) => {
                let length = length.min(due);
                into.resize(into.len() + length, value);
                due -= length;
            }
            Run::Packed(bytes, length) => {
                let length = length.min(due);
                unpack(bytes, width, length, into);
                due -= length;
            }
        }
    }
    Ok(())
}

/// A stretch of a hybrid.
pub(crate) enum Run<'a> {
    /// A value, so many times.
    Equal(u32, usize),
    /// Packed numbers, so many at most.
    Packed(&'a [u8], usize),
}

/// The stretches of a hybrid, one after another.
pub(crate) struct Runs<'a> {
    rest: &'a [u8],
    width: u8,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(bytes: &'a [u8], width: u8) -> Result<Self, String> {
        match width <= 32 {
            true => Ok(Self { rest: bytes, width }),
            false => Err(format!("indices of {width} bits are too wide")),
        }
    }

    pub(crate) fn next_run(&mut self) -> Result<Run<'a>, String> {
        let head = self.varint()?;
        let length = usize::try_from(head >> 1).map_err(|_| "a run is too long")?;
        if length == 0 {
            return Err("a run is empty".into());
        }
        if head & 1 == 0 {
            let bytes = self.take(usize::from(self.width).div_ceil(8))?;
            let mut value = [0; 4];
            value[..bytes.len()].copy_from_slice(bytes);
            return Ok(Run::Equal(u32::from_le_bytes(value), length));
        }
        // Some writers leave the last block short.
        let wanted = length
            .saturating_mul(usize::from(self.width))
            .min(self.rest.len());
        let numbers = match self.width {
            0 => length.saturating_mul(BLOCK),
            width => length.saturating_mul(BLOCK).min(wanted * 8 / usize::from(width)),
        };
        if numbers == 0 {
            return Err("packed numbers end in the middle".into());
        }
        Ok(Run::Packed(self.take(wanted)?, numbers))
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("the length of a run is longer than 64 bits".into())
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or("indices or levels end in the middle")?;
        self.rest = rest;
        Ok(taken)
    }
}
