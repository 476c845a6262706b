//! An entry: the bytes, a checksum of each block, the key, and a seal over all but the bytes. A stretch is checked by the blocks that it
//! meets, at each read.
//!
//! ```text
//!  bytes … │ 16 bytes for each block of 256 KiB │ key │ magic 8 │ bytes 8 │ key's length 4 │ seal 16
//! ```

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

const MAGIC: &[u8; 8] = b"balercc1";
const BLOCK: u64 = 256 << 10;
const SUM: u64 = 16;
const TRAILER: u64 = 8 + 8 + 4 + SUM;

/// A key is a name and a few numbers.
const KEY_MAX: u64 = 1 << 16;

/// Why a read came to nothing.
#[derive(Debug)]
pub(super) enum Bad {
    /// It is not what was written.
    Damaged,
    /// It cannot be read, or not there.
    Absent,
}

/// Writes an entry.
pub(super) struct Writer<W> {
    to: W,
    sums: Vec<u8>,
    block: Xxh3Default,
    in_block: u64,
    length: u64,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(to: W) -> Self {
        Self {
            to,
            sums: Vec::new(),
            block: Xxh3Default::new(),
            in_block: 0,
            length: 0,
        }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = usize::try_from(BLOCK - self.in_block).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.update(now);
            self.in_block += now.len() as u64;
            if self.in_block == BLOCK {
                self.seal_block();
            }
            bytes = later;
        }
        Ok(())
    }

    fn seal_block(&mut self) {
        self.sums.extend(self.block.digest128().to_le_bytes());
        self.block.reset();
        self.in_block = 0;
    }

    /// After the last byte.
    pub(super) fn finish(mut self, key: &str) -> io::Result<W> {
        if self.in_block > 0 {
            self.seal_block();
        }
        let mut tail = std::mem::take(&mut self.sums);
        tail.extend(key.as_bytes());
        tail.extend(MAGIC);
        tail.extend(self.length.to_le_bytes());
        tail.extend(u32::try_from(key.len()).map_err(io::Error::other)?.to_le_bytes());
        let seal = xxh3_128(&tail);
        tail.extend(seal.to_le_bytes());
        self.to.write_all(&tail)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// A stretch of an entry, if the entry is of this key, and whole where it is read.
pub(super) fn read(file: &File, key: &str, offset: u64, length: usize) -> Result<Bytes, Bad> {
    let (sums, held) = open(file, key)?;
    let end = offset.checked_add(length as u64).filter(|end| *end <= held);
    let end = end.ok_or(Bad::Absent)?;
    let (first, last) = (offset / BLOCK, end.div_ceil(BLOCK));
    let from = first * BLOCK;
    let bytes = exactly(file, from, (last * BLOCK).min(held) - from)?;
    let sums = &sums[usize_of(first * SUM)..usize_of(last * SUM)];
    let blocks = bytes.chunks(usize_of(BLOCK)).zip(sums.chunks(usize_of(SUM)));
    for (block, sum) in blocks {
        if xxh3_128(block).to_le_bytes() != *sum && !baler_core::planted!(CacheUnchecked) {
            return Err(Bad::Damaged);
        }
    }
    let from = usize_of(offset - from);
    Ok(Bytes::from(bytes).slice(from..from + length))
}

/// The checksums of its blocks, and how many bytes it holds.
fn open(file: &File, key: &str) -> Result<(Vec<u8>, u64), Bad> {
    let size = file.metadata().map_err(|_| Bad::Absent)?.len();
    let trailer_at = size.checked_sub(TRAILER).ok_or(Bad::Damaged)?;
    let trailer = exactly(file, trailer_at, TRAILER)?;
    let (magic, rest) = trailer.split_at(8);
    let (held, rest) = rest.split_at(8);
    let (key_length, _seal) = rest.split_at(4);
    let held = u64::from_le_bytes(held.try_into().map_err(|_| Bad::Damaged)?);
    let key_length = u64::from(u32::from_le_bytes(
        key_length.try_into().map_err(|_| Bad::Damaged)?,
    ));
    let sums = held.div_ceil(BLOCK).saturating_mul(SUM);
    let tail = sums.saturating_add(key_length).saturating_add(TRAILER);
    if magic != MAGIC || key_length > KEY_MAX || held.checked_add(tail) != Some(size) {
        return Err(Bad::Damaged);
    }
    let tail = exactly(file, held, tail)?;
    let (sealed, seal) = tail.split_at(tail.len() - usize_of(SUM));
    if xxh3_128(sealed).to_le_bytes() != *seal {
        return Err(Bad::Damaged);
    }
    let (sums, rest) = sealed.split_at(usize_of(sums));
    match &rest[..usize_of(key_length)] == key.as_bytes() {
        true => Ok((sums.to_vec(), held)),
        false => Err(Bad::Damaged),
    }
}

/// One byte less, and it was cut.
fn exactly(file: &File, offset: u64, length: u64) -> Result<Vec<u8>, Bad> {
    let mut bytes = vec![0; usize_of(length)];
    match file.read_exact_at(&mut bytes, offset) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Bad::Damaged),
        Err(_) => Err(Bad::Absent),
    }
}

fn usize_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
