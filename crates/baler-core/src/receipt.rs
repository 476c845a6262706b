//! What a receipt is made of. The receipt itself is an object beside the journal; the state keeps what it needs of the last
//! committed jobs until somebody has reported it written, so that a process that dies in between takes nothing with it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::ReleaseReason;
use crate::file::{File, FilePath};
use crate::garbage::Garbage;
use crate::ids::{JobId, Sequence, TableName, Token, WorkerId};
use crate::job::Job;
use crate::lease::Lease;
use crate::names;
use crate::state::State;

/// What a range took, which only the attempt that finished it knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Effort {
    /// How long it worked, on its own clock.
    #[serde(default)]
    pub worked_ms: u64,
    /// Requests to the store.
    #[serde(default)]
    pub requests: u64,
    /// Bytes read from where the inputs lie.
    #[serde(default)]
    pub bytes_in: u64,
    /// Bytes written.
    #[serde(default)]
    pub bytes_out: u64,
    /// What the requests cost by the store's price list, in billionths of a US dollar.
    #[serde(default)]
    pub price_nano_usd: u64,
    /// Rows in row groups that were copied whole.
    #[serde(default)]
    pub rows_copied: u64,
    /// Rows in row groups that were made of copied pages.
    #[serde(default)]
    pub rows_stitched: u64,
    /// Rows that were decoded, merged and encoded.
    #[serde(default)]
    pub rows_merged: u64,
}

impl Effort {
    /// Both together. The figures come from outside, so they stop at the largest number.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            worked_ms: self.worked_ms.saturating_add(other.worked_ms),
            requests: self.requests.saturating_add(other.requests),
            bytes_in: self.bytes_in.saturating_add(other.bytes_in),
            bytes_out: self.bytes_out.saturating_add(other.bytes_out),
            price_nano_usd: self.price_nano_usd.saturating_add(other.price_nano_usd),
            rows_copied: self.rows_copied.saturating_add(other.rows_copied),
            rows_stitched: self.rows_stitched.saturating_add(other.rows_stitched),
            rows_merged: self.rows_merged.saturating_add(other.rows_merged),
        }
    }
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tried {
    /// The lease it was tried under.
    pub token: Token,
    /// Who worked.
    pub worker: WorkerId,
    /// Why it ended without a result; `None` if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<ReleaseReason>,
}

impl Tried {
    pub(crate) fn of(lease: &Lease, released: Option<ReleaseReason>) -> Self {
        Self {
            token: lease.token,
            worker: lease.worker.clone(),
            released,
        }
    }
}

/// A committed job that is still remembered whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Committed {
    /// The job as it ended.
    pub job: Arc<Job>,
    /// What it put into the table.
    pub outputs: Vec<Arc<File>>,
    /// The entry that committed it.
    pub ended: Sequence,
    /// Whether its receipt is known to be written.
    pub receipted: bool,
}

/// A committed job that is being undone: what it replaced is live again, and not all of it lies under its own name yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Undoing {
    /// Its table.
    pub table: TableName,
    /// Files that are not back yet.
    pub waiting: u32,
}

impl State {
    /// Where a replaced input waits, if somebody is to delete it one day.
    pub fn kept(&self, job: JobId, index: usize, input: &File) -> Option<(FilePath, &Arc<Garbage>)> {
        let of_input = |garbage: &&Arc<Garbage>| {
            let original = garbage.original.as_ref();
            original
                .is_some_and(|original| original.path == input.path && original.identity == input.identity)
        };
        let names = [names::aside(job, index), input.path.clone()];
        names.into_iter().find_map(|name| {
            let garbage = self.garbage.get(&name).filter(of_input)?;
            Some((name, garbage))
        })
    }
}

/// How far old receipts are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OldReceipts {
    /// Those of jobs before this one may be deleted.
    #[serde(default)]
    pub retired: JobId,
    /// Those of jobs before this one were.
    #[serde(default)]
    pub deleted: JobId,
}
