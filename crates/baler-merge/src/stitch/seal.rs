//! The seal of a column: order-dependent hashes of what its pages hold, taken from sources and output apart.
//!
//! ```text
//! whole    copied page     its bytes and what its header says
//!          retyped page    the bytes of its values, and which rows are null
//!          repacked page   its bytes unpacked, and what its header says
//! single   any other row   its value, or its number in the output's dictionary, or that it is null
//! ```
//!
//! Whole pages are sealed with the row that they begin at, so the rows between them have only one place to be.

use crate::digest::Digest;
use crate::pages::header::PageKind;
use crate::pages::plain::{Layout, each_byte_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::ToByteSlice;
use std::fmt;
use std::ops::Range;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_128};

/// What a column holds, and how many rows that are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seal {
    whole: u128,
    single: u128,
    rows: u64,
    nulls: u64,
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows, {} of them null, sealed {:032x} and {:032x}",
            self.rows, self.nulls, self.whole, self.single
        )
    }
}

/// Seals of what was read and of what was written, each summed up over columns and row groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seals {
    pub(crate) read: Digest,
    pub(crate) written: Digest,
}

impl Seals {
    pub(crate) fn of(read: u128, written: u128) -> Self {
        Self {
            read: Digest::from_bytes(read.to_le_bytes()),
            written: Digest::from_bytes(written.to_le_bytes()),
        }
    }
}

impl std::ops::AddAssign for Seals {
    fn add_assign(&mut self, other: Seals) {
        self.read += other.read;
        self.written += other.written;
    }
}

impl Seal {
    /// Of one column: whole pages as this has them, single rows as the other.
    pub(crate) fn with_rows_of(self, other: Seal) -> Result<Seal, String> {
        match (self.rows, self.nulls) == (other.rows, other.nulls) {
            true => Ok(Seal {
                single: other.single,
                ..self
            }),
            false => Err(format!("its pages have {self}, its rows {other}")),
        }
    }

    /// What this and the other side add to the sums. The column's name is in it, so that columns cannot change places.
    pub(crate) fn beside(self, written: Seal, column: &str) -> Seals {
        let named = |seal: Seal| {
            let mut bytes = column.as_bytes().to_vec();
            bytes.extend(seal.whole.to_le_bytes());
            bytes.extend(seal.single.to_le_bytes());
            bytes.extend(seal.rows.to_le_bytes());
            xxh3_128(&bytes)
        };
        Seals::of(named(self), named(written))
    }
}

/// A seal in the making. Where pages begin and end makes no difference to rows that are sealed one by one.
#[derive(Default)]
pub(crate) struct Sealing {
    whole: Box<Xxh3>,
    whole_gaps: Gaps,
    single: Box<Xxh3>,
    single_gaps: Gaps,
    rows: u64,
    nulls: u64,
    buffer: Vec<u8>,
}

/// Runs of nulls: where each begins, and where it ends.
#[derive(Default)]
struct Gaps {
    hash: Box<Xxh3>,
    /// The last run, which may go on.
    last: Range<u64>,
}

impl Gaps {
    /// Takes in which of the rows from `first` on are null, and says how many.
    fn take(&mut self, first: u64, rows: usize, validity: &NullBuffer) -> u64 {
        let mut at = 0;
        for (start, end) in validity.valid_slices().chain([(rows, rows)]) {
            self.add(first + at as u64..first + start as u64);
            at = end;
        }
        validity.null_count() as u64
    }

    fn add(&mut self, gap: Range<u64>) {
        if gap.start == self.last.end {
            self.last.end = gap.end;
        } else if !gap.is_empty() {
            self.close();
            self.last = gap;
        }
    }

    fn close(&mut self) {
        self.hash.update(&self.last.start.to_le_bytes());
        self.hash.update(&self.last.end.to_le_bytes());
    }

    fn done(mut self) -> u128 {
        self.close();
        self.hash.digest128()
    }
}

impl Sealing {
    /// Rows so far.
    pub(crate) fn rows_so_far(&self) -> u64 {
        self.rows
    }

    /// Counts single rows in; what they hold follows.
    pub(crate) fn rows(&mut self, rows: usize, validity: Option<&NullBuffer>) {
        if let Some(validity) = validity {
            self.nulls += self.single_gaps.take(self.rows, rows, validity);
        }
        self.rows += rows as u64;
    }

    /// Single rows that are all null.
    pub(crate) fn nulls(&mut self, rows: usize) {
        self.single_gaps.add(self.rows..self.rows + rows as u64);
        self.pass(rows, rows);
    }

    /// Counts rows in that are sealed elsewhere.
    pub(crate) fn pass(&mut self, rows: usize, nulls: usize) {
        self.rows += rows as u64;
        self.nulls += nulls as u64;
    }

    /// Values of single rows, by their numbers in the dictionary of the output.
    pub(crate) fn numbers(&mut self, numbers: &[u32]) {
        self.single.update(numbers.to_byte_slice());
    }

    /// Values of single rows, as they lie in a plain page: exactly `count` of them.
    pub(crate) fn plain(&mut self, bytes: &[u8], layout: Layout, count: usize) -> Result<(), String> {
        match layout {
            Layout::Fixed(width) if count.checked_mul(width) == Some(bytes.len()) => {
                self.single.update(bytes);
                Ok(())
            }
            Layout::Bytes => {
                self.buffer.clear();
                let buffer = &mut self.buffer;
                each_byte_array(bytes, count, |value| {
                    buffer.extend_from_slice(&xxh3_64(value).to_le_bytes());
                })?;
                self.single.update(&self.buffer);
                Ok(())
            }
            _ => Err("values do not fill their page".into()),
        }
    }

    /// The values of a page that begins at this row, as they lie: so many of them, so many bytes unpacked. Its rows follow.
    pub(crate) fn lifted(&mut self, bytes: &[u8], unpacked: usize, values: usize) {
        self.bytes(bytes);
        self.whole.update(&(unpacked as u64).to_le_bytes());
        self.whole.update(&(values as u64).to_le_bytes());
    }

    /// Counts rows of a whole page in.
    pub(crate) fn lifted_rows(&mut self, rows: usize, validity: Option<&NullBuffer>) {
        if let Some(validity) = validity {
            self.nulls += self.whole_gaps.take(self.rows, rows, validity);
        }
        self.rows += rows as u64;
    }

    /// Counts the rows of a page in that is copied or repacked; its bytes follow.
    pub(crate) fn kind(&mut self, kind: &PageKind, unpacked: usize, nulls: usize) {
        let kind = kind.without_statistics();
        self.bytes(format!("{kind:?} {unpacked}").as_bytes());
        if let PageKind::V1 { values, .. } | PageKind::V2 { values, .. } = kind {
            self.pass(values as usize, nulls);
        }
    }

    /// Bytes of a whole page.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.whole.update(&self.rows.to_le_bytes());
        self.whole.update(&xxh3_128(bytes).to_le_bytes());
    }

    pub(crate) fn done(mut self) -> Seal {
        self.whole.update(&self.whole_gaps.done().to_le_bytes());
        self.single.update(&self.single_gaps.done().to_le_bytes());
        Seal {
            whole: self.whole.digest128(),
            single: self.single.digest128(),
            rows: self.rows,
            nulls: self.nulls,
        }
    }
}
