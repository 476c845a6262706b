//! How files of a format become fewer. Baler's own Parquet engine is one implementor; a database brings its own format by
//! another.
//!
//! ```text
//!  job ─▶ edges? ──▶ ranges, each leased, merged and finished by itself
//!                       │
//!                       └─▶ merge(Work) ─▶ Merged: outputs with rows and digests, reads, drops
//! ```
//!
//! A range is the checkpoint: once it is finished its outputs are durable, and nobody merges it again. A merge that is cut
//! off before leaves nothing that counts. So a format whose jobs run long says where they can be cut.

#[cfg(feature = "parquet")]
mod parquet;
pub mod rows;

#[cfg(feature = "parquet")]
pub use parquet::ParquetMerge;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use baler_core::file::{Digest, KeyRange};
use baler_core::job::{Copied, Dropped, InputRead, Job, Span};
use baler_core::request::{Formats, Scope};
use baler_core::time::TimeRange;

use crate::depot::{Input, Output, Scratch};
use crate::desk::Offer;

/// Merges files of one format. Its methods are called on threads that may block, several at once.
pub trait Merge: fmt::Debug + Send + Sync {
    /// The format's name, as tables say it: lowercase letters and digits. Outputs' names end in it.
    fn format(&self) -> &str;

    /// The rules by which it may drop or change rows. A table lists them, or what they did is refused.
    fn rules(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Where to cut a job into about so many ranges: keys in strictly ascending order, in the order of bytes. None where it
    /// cannot be cut. A key at an edge belongs to the range behind it.
    fn edges(&self, job: &Job, inputs: &[Arc<dyn Input>], ranges: usize) -> Result<Vec<Vec<u8>>, MergeFault> {
        let _ = (job, inputs, ranges);
        Ok(Vec::new())
    }

    /// Merges the rows of one range of a job. All outputs are finished when it returns.
    fn merge(&self, work: &Work<'_>) -> Result<Merged, MergeFault>;

    /// Reads an output back: how many rows it holds, and their digest. Where the store did not deliver, it is `MergeFault::Read`:
    /// then nothing is said against the inputs. None where the format cannot tell: then its bytes alone are compared with what was
    /// written.
    fn reread(
        &self,
        output: &Arc<dyn Input>,
        memory_bytes: u64,
    ) -> Option<Result<(u64, Digest), MergeFault>> {
        let _ = (output, memory_bytes);
        None
    }
}

/// A range to merge, and what to do it with.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The job. What it says of its spec and its inputs was frozen when it was planned.
    pub job: &'a Job,
    /// The keys to merge; rows outside are others'.
    pub span: &'a Span,
    /// The job's inputs in its order: later ones are newer.
    pub inputs: &'a [Arc<dyn Input>],
    /// Threads that it may use.
    pub threads: usize,
    /// Memory that it may use.
    pub memory_bytes: u64,
    /// Outputs will be read back, so that every row must stand in the digest of its output: none may be copied as bytes.
    pub reread: bool,
    pub(crate) bench: &'a dyn Bench,
}

/// Where a merge's outputs go, and who watches it.
pub(crate) trait Bench: Send + Sync {
    fn create(&self, part: u32) -> io::Result<Box<dyn Output>>;
    fn scratch(&self) -> io::Result<Scratch>;
    fn advanced(&self, rows: u64);
    fn is_cancelled(&self) -> bool;
}

impl Work<'_> {
    /// Begins output number `part`, under a name that is this attempt's own.
    pub fn create(&self, part: u32) -> io::Result<Box<dyn Output>> {
        self.bench.create(part)
    }

    /// A folder on this machine for what does not fit in memory; it goes when it is dropped.
    pub fn scratch(&self) -> io::Result<Scratch> {
        self.bench.scratch()
    }

    /// So many rows more went through. A merge that says nothing for ten minutes is taken for stalled.
    pub fn advanced(&self, rows: u64) {
        self.bench.advanced(rows);
    }

    /// Whether to stop: the lease is lost, or the process is to end. Asked often, answered at once.
    pub fn is_cancelled(&self) -> bool {
        self.bench.is_cancelled()
    }
}

impl fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("job", &self.job.id)
            .field("span", self.span)
            .finish_non_exhaustive()
    }
}

/// What a merge made, with the figures that prove it: for rows as for digests, what was read is what was written and what
/// was dropped. A range whose figures do not add up is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// What it wrote.
    pub outputs: Vec<Written>,
    /// What it read of each input, in the job's order.
    pub reads: Vec<InputRead>,
    /// What a rule let go. A row that was changed counts as no row, with the digest of the old one less that of the new.
    pub drops: Vec<Dropped>,
    /// Rows that were copied without being decoded.
    pub copied: Option<Copied>,
    /// How rows got into the outputs.
    pub ways: Ways,
}

/// How many rows went which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// In groups that were copied whole.
    pub copied: u64,
    /// In groups that were made of copied pages.
    pub stitched: u64,
    /// Row by row.
    pub merged: u64,
}

/// An output that a merge wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its number, as it was begun.
    pub part: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// Those among them that were copied as bytes.
    pub copied: u64,
    /// Digest of the rows that the encoder was handed: all but the copied ones.
    pub digest: Digest,
    /// XXH3-128 of its bytes.
    pub checksum: Digest,
    /// Bounds of its keys, if it is sorted.
    pub keys: Option<KeyRange>,
    /// Bounds of its rows' times, if they have any.
    pub times: Option<TimeRange>,
}

/// Why a merge ended without a result, by what should be done about it.
#[derive(Debug, thiserror::Error)]
pub enum MergeFault {
    /// Inputs are damaged or do not go together: they are set aside, and the rest is merged.
    #[error("{reason}")]
    Input {
        /// Indices into the job's inputs; empty if nobody knows which are to blame.
        culprits: Vec<usize>,
        /// What is odd about them, in words for their owner.
        reason: String,
    },
    /// Reading an input failed although the file may be sound: later, it may pass.
    #[error("input {input} could not be read: {source}")]
    Read {
        /// Index into the job's inputs.
        input: usize,
        /// What the store said.
        source: io::Error,
    },
    /// This machine failed, or the store did under a write: elsewhere or later it may pass.
    #[error("{doing} failed: {source}")]
    Node {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It was asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// The table's spec cannot be carried out on its files.
    #[error("{0}")]
    Spec(String),
    /// What was read is not what was written: a defect of the format's code.
    #[error("the proof failed, nothing may be committed: {0}")]
    Proof(String),
}

/// The formats that a worker knows.
#[derive(Clone, Debug)]
pub struct Merges(BTreeMap<Arc<str>, Arc<dyn Merge>>);

impl Merges {
    /// None yet.
    pub fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// With one more; a second one of a name takes the place of the first.
    #[must_use]
    pub fn with(mut self, merge: Arc<dyn Merge>) -> Self {
        self.0.insert(merge.format().into(), merge);
        self
    }

    /// The one for a format; where there is none, one that fails and blames nobody's files.
    pub fn of(&self, format: &str) -> Arc<dyn Merge> {
        let known = self.0.get(format).cloned();
        known.unwrap_or_else(|| Arc::new(Unknown(format.into())))
    }

    /// What a worker says that it can do: it merges these formats, in its own process.
    pub fn offer(&self) -> Offer {
        Offer {
            isolates: false,
            scope: Scope {
                formats: Formats::Only(self.0.keys().cloned().collect()),
                ..Scope::default()
            },
        }
    }
}

/// A format that this worker should never have been granted.
#[derive(Debug)]
struct Unknown(Arc<str>);

impl Merge for Unknown {
    fn format(&self) -> &str {
        &self.0
    }

    fn merge(&self, _work: &Work<'_>) -> Result<Merged, MergeFault> {
        let format = &self.0;
        Err(MergeFault::Node {
            doing: "merging",
            source: io::Error::other(format!("this worker does not know the format {format}")),
        })
    }
}

#[cfg(feature = "parquet")]
impl Default for Merges {
    /// Baler's own.
    fn default() -> Self {
        Self::none().with(Arc::new(ParquetMerge))
    }
}

#[cfg(not(feature = "parquet"))]
impl Default for Merges {
    /// None: Baler's own is not built in.
    fn default() -> Self {
        Self::none()
    }
}
