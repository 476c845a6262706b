//! A range: a stretch of a job's key space, and the unit of lease, checkpoint and fan-out. A small job is one range; a
//! large one is cut into several once somebody has looked at its inputs.
//!
//! Edges are opaque to the state machine: it knows their order as bytes, and that a key lies on one side of each.

use serde::{Deserialize, Serialize};

use crate::file::hex_bytes;
use crate::ids::{Sequence, WorkerId};
use crate::job::Finished;
use crate::lease::Lease;
use crate::limits::{LOSSES_MAX, STORE_BACKOFF_FIRST, STORE_BACKOFF_MAX, TRIED_MAX};
use crate::receipt::Tried;
use crate::time::Millis;

/// Part of a job: the unit of lease, checkpoint and fan-out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Range {
    /// The keys that it holds; all of them in a job that was not cut.
    #[serde(default, skip_serializing_if = "Span::is_whole")]
    pub span: Span,
    /// Where it stands.
    pub status: RangeStatus,
    /// Leases granted on it so far.
    pub attempts: u32,
    /// Set after the store failed: it is not granted again at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// Processes that were lost while they worked on it, and nobody knows why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<WorkerId>,
    /// Whether it may be what killed them: it runs by itself in a child process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// The last attempts at it that ended, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
}

/// Where one range ends and the next one begins: a key of that value belongs to the next one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Edge(#[serde(with = "hex_bytes")] pub Box<[u8]>);

/// The keys from one edge on, up to but without another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first key; `None` for the lowest there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Edge>,
    /// The first key that is not in it any more; `None` if it holds all that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Edge>,
}

impl Span {
    /// Whether it holds every key.
    pub fn is_whole(&self) -> bool {
        self.from.is_none() && self.until.is_none()
    }

    /// Whether it holds this key.
    pub fn holds(&self, key: &[u8]) -> bool {
        self.from.as_ref().is_none_or(|from| *from.0 <= *key)
            && self.until.as_ref().is_none_or(|until| *key < *until.0)
    }

    /// All keys, cut at these edges.
    pub fn cut(edges: &[Edge]) -> Vec<Self> {
        let from = [None].into_iter().chain(edges.iter().cloned().map(Some));
        let until = edges.iter().cloned().map(Some).chain([None]);
        from.zip(until)
            .map(|(from, until)| Self { from, until })
            .collect()
    }
}

impl Range {
    pub(crate) fn is_free(&self) -> bool {
        self.status == RangeStatus::Free
    }

    /// An attempt ended without a word. After two, on different processes, the range is no longer trusted; but only once
    /// somebody who can run it in a child was among the lost, or it would wait for a worker that there is not.
    pub(crate) fn count_loss(&mut self, lease: &Lease) {
        if self.lost.len() < LOSSES_MAX && !self.lost.contains(&lease.worker) {
            self.lost.push(lease.worker.clone());
        }
        self.alone |= lease.isolates && self.lost.len() == LOSSES_MAX;
    }

    pub(crate) fn remember(&mut self, tried: Tried) {
        if self.tried.len() == TRIED_MAX {
            self.tried.remove(0);
        }
        self.tried.push(tried);
    }

    /// The lease on it, while somebody works on it.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.status {
            RangeStatus::Leased(lease) => Some(lease),
            RangeStatus::Free | RangeStatus::Finished(_) => None,
        }
    }

    /// What it made, once it is finished.
    pub fn finished(&self) -> Option<&Finished> {
        match &self.status {
            RangeStatus::Finished(finished) => Some(finished),
            RangeStatus::Free | RangeStatus::Leased(_) => None,
        }
    }
}

/// `Free → Leased → Finished`; a lost or released lease goes back to `Free`. Finished never changes again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RangeStatus {
    /// Nobody works on it.
    #[default]
    Free,
    /// An attempt is under way.
    Leased(Lease),
    /// Its outputs are durable and belong to the job.
    Finished(Finished),
}

/// The store failed under an attempt, which is no fault of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Backoff {
    /// How often in a row.
    pub store_faults: u32,
    /// The entry that reported the last one.
    pub since: Sequence,
}

impl Backoff {
    /// How long the range is left alone: twice as long each time, up to a bound.
    pub fn lasts(&self) -> Millis {
        let doublings = self.store_faults.saturating_sub(1).min(u64::BITS - 1);
        let length = STORE_BACKOFF_FIRST.0.saturating_mul(1 << doublings);
        Millis(length.min(STORE_BACKOFF_MAX.0))
    }
}
