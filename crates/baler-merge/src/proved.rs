//! The stretches of a merge as its report tells them: which way each went, why, and the two sums that prove it.

use crate::digest::Digest;
use crate::error::MergeError;
use crate::paths::Path;

/// How a stretch gets into the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// In row groups that are copied whole.
    Copied,
    /// In row groups that are made of copied pages.
    Stitched,
    /// Row by row.
    Merged,
}

impl From<Path> for Way {
    fn from(path: Path) -> Self {
        match path {
            Path::Copy => Self::Copied,
            Path::Stitch => Self::Stitched,
            Path::Merge => Self::Merged,
        }
    }
}

/// A stretch of rows as they follow one another in the outputs, all of which went one way for one reason.
///
/// What was merged is proved by digests of its rows, what was copied or stitched by seals of its pages: `read` was taken from the inputs,
/// `written` from what the outputs were handed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvedStretch {
    /// Which way it went.
    pub way: Way,
    /// Why, in words.
    pub why: &'static str,
    /// Rows that were read for it.
    pub rows: u64,
    /// The sum from the inputs.
    pub read: Digest,
    /// The sum from the outputs.
    pub written: Digest,
    /// The sum of the rows that rules took away.
    pub dropped: Digest,
}

impl ProvedStretch {
    fn prove(&self) -> Result<(), MergeError> {
        match self.read == self.written + self.dropped {
            true => Ok(()),
            false => Err(MergeError::Proof(format!(
                "of a stretch of {} rows ({}) {} came out and {} was dropped, but {} went in",
                self.rows, self.why, self.written, self.dropped, self.read
            ))),
        }
    }
}

/// Adds a stretch to those before it; it goes on with the last one if it went the same way for the same reason.
pub(crate) fn add(stretches: &mut Vec<ProvedStretch>, more: ProvedStretch) {
    match stretches.last_mut() {
        _ if more.rows == 0 => {}
        Some(last) if (last.way, last.why) == (more.way, more.why) => {
            last.rows += more.rows;
            last.read += more.read;
            last.written += more.written;
            last.dropped += more.dropped;
        }
        _ => stretches.push(more),
    }
}

/// Each stretch balances by itself, and together they are all rows that were read.
pub(crate) fn prove(stretches: &[ProvedStretch], rows_in: u64) -> Result<(), MergeError> {
    stretches.iter().try_for_each(ProvedStretch::prove)?;
    let rows: u64 = stretches.iter().map(|stretch| stretch.rows).sum();
    match rows == rows_in {
        true => Ok(()),
        false => Err(MergeError::Proof(format!(
            "{rows_in} rows went in, but {rows} in all stretches"
        ))),
    }
}
