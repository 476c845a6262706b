//! A job: the decision to replace these files by a merge of them. What it needs is frozen when it is planned.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::external::Tries;
use crate::file::{Digest, File, FilePath, KeyRange, Level};
use crate::ids::{JobId, JournalId, Partition, RangeId, Sequence, TableName, Token};
use crate::lease::Lease;
use crate::names::Attempt;
use crate::positions::Positions;
use crate::receipt::Effort;
use crate::stretch::Stretch;
use crate::table::{Catalog, MergeSpec};
use crate::time::{RowTime, TimeRange};

pub use crate::range::{Backoff, Edge, Range, RangeStatus, Span};

/// Where a job stands.
///
/// ```text
///                                 the catalog refused
///                        ┌────────────────▶ Failed        (final)
///  Open ───────────▶ Compacted ───────────▶ Committed     (final)
///   │   last range       │      published, or in the external catalog
///   │   finished         │ outputs lost before they were published
///   └────────────────────┴────────────────▶ Cancelled     (final)
/// ```
///
/// | step | who causes it |
/// |---|---|
/// | → Open | the planner, in a poll; bisection of a failed job |
/// | Open → Compacted | `Finish` of the last range; in a plain table the outputs take the inputs' place in the state |
/// | Open → Committed | the same for a native table, in the same append |
/// | Compacted → Committed | `Published`: every output is under its final name; or the external catalog holds the commit |
/// | Compacted → Failed | the external catalog refused, and it is proved that no try landed |
/// | → Cancelled | inputs gone, changed or expired, bisected, outputs lost, table dropped, an operator, a full queue |
///
/// A final state never changes again: such a job leaves the table of jobs, and only a summary of it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JobStatus {
    /// Planned or running: look at its ranges.
    Open,
    /// The outputs are durable. In a plain table they stand in the state and are being published; with an external catalog the
    /// inputs stand there until the catalog holds the commit.
    Compacted,
    /// Done.
    Committed,
    /// Ended without effect.
    Cancelled,
    /// The external catalog refused it.
    Failed,
}

/// The decision to replace these files by a merge of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// The table it works on.
    pub table: TableName,
    /// The partition it stays in.
    pub partition: Partition,
    /// What is replaced, in the order that breaks ties: later inputs win. Inputs come in the order in which they came into the
    /// table, and outputs of other jobs came when those were committed.
    pub inputs: Vec<Arc<File>>,
    /// The level of what replaces it.
    pub output_level: Level,
    /// Why the planner chose it.
    pub why: Why,
    /// How to merge.
    pub merge: Arc<MergeSpec>,
    /// Rows that it may let go for their age, judged when it was planned. An attempt that begins later drops no more.
    pub drops: Option<DropsBefore>,
    /// Where it stands. Never a final state here.
    pub status: JobStatus,
    /// Stretches of its key space, in key order, without gaps.
    pub ranges: Vec<Range>,
    /// The publishing of its outputs, in a plain table; with an external catalog, its commit there.
    pub publish: Range,
    /// What was tried in the external catalog.
    pub tries: Option<Tries>,
    /// The entry that planned it.
    pub planned: Sequence,
    /// Whether its attempts are remembered and it leaves a receipt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub receipt: bool,
    /// Reported faults of its inputs.
    pub input_faults: u32,
    /// What went wrong last.
    pub last_error: Option<Arc<str>>,
}

impl Job {
    /// The sum of its inputs' lengths.
    pub fn bytes(&self) -> u64 {
        self.inputs.iter().map(|file| file.bytes()).sum()
    }

    /// The level that it takes files away from: the lowest of its inputs.
    pub fn level(&self) -> Level {
        let levels = self.inputs.iter().map(|file| file.level);
        levels.min().unwrap_or_default()
    }

    /// The sum of its inputs' rows.
    pub fn rows(&self) -> u64 {
        self.inputs.iter().map(|file| file.rows).sum()
    }

    /// The final name of what an attempt at this job writes as part number `part`.
    pub fn output_path(
        &self,
        catalog: &Catalog,
        journal: JournalId,
        attempt: &Attempt,
        part: u32,
    ) -> FilePath {
        match catalog {
            Catalog::Native | Catalog::External => {
                attempt.native_output(journal, &self.table, self.merge.format(), part)
            }
            Catalog::InPlace | Catalog::Output { .. } => attempt.output(journal, &self.partition, part),
        }
    }

    /// Whether its rows may go by this rule.
    pub fn allows(&self, rule: &str) -> bool {
        let drops = self.drops.as_ref();
        match rule {
            Dropped::LAST_WRITE_WINS => self.merge.is_keyed(),
            Dropped::DELETED => drops.is_some_and(|drops| drops.deleted.is_some()),
            Dropped::EXPIRED => drops.is_some_and(|drops| drops.expired.is_some()),
            rule => self.merge.own_rules.iter().any(|own| **own == *rule),
        }
    }

    /// Whether somebody works on it, or has finished a part of it.
    pub fn is_begun(&self) -> bool {
        self.ranges.iter().any(|range| !range.is_free())
    }

    /// One of its ranges; `None` if it has no such range.
    pub fn range(&self, id: RangeId) -> Option<&Range> {
        match id {
            RangeId::Keys(index) => self.ranges.get(index as usize),
            RangeId::Publish => Some(&self.publish),
        }
    }

    pub(crate) fn range_mut(&mut self, id: RangeId) -> Option<&mut Range> {
        match id {
            RangeId::Keys(index) => self.ranges.get_mut(index as usize),
            RangeId::Publish => Some(&mut self.publish),
        }
    }

    /// Every range with its id, publishing last.
    pub fn ranges(&self) -> impl Iterator<Item = (RangeId, &Range)> {
        let keys = (0u32..).map(RangeId::Keys).zip(&self.ranges);
        keys.chain([(RangeId::Publish, &self.publish)])
    }

    /// The ranges that a worker could take now.
    pub fn free_ranges(&self) -> impl Iterator<Item = RangeId> {
        let publishing = self.status == JobStatus::Compacted;
        self.ranges()
            .filter(move |(id, range)| range.is_free() && (*id == RangeId::Publish) == publishing)
            .map(|(id, _)| id)
    }

    /// The leases on its ranges.
    pub fn leases(&self) -> impl Iterator<Item = (RangeId, &Lease)> {
        self.ranges().filter_map(|(id, range)| Some((id, range.lease()?)))
    }

    /// What its finished ranges made.
    pub fn finished(&self) -> impl Iterator<Item = (RangeId, &Finished)> {
        self.ranges()
            .filter_map(|(id, range)| Some((id, range.finished()?)))
    }

    /// Leases granted on it so far.
    pub fn attempts(&self) -> u32 {
        self.ranges().map(|(_, range)| range.attempts).sum()
    }

    /// What its finished ranges took, where they say so.
    pub fn effort(&self) -> Option<Effort> {
        let efforts = self.finished().filter_map(|(_, finished)| finished.effort);
        efforts.reduce(|sum, effort| sum.with(&effort))
    }

    /// The outputs of its finished ranges, in key order.
    pub fn outputs(&self) -> impl Iterator<Item = &Output> {
        self.finished().flat_map(|(_, finished)| &finished.outputs)
    }
}

/// What a finished range made, and the figures that prove it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Finished {
    /// The attempt that finished it.
    pub token: Token,
    /// What it wrote.
    pub outputs: Vec<Output>,
    /// What it read of each input, in the job's order.
    pub reads: Vec<InputRead>,
    /// Rows that a rule let go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<Dropped>,
    /// Rows that were copied without being decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<Copied>,
    /// Which way its rows went, in the order of the outputs. Formats that know of one way only say nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<Stretch>,
    /// What it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// Rows that went from inputs to outputs as bytes: their pages are proved, not their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Copied {
    /// How many.
    pub rows: u64,
    /// Sum of the seals of their pages, taken at the inputs.
    pub read: Digest,
    /// The same, taken from what the outputs were handed.
    pub written: Digest,
}

/// A file that an attempt wrote.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Output {
    /// Its number within the attempt.
    pub part: u32,
    /// Its final name.
    pub path: FilePath,
    /// Length in bytes.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// Those among them that were copied as bytes.
    #[serde(default, skip_serializing_if = "is_none")]
    pub copied: u64,
    /// Digest of the rows that the encoder was handed: all but the copied ones.
    pub digest: Digest,
    /// XXH3-128 of its bytes.
    pub checksum: Digest,
    /// Bounds of its sort keys, if it is sorted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeyRange>,
    /// Bounds of its rows' times, if the table has a time column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<TimeRange>,
}

/// What one range read of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InputRead {
    /// Rows that fell into the range.
    pub rows: u64,
    /// Those among them that were copied as bytes.
    #[serde(default, skip_serializing_if = "is_none")]
    pub copied: u64,
    /// Digest of the rows that were decoded, taken before the merge: all but the copied ones.
    pub digest: Digest,
    /// Which rows these are, by their positions in the file. A job that was cut is not proved without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<Positions>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_none(rows: &u64) -> bool {
    *rows == 0
}

/// Which rows a job may let go for their age. See `decide::drops` for why no row comes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DropsBefore {
    /// Tombstones, rows in which the spec's `deleted` column is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<AgeCut>,
    /// Expired rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired: Option<AgeCut>,
}

/// Rows on the older side of a time. A row without a time is on neither side.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AgeCut {
    /// The column that holds the rows' time.
    pub column: Arc<str>,
    /// Rows older than this.
    pub before: RowTime,
}

/// Rows that a rule let go, declared and counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dropped {
    /// Which rule: the name of one of those below.
    pub rule: Arc<str>,
    /// How many rows.
    pub rows: u64,
    /// Their digest.
    pub digest: Digest,
}

impl Dropped {
    /// Another row of the key has a greater version.
    pub const LAST_WRITE_WINS: &'static str = "last_write_wins";
    /// It is a tombstone, and old enough.
    pub const DELETED: &'static str = "deleted";
    /// It has expired.
    pub const EXPIRED: &'static str = "expired";
    /// All of these.
    pub const RULES: [&'static str; 3] = [Self::LAST_WRITE_WINS, Self::DELETED, Self::EXPIRED];
}

/// Why the planner chose a job's inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Why {
    /// So many small files of a level have come together.
    SmallFiles,
    /// Their key ranges overlap.
    Overlap,
    /// They have waited long enough.
    Age,
    /// One half of a job that failed, to find out which file is to blame.
    Bisected {
        /// The job that failed.
        of: JobId,
    },
    /// The owner's policy chose them.
    Proposed {
        /// Why, in its words.
        reason: Arc<str>,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SmallFiles => f.write_str("small files"),
            Self::Overlap => f.write_str("overlapping keys"),
            Self::Age => f.write_str("waited long enough"),
            Self::Bisected { of } => write!(f, "half of failed job {of}"),
            Self::Proposed { reason } => f.write_str(reason),
        }
    }
}

/// Why a job ended without effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CancelReason {
    /// An input was removed or overwritten by somebody else.
    InputsChanged(Vec<FilePath>),
    /// An input was found to be bad and is quarantined.
    InputQuarantined(Vec<FilePath>),
    /// An input was dropped because all its rows are past the retention.
    InputsExpired(Vec<FilePath>),
    /// Its table was dropped.
    TableDropped,
    /// Its halves are tried instead.
    Bisected,
    /// Its outputs vanished before they were published; its inputs stand as before.
    OutputsLost(Vec<FilePath>),
    /// Somebody asked for it.
    Operator,
    /// The job that made its inputs was undone.
    InputsUndone(JobId),
    /// It kept failing, and the queue was full: it made room for another.
    Shed {
        /// Reported faults of its inputs.
        input_faults: u32,
        /// What went wrong last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_error: Option<Arc<str>>,
    },
}

/// What stays of a finished job in the state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobSummary {
    /// Its number.
    pub id: JobId,
    /// Its table.
    pub table: TableName,
    /// Its partition.
    pub partition: Partition,
    /// `Committed`, `Cancelled` or `Failed`.
    pub status: JobStatus,
    /// Why it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<CancelReason>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Arc<str>>,
    /// Files that were replaced.
    pub files_in: u64,
    /// Files that replaced them.
    pub files_out: u64,
    /// Rows read.
    pub rows_in: u64,
    /// Rows written.
    pub rows_out: u64,
    /// Rows that a rule let go.
    pub rows_dropped: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// The entry that ended it.
    pub ended: Sequence,
    /// The attempts whose results it consists of: each of them may ask again and be told that it succeeded.
    #[serde(default)]
    pub finished_by: Vec<Token>,
    /// The entry that took it back, if it was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Sequence>,
    /// Leases that were granted on it.
    #[serde(default)]
    pub attempts: u32,
    /// What its finished ranges took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}
