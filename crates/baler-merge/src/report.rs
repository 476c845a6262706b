//! What a merge did, in figures; and the check that they balance.

use crate::digest::Digest;
use crate::error::MergeError;
use crate::key_range::KeyRange;
use crate::key_span::KeySpan;
use crate::positions::Positions;
use crate::proved::{self, ProvedStretch};
use crate::row_time::RowTimes;
use crate::spec::SortColumn;

/// Name of the rule that drops rows for a newer row of their key, whatever becomes of that one.
pub const OLDER_VERSION: &str = "older version";
/// Name of the rule that drops tombstones.
pub const DELETED: &str = "deleted";
/// Name of the rule that drops rows past their time.
pub const EXPIRED: &str = "expired";

/// What a merge did. It is returned only if [`Report::prove`] holds; the caller may ask again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// One for each input, in the order given.
    pub inputs: Vec<InputReport>,
    /// One for each output, in the order of their parts. None if the inputs have no rows or rules took all of them.
    pub outputs: Vec<OutputReport>,
    /// What rules took away, one for each rule that took any.
    pub drops: Vec<Dropped>,
    /// Rows whose pages were copied without being decoded.
    pub copied: Copied,
    /// How rows got into the outputs.
    pub ways: Ways,
    /// The same, stretch by stretch in the order of the outputs, and how each is proved.
    pub stretches: Vec<ProvedStretch>,
    /// Laid aside in the spill directory, because it did not fit in memory.
    pub spilled_bytes: u64,
    /// The range that was merged: all keys, unless the job was cut.
    pub range: KeySpan,
    /// The order that the outputs have, checked row by row; empty if none is claimed.
    pub sorted_by: Vec<SortColumn>,
}

/// What was read of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputReport {
    /// Rows that the footer claims.
    pub rows_in_footer: u64,
    /// Rows of the range that were decoded or copied.
    pub rows_read: u64,
    /// Those among them that were copied.
    pub rows_copied: u64,
    /// Which rows of the file these are.
    pub positions: Positions,
    /// Digest of the decoded rows of the range, before anything else was done to them.
    pub digest: Digest,
}

/// Rows proved by the bytes of their pages: for each column of each row group a seal from either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// How many.
    pub rows: u64,
    /// Sum of the seals taken from the inputs.
    pub read: Digest,
    /// Sum of the seals taken from what the outputs were handed.
    pub written: Digest,
}

/// How many rows got into the outputs, or were dropped, by which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ways {
    /// In row groups that were copied whole.
    pub copied: u64,
    /// In row groups that were made of copied pages.
    pub stitched: u64,
    /// Row by row.
    pub merged: u64,
}

/// What was written to an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputReport {
    /// Number of the output, from 0.
    pub part: u32,
    /// Length of the file.
    pub bytes: u64,
    /// Rows in it.
    pub rows: u64,
    /// Those among them that were copied.
    pub rows_copied: u64,
    /// Digest of the others as the encoder was handed them.
    pub digest: Digest,
    /// XXH3-128 of the file's bytes.
    pub checksum: u128,
    /// Keys of its first and last row, under a keyed rule by the key alone; none if no order is claimed.
    pub keys: Option<KeyRange>,
    /// Bounds of its row times as the encoder was handed them; none without a row time column, or if a row has no time.
    pub times: Option<RowTimes>,
    /// Row groups in it.
    pub row_groups: u32,
    /// Size of all pages before compression.
    pub uncompressed_bytes: u64,
}

/// Rows that a rule took away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// [`OLDER_VERSION`], [`DELETED`] or [`EXPIRED`].
    pub rule: &'static str,
    /// How many.
    pub rows: u64,
    /// Digest of them.
    pub digest: Digest,
}

impl InputReport {
    /// An input without rows.
    pub(crate) const EMPTY: InputReport = InputReport {
        rows_in_footer: 0,
        rows_read: 0,
        rows_copied: 0,
        positions: Positions::NONE,
        digest: Digest::EMPTY,
    };
}

impl Report {
    /// Rows of all inputs.
    pub fn rows_in(&self) -> u64 {
        self.inputs.iter().map(|input| input.rows_read).sum()
    }

    /// Rows of all outputs.
    pub fn rows_out(&self) -> u64 {
        self.outputs.iter().map(|output| output.rows).sum()
    }

    /// What left the inputs as bytes reached the outputs as bytes.
    fn prove_copies(&self) -> Result<(), MergeError> {
        let taken: u64 = self.inputs.iter().map(|input| input.rows_copied).sum();
        let put: u64 = self.outputs.iter().map(|output| output.rows_copied).sum();
        if taken != self.copied.rows || put != self.copied.rows {
            return Err(MergeError::Proof(format!(
                "{taken} rows were copied from the inputs, {put} to the outputs"
            )));
        }
        match self.copied.read == self.copied.written {
            true => Ok(()),
            false => Err(MergeError::Proof(
                "the pages that were written are not those that were copied".into(),
            )),
        }
    }

    /// Rows and digests balance: what went in came out or was dropped by a rule, and every input was read whole. If the job was
    /// cut, that only the sums over all ranges can show.
    pub fn prove(&self) -> Result<(), MergeError> {
        for (index, input) in self.inputs.iter().enumerate() {
            let is_short = self.range.is_all() && input.rows_read < input.rows_in_footer;
            if is_short || input.rows_read > input.rows_in_footer {
                return Err(MergeError::Proof(format!(
                    "{} of {} rows of input {index} were read",
                    input.rows_read, input.rows_in_footer
                )));
            }
            if self.range.is_all() && input.positions != Positions::all(input.rows_in_footer) {
                return Err(MergeError::Proof(format!(
                    "the {} rows that were read of input {index} are not each row of it once",
                    input.rows_read
                )));
            }
        }
        let dropped_rows: u64 = self.drops.iter().map(|drop| drop.rows).sum();
        let (rows_in, rows_out) = (self.rows_in(), self.rows_out());
        if rows_in != rows_out + dropped_rows {
            return Err(MergeError::Proof(format!(
                "{rows_in} rows went in, {rows_out} came out and {dropped_rows} were dropped"
            )));
        }
        self.prove_copies()?;
        let digest_in: Digest = self.inputs.iter().map(|input| input.digest).sum();
        let digest_out: Digest = self.outputs.iter().map(|output| output.digest).sum();
        let digest_dropped: Digest = self.drops.iter().map(|drop| drop.digest).sum();
        if digest_in != digest_out + digest_dropped {
            return Err(MergeError::Proof(format!(
                "the rows that went in ({digest_in}) are not those that came out ({digest_out}) or were dropped ({digest_dropped})"
            )));
        }
        proved::prove(&self.stretches, rows_in)
    }
}
