//! The contract of every backend. A journal is a row of slots, numbered from 1; each is filled once, by one writer, and
//! never changes. Everything else that replicas share is built on that, in `replica`.

use std::fmt;

use async_trait::async_trait;
use baler_core::ids::{JournalId, Sequence};
use baler_core::time::StoreTime;
use bytes::Bytes;

use crate::checksum::Checksum;
use crate::counters::Counters;
use crate::entry::{Entry, Proposal};
use crate::error::JournalError;

/// What became of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The slot holds this proposal, durably, and is not retired.
    Committed {
        /// When the store wrote it, if that is known already.
        modified: Option<StoreTime>,
    },
    /// The slot holds another's batch. This proposal is not in the journal and never will be.
    Conflict,
    /// The proposal may be in the slot, or may still get there. Offer the same bytes again, and nothing else.
    Unknown,
    /// The slot was filled and retired long ago: the replica is far behind.
    Retired {
        /// Whether an earlier offer of the same proposal may have filled it. That can no longer be seen.
        maybe_ours: bool,
    },
}

/// A row of slots, and snapshots of what they add up to.
#[async_trait]
pub trait Journal: fmt::Debug + Send + Sync + 'static {
    /// Offers a batch for its slot. An `Err` means that this offer did not fill the slot and never will.
    async fn append(&self, proposal: &Proposal) -> Result<Appended, JournalError>;

    /// The entry in a slot; `None` if there is none, be it not yet or no longer (see `is_retired`).
    async fn read(&self, sequence: Sequence) -> Result<Option<Entry>, JournalError>;

    /// When the store wrote an entry.
    async fn modified(&self, sequence: Sequence) -> Result<Option<StoreTime>, JournalError>;

    /// Whether the slot lies in a stretch that is, or is being, deleted. What was read there before may have been a
    /// stalled writer's belated entry, and what was missing there may have been deleted.
    async fn is_retired(&self, sequence: Sequence) -> Result<bool, JournalError>;

    /// Makes durable what was read, before anybody acts on it.
    async fn settle(&self) -> Result<(), JournalError>;

    /// The last entry after this one that a listing shows. Slow; asked only when a replica is opened.
    async fn last_listed(&self, after: Sequence) -> Result<Option<Sequence>, JournalError>;

    /// The snapshots there are, oldest first.
    async fn snapshots(&self) -> Result<Vec<Sequence>, JournalError>;

    /// A snapshot's bytes.
    async fn read_snapshot(&self, at: Sequence) -> Result<Option<Bytes>, JournalError>;

    /// Stores a snapshot, unless there is one of that entry. It counts once it was read back and verified.
    async fn write_snapshot(&self, at: Sequence, bytes: Bytes) -> Result<(), JournalError>;

    /// Deletes snapshots older than this one.
    async fn prune_snapshots(&self, before: Sequence) -> Result<(), JournalError>;

    /// Whether `retire` would find a block that is not retired yet.
    async fn can_retire(&self, until: Sequence) -> Result<bool, JournalError>;

    /// Deletes the blocks of entries that end at or before this one, which is the last but one verified snapshot.
    async fn retire(&self, until: Sequence) -> Result<(), JournalError>;

    /// The format level when it was opened: what is written may ask for no higher one.
    fn level(&self) -> u32 {
        crate::limits::FORMAT
    }

    /// What was done so far.
    fn counters(&self) -> &Counters;
}

/// Where a replica stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The journal; `None` before its first entry.
    pub journal: Option<JournalId>,
    /// The last entry applied.
    pub sequence: Sequence,
    /// Its checksum; zero before the first.
    pub checksum: Checksum,
    /// When the store wrote it, if that is known.
    pub modified: Option<StoreTime>,
}

impl Position {
    /// Whether the entry continues this journal from here.
    pub fn check_next(&self, entry: &Entry) -> Result<(), JournalError> {
        let sequence = entry.batch.sequence;
        let damaged = |why: String| Err(JournalError::damaged_entry(sequence, why));
        if sequence != self.sequence.next() {
            return damaged(format!("it was read after entry {}", self.sequence));
        }
        if let Some(journal) = self.journal.filter(|journal| *journal != entry.journal) {
            return damaged(format!(
                "it belongs to journal {}, not to {journal}",
                entry.journal
            ));
        }
        if entry.parent != self.checksum {
            return damaged(format!(
                "it follows an entry with checksum {}, but entry {} has {}",
                entry.parent, self.sequence, self.checksum
            ));
        }
        Ok(())
    }

    /// After the entry.
    #[must_use]
    pub fn after(entry: &Entry) -> Self {
        Self {
            journal: Some(entry.journal),
            sequence: entry.batch.sequence,
            checksum: entry.checksum,
            modified: entry.modified,
        }
    }
}
