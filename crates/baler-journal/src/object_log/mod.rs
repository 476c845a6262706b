//! The journal as numbered objects, each created once. It needs create-if-absent and nothing else of a store, because
//! If-Match is not everywhere.

mod append;
mod boundary;
pub(crate) mod names;
mod patience;
mod root;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use baler_core::ids::Sequence;
use baler_core::time::StoreTime;
use bytes::Bytes;
use futures::TryStreamExt;

use crate::counters::Counters;
use crate::entry::{Entry, Proposal};
use crate::error::JournalError;
use crate::journal::{Appended, Journal};
use crate::limits::BLOCK;
use crate::store::{ObjectMeta, Store, StoreError};
pub(crate) use patience::patiently;
pub use root::{Upgraded, upgrade};

/// Whether the log may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only List and Get are ever asked of the store.
    ReadOnly,
    /// The root is made if there is none.
    ReadWrite,
}

/// A journal of numbered objects in `_baler` below a root.
#[derive(Debug)]
pub struct ObjectLog {
    store: Arc<dyn Store>,
    level: u32,
    block: u64,
    counters: Counters,
    /// The entry that took a slot from us: whoever lost it reads on from there, and has it already.
    winner: Mutex<Option<Entry>>,
}

impl ObjectLog {
    /// Opens the journal of a root. For writing, the store is probed if this root was never opened through its endpoint.
    pub async fn open(store: Arc<dyn Store>, access: Access) -> Result<Self, JournalError> {
        let level = match access {
            Access::ReadOnly => root::check(store.as_ref()).await?,
            Access::ReadWrite => root::check_or_make(&store).await?,
        };
        Ok(Self {
            store,
            level,
            block: BLOCK,
            counters: Counters::default(),
            winner: Mutex::default(),
        })
    }

    /// With blocks of another size, which all who write to this root must share. For tests.
    #[must_use]
    pub fn with_block(self, block: u64) -> Self {
        Self { block, ..self }
    }

    /// The store that the log is kept in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The object's content, whole; `None` if there is no such object.
    async fn fetch(&self, path: &str) -> Result<Option<(ObjectMeta, Bytes)>, JournalError> {
        let read = async || self.store.get(path).await.and_then(crate::store::Object::whole);
        match patiently(read).await {
            Ok(object) => Ok(Some(object)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The entry in a slot. What does not add up is fetched once more: the damage may have happened on the way.
    async fn fetch_entry(&self, sequence: Sequence) -> Result<Option<Entry>, JournalError> {
        let path = names::entry(sequence);
        let mut first_error = None;
        loop {
            let Some((meta, bytes)) = self.fetch(&path).await? else {
                return Ok(None);
            };
            let modified = Some(meta.identity.modified);
            match Entry::decode(sequence, &bytes) {
                Ok(entry) => return Ok(Some(Entry { modified, ..entry })),
                Err(error) if first_error.is_some() => return Err(error),
                Err(error) => first_error = Some(error),
            }
        }
    }

    fn winner(&self) -> MutexGuard<'_, Option<Entry>> {
        self.winner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of the objects in a folder whose names come after this one, in order.
    async fn numbers(&self, folder: &str, after: &str) -> Result<Vec<u64>, JournalError> {
        let list = async || {
            self.counters.lists.add_one();
            let listed = self.store.list(&names::folder(folder), after);
            let numbers = listed.try_filter_map(async |meta| Ok(names::number(&meta.path)));
            numbers.try_collect().await
        };
        let mut numbers: Vec<u64> = patiently(list).await?;
        numbers.sort_unstable();
        Ok(numbers)
    }
}

#[async_trait]
impl Journal for ObjectLog {
    async fn append(&self, proposal: &Proposal) -> Result<Appended, JournalError> {
        self.offer(proposal).await
    }

    async fn read(&self, sequence: Sequence) -> Result<Option<Entry>, JournalError> {
        let winner = self.winner().take_if(|winner| winner.batch.sequence == sequence);
        if winner.is_some() {
            return Ok(winner);
        }
        self.counters.reads.add_one();
        self.fetch_entry(sequence).await
    }

    async fn modified(&self, sequence: Sequence) -> Result<Option<StoreTime>, JournalError> {
        self.counters.time_checks.add_one();
        match patiently(async || self.store.head(&names::entry(sequence)).await).await {
            Ok(meta) => Ok(Some(meta.identity.modified)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn is_retired(&self, sequence: Sequence) -> Result<bool, JournalError> {
        self.block_is_retired(sequence.0 / self.block).await
    }

    async fn settle(&self) -> Result<(), JournalError> {
        Ok(self.store.settle(&names::folder(names::JOURNAL)).await?)
    }

    async fn last_listed(&self, after: Sequence) -> Result<Option<Sequence>, JournalError> {
        let last = self
            .numbers(names::JOURNAL, &names::entry(after))
            .await?
            .last()
            .copied();
        Ok(last.map(Sequence))
    }

    async fn snapshots(&self) -> Result<Vec<Sequence>, JournalError> {
        let numbers = self.numbers(names::SNAPSHOTS, "").await?;
        Ok(numbers.into_iter().map(Sequence).collect())
    }

    async fn read_snapshot(&self, at: Sequence) -> Result<Option<Bytes>, JournalError> {
        self.counters.snapshots_read.add_one();
        Ok(self.fetch(&names::snapshot(at)).await?.map(|(_, bytes)| bytes))
    }

    /// Whether it is there after a failure is for the reading back to find out.
    async fn write_snapshot(&self, at: Sequence, bytes: Bytes) -> Result<(), JournalError> {
        match self.store.create(&names::snapshot(at), bytes).await {
            Ok(()) | Err(StoreError::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn prune_snapshots(&self, before: Sequence) -> Result<(), JournalError> {
        for old in self.snapshots().await?.into_iter().filter(|at| *at < before) {
            self.store.delete(&names::snapshot(old)).await?;
            self.counters.deletes.add_one();
        }
        Ok(())
    }

    async fn can_retire(&self, until: Sequence) -> Result<bool, JournalError> {
        match self.last_block(until) {
            Some(block) => Ok(!self.block_is_retired(block).await?),
            None => Ok(false),
        }
    }

    async fn retire(&self, until: Sequence) -> Result<(), JournalError> {
        self.retire_blocks(until).await
    }

    fn level(&self) -> u32 {
        self.level
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}
