//! The seal of a column: an order-dependent hash of what its pages hold, taken from sources and output apart.
//!
//! ```text
//! copied page    its bytes and what its header says
//! retyped page   the bytes of its values, and which rows are null
//! repacked page  its bytes unpacked, and what its header says
//! other rows     each value that is there, and which rows are null
//! ```

use super::marks::Marks;
use crate::digest::Digest;
use crate::pages::header::{PageKind, PageStatistics};
use crate::pages::plain::{Layout, each_byte_array};
use arrow::buffer::NullBuffer;
use std::fmt;
use std::ops::Range;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// What a column holds, in one number, and how many rows that are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seal {
    hash: u128,
    rows: u64,
    nulls: u64,
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows, {} of them null, sealed {:032x}",
            self.rows, self.nulls, self.hash
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
    /// What this and the other side add to the sums. The column's name is in it, so that columns cannot change places.
    pub(crate) fn beside(self, written: Seal, column: &str) -> Seals {
        let named = |seal: Seal| {
            let mut bytes = column.as_bytes().to_vec();
            bytes.extend(seal.hash.to_le_bytes());
            bytes.extend(seal.rows.to_le_bytes());
            xxh3_128(&bytes)
        };
        Seals::of(named(self), named(written))
    }
}

/// A seal in the making. Where pages begin and end makes no difference to rows that are sealed one by one.
#[derive(Default)]
pub(crate) struct Sealing {
    values: Box<Xxh3>,
    /// Runs of nulls: where each begins, and how long it is.
    gaps: Box<Xxh3>,
    /// The last run, which may go on.
    gap: Range<u64>,
    rows: u64,
    nulls: u64,
    buffer: Vec<u8>,
}

impl Sealing {
    /// Rows so far.
    pub(crate) fn rows_so_far(&self) -> u64 {
        self.rows
    }

    /// Counts rows in; what they hold follows.
    pub(crate) fn rows(&mut self, rows: usize, validity: Option<&NullBuffer>) {
        let Some(validity) = validity else {
            self.rows += rows as u64;
            return;
        };
        let (first, mut at) = (self.rows, 0);
        for (start, end) in validity.valid_slices().chain([(rows, rows)]) {
            self.gap(first + at as u64..first + start as u64);
            at = end;
        }
        self.rows += rows as u64;
    }

    /// Rows that are all null.
    pub(crate) fn nulls(&mut self, rows: usize) {
        self.gap(self.rows..self.rows + rows as u64);
        self.rows += rows as u64;
    }

    fn gap(&mut self, gap: Range<u64>) {
        self.nulls += gap.end - gap.start;
        if gap.start == self.gap.end {
            self.gap.end = gap.end;
        } else if !gap.is_empty() {
            self.close_gap();
            self.gap = gap;
        }
    }

    fn close_gap(&mut self) {
        self.gaps.update(&self.gap.start.to_le_bytes());
        self.gaps.update(&self.gap.end.to_le_bytes());
    }

    /// Values by their numbers in a dictionary.
    pub(crate) fn codes(&mut self, codes: &[u32], marks: &Marks<'_>) {
        marks.gather(codes, &mut self.buffer, |marks| self.values.update(marks));
    }

    /// Values as they lie in a plain page: exactly `count` of them.
    pub(crate) fn plain(&mut self, bytes: &[u8], layout: Layout, count: usize) -> Result<(), String> {
        match layout {
            Layout::Fixed(width) if count.checked_mul(width) == Some(bytes.len()) => {
                self.values.update(bytes);
                Ok(())
            }
            Layout::Bytes => {
                self.buffer.clear();
                let buffer = &mut self.buffer;
                each_byte_array(bytes, count, |value| {
                    buffer.extend_from_slice(&Marks::hash_of(value).to_le_bytes());
                })?;
                self.values.update(&self.buffer);
                Ok(())
            }
            _ => Err("values do not fill their page".into()),
        }
    }

    pub(crate) fn number(&mut self, number: usize) {
        self.values.update(&(number as u64).to_le_bytes());
    }

    /// Bytes of a page.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.values.update(&xxh3_128(bytes).to_le_bytes());
    }

    /// Counts the rows of a page in that is copied or repacked; its bytes follow.
    pub(crate) fn kind(&mut self, kind: &PageKind, unpacked: usize, nulls: usize) {
        let mut kind = kind.clone();
        if let PageKind::V1 { statistics, .. } | PageKind::V2 { statistics, .. } = &mut kind {
            *statistics = PageStatistics::default();
        }
        if let PageKind::V1 { values, .. } | PageKind::V2 { values, .. } = kind {
            self.rows += u64::from(values);
        }
        self.nulls += nulls as u64;
        self.bytes(format!("{kind:?} {unpacked}").as_bytes());
    }

    pub(crate) fn done(mut self) -> Seal {
        self.close_gap();
        self.values.update(&self.gaps.digest128().to_le_bytes());
        Seal {
            hash: self.values.digest128(),
            rows: self.rows,
            nulls: self.nulls,
        }
    }
}
