//! Formats of keys and values, with little to write: a format says how its rows are read and written, and the merge, its
//! proof, filters and operators are done here.
//!
//! ```text
//!  input 0 ─▶ rows of the range ─┐                    equal keys           one by one
//!  input 1 ─▶ rows of the range ─┼─▶ in key order ──▶ MergeOperator ──▶ CompactionFilter ──▶ outputs, rolled by size
//!  input 2 ─▶ rows of the range ─┘
//! ```

mod merging;
mod output;
mod tally;

pub use merging::RowMerge;

use std::fmt;
use std::io;
use std::sync::Arc;

use baler_core::file::Digest;
use baler_core::job::{Job, Span};
use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3Default;

use super::MergeFault;
use crate::depot::Input;

/// A row: a key, a version that grows with each write of the key, and what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Rows are ordered by it, byte by byte.
    pub key: Bytes,
    /// Of two rows of a key the one with the greater version is newer; of two with one version that of the later input.
    pub version: u64,
    /// What was written; what it means is for the format, its operator and its filter to know.
    pub value: Bytes,
}

impl Row {
    /// The hash that a digest is the sum of.
    fn digest(&self) -> Digest {
        let mut hash = Xxh3Default::new();
        hash.update(&(self.key.len() as u64).to_le_bytes());
        hash.update(&self.key);
        hash.update(&self.version.to_le_bytes());
        hash.update(&self.value);
        Digest(hash.digest128())
    }
}

/// Rows of a file, each with its position there: 0 for the first one.
pub type Rows<'a> = Box<dyn Iterator<Item = Result<(u64, Row), RowError>> + 'a>;

/// How rows lie in a file.
pub trait RowFormat: fmt::Debug + Send + Sync + 'static {
    /// Its name, as tables say it.
    fn name(&self) -> &str;

    /// The rows of a file whose keys are in the span, in ascending order of their keys, each with its position in the file.
    fn read<'a>(&'a self, input: &'a Arc<dyn Input>, span: &'a Span) -> Result<Rows<'a>, RowError>;

    /// Begins a file. Its rows come in ascending order of their keys.
    fn write(&self) -> Box<dyn RowWriter>;

    /// Keys that cut the files into about so many ranges, in strictly ascending order; none if it cannot tell.
    fn edges(&self, inputs: &[Arc<dyn Input>], ranges: usize) -> Result<Vec<Vec<u8>>, RowError> {
        let _ = (inputs, ranges);
        Ok(Vec::new())
    }
}

/// Writes the rows of one file.
pub trait RowWriter {
    /// One more row.
    fn push(&mut self, row: &Row, output: &mut dyn io::Write) -> io::Result<()>;

    /// After the last row: what is still to be written.
    fn end(self: Box<Self>, output: &mut dyn io::Write) -> io::Result<()>;
}

/// Why rows of a file could not be had.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The file is damaged; reading it again will not help.
    #[error("{0}")]
    Damaged(String),
    /// It could not be read, though it may be sound.
    #[error(transparent)]
    Read(#[from] io::Error),
}

impl RowError {
    fn of_input(self, input: usize) -> MergeFault {
        match self {
            Self::Damaged(reason) => MergeFault::Input {
                culprits: vec![input],
                reason,
            },
            Self::Read(source) => MergeFault::Read { input, source },
        }
    }
}

/// Folds rows of one key into fewer.
pub trait MergeOperator: fmt::Debug + Send + Sync {
    /// The rule under which the rows that go are counted.
    fn rule(&self) -> &str;

    /// What rows of one key come to: at least two come, oldest first, and not more than came go out. Rows of the key may lie
    /// in other files too, older ones and newer ones: what comes out must stand for those that came, whatever else there is.
    fn fold(&self, rows: &[Row]) -> Vec<Row>;
}

/// Of each key the newest row stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewestWins;

impl MergeOperator for NewestWins {
    fn rule(&self) -> &str {
        "newest wins"
    }

    fn fold(&self, rows: &[Row]) -> Vec<Row> {
        rows.last().cloned().into_iter().collect()
    }
}

/// Looks at each row that would be written, and may drop or change it.
///
/// A row that takes its key away must stay for as long as an older row of the key may be left elsewhere, and only the table's
/// state knows that. Where the table's `MergeSpec` says how it deletes (a keyed `rule`, `deleted`, `row_time`, `lateness`), a job
/// that may let such rows go says so in its `drops`: those older than `drops.deleted.before`. A filter that goes by
/// that drops them under the rule `Dropped::DELETED`, and whatever else is dropped under it is refused.
pub trait CompactionFilter: fmt::Debug + Send + Sync {
    /// The rule under which its drops and changes are counted.
    fn rule(&self) -> &str;

    /// What becomes of a row. It must say the same of a row each time, or two tries at a range come to different rows.
    fn judge(&self, job: &Job, row: &Row) -> Judgement;
}

/// What becomes of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It stays.
    Keep,
    /// It goes.
    Drop,
    /// Its value becomes this.
    Change(Bytes),
}
