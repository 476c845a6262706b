//! A journal in memory. For tests and simulations only: it can redo nothing after a crash.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use baler_core::ids::Sequence;
use baler_core::time::{Millis, StoreTime};
use bytes::Bytes;

use crate::counters::Counters;
use crate::entry::{Entry, Proposal};
use crate::error::JournalError;
use crate::journal::{Appended, Journal};
use crate::limits::BLOCK;

/// A journal in memory, shared by the replicas that hold it.
#[derive(Debug)]
pub struct MemoryJournal {
    slots: Mutex<Slots>,
    block: u64,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Slots {
    entries: BTreeMap<Sequence, (Bytes, StoreTime)>,
    snapshots: BTreeMap<Sequence, Bytes>,
    retired_below: Sequence,
    now: StoreTime,
}

impl Default for MemoryJournal {
    fn default() -> Self {
        Self::with_block(BLOCK)
    }
}

impl MemoryJournal {
    /// With blocks of this many entries.
    pub fn with_block(block: u64) -> Self {
        Self {
            slots: Mutex::default(),
            block,
            counters: Counters::default(),
        }
    }

    /// Moves the clock that stamps entries; it stands still otherwise.
    pub fn advance(&self, length: Millis) {
        let mut slots = self.lock();
        slots.now = slots.now + length;
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append(&self, proposal: &Proposal) -> Result<Appended, JournalError> {
        self.counters.offers.add_one();
        let mut slots = self.lock();
        if proposal.sequence < slots.retired_below {
            return Ok(Appended::Retired { maybe_ours: false });
        }
        let taken = slots.entries.get(&proposal.sequence);
        if taken.is_some_and(|(bytes, _)| *bytes != proposal.bytes) {
            self.counters.conflicts.add_one();
            return Ok(Appended::Conflict);
        }
        let now = slots.now;
        slots
            .entries
            .insert(proposal.sequence, (proposal.bytes.clone(), now));
        self.counters.commits.add_one();
        Ok(Appended::Committed { modified: Some(now) })
    }

    async fn read(&self, sequence: Sequence) -> Result<Option<Entry>, JournalError> {
        self.counters.reads.add_one();
        let Some((bytes, modified)) = self.lock().entries.get(&sequence).cloned() else {
            return Ok(None);
        };
        let entry = Entry::decode(sequence, &bytes)?;
        Ok(Some(Entry {
            modified: Some(modified),
            ..entry
        }))
    }

    async fn modified(&self, sequence: Sequence) -> Result<Option<StoreTime>, JournalError> {
        Ok(self.lock().entries.get(&sequence).map(|(_, modified)| *modified))
    }

    async fn is_retired(&self, sequence: Sequence) -> Result<bool, JournalError> {
        Ok(sequence < self.lock().retired_below)
    }

    async fn settle(&self) -> Result<(), JournalError> {
        Ok(())
    }

    async fn last_listed(&self, after: Sequence) -> Result<Option<Sequence>, JournalError> {
        let last = self.lock().entries.keys().last().copied();
        Ok(last.filter(|last| *last > after))
    }

    async fn snapshots(&self) -> Result<Vec<Sequence>, JournalError> {
        Ok(self.lock().snapshots.keys().copied().collect())
    }

    async fn read_snapshot(&self, at: Sequence) -> Result<Option<Bytes>, JournalError> {
        Ok(self.lock().snapshots.get(&at).cloned())
    }

    async fn write_snapshot(&self, at: Sequence, bytes: Bytes) -> Result<(), JournalError> {
        self.lock().snapshots.entry(at).or_insert(bytes);
        Ok(())
    }

    async fn prune_snapshots(&self, before: Sequence) -> Result<(), JournalError> {
        let mut slots = self.lock();
        slots.snapshots = slots.snapshots.split_off(&before);
        Ok(())
    }

    async fn can_retire(&self, until: Sequence) -> Result<bool, JournalError> {
        Ok(block_end(until, self.block) > self.lock().retired_below)
    }

    async fn retire(&self, until: Sequence) -> Result<(), JournalError> {
        let mut slots = self.lock();
        let end = block_end(until, self.block);
        slots.retired_below = slots.retired_below.max(end);
        slots.entries = slots.entries.split_off(&end);
        Ok(())
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// The first entry after the last block that ends at or before this one.
fn block_end(until: Sequence, block: u64) -> Sequence {
    Sequence((until.0 + 1) / block * block)
}
