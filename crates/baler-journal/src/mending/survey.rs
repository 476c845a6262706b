//! Everything that a journal consists of, read and judged piece by piece. What cannot be read is kept with the reason, never
//! taken for absent.

use std::collections::BTreeMap;
use std::sync::Arc;

use baler_core::ids::Sequence;
use baler_core::state::State;
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::checksum::Checksum;
use crate::entry::Entry;
use crate::error::JournalError;
use crate::limits::{BLOCK, READ_AHEAD_MAX};
use crate::object_log::{names, patiently};
use crate::snapshot;
use crate::store::{Object, Store, StoreError};

/// A piece that could not be read for what it is, with how that was noticed.
pub type Piece<T> = Result<T, JournalError>;

/// What lies in the folders of a journal.
#[derive(Debug, Default)]
pub struct Survey {
    /// The format levels of the root, in ascending order.
    pub levels: Vec<u32>,
    /// The entries that are there.
    pub entries: BTreeMap<Sequence, Piece<Entry>>,
    /// The snapshots that are there.
    pub snapshots: BTreeMap<Sequence, Piece<Snapshot>>,
    /// The boundaries that are there.
    pub boundaries: BTreeMap<u64, Piece<Boundary>>,
    /// Entries that are retired together.
    pub block: u64,
}

/// A snapshot that is whole.
#[derive(Debug)]
pub struct Snapshot {
    /// The state in it.
    pub state: State,
    /// The checksum of its entry.
    pub entry: Checksum,
}

/// What a boundary says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boundary {
    /// The block that is retired.
    pub block: u64,
    /// The snapshot that stands for it.
    pub snapshot: Sequence,
    /// Whether a repair closed the block, so that its entries were not deleted and may still be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repair: bool,
}

impl Survey {
    /// Reads all of it. Only List and Get are asked of the store. Others may go on meanwhile: snapshots are listed before the
    /// entries that they follow from, and boundaries last.
    pub async fn take(store: &Arc<dyn Store>) -> Result<Self, JournalError> {
        let levels = level_numbers(store).await?;
        let snapshots = read_all(store, names::SNAPSHOTS, |at, bytes| {
            let (state, entry) = snapshot::read(Sequence(at), bytes)?;
            Ok(Snapshot { state, entry })
        });
        let snapshots = snapshots.await?;
        let entries = read_all(store, names::JOURNAL, |at, bytes| {
            Entry::decode(Sequence(at), bytes)
        });
        let entries = entries.await?;
        let boundaries = read_all(store, names::BOUNDARY, read_boundary).await?;
        let by_sequence = |(at, piece)| (Sequence(at), piece);
        Ok(Self {
            levels,
            entries: entries.into_iter().map(by_sequence).collect(),
            snapshots: snapshots
                .into_iter()
                .map(|(at, piece)| (Sequence(at), piece))
                .collect(),
            boundaries,
            block: BLOCK,
        })
    }

    /// Whether the journal let go of the entry: it may be gone, and what lies there may be a stalled writer's.
    pub fn is_retired(&self, entry: Sequence) -> bool {
        self.boundaries.contains_key(&(entry.0 / self.block))
    }

    /// Whether what lies in the slot was ever part of the journal for certain.
    pub fn is_trusted(&self, entry: Sequence) -> bool {
        match self.boundaries.get(&(entry.0 / self.block)) {
            None => true,
            Some(Ok(boundary)) => boundary.repair,
            Some(Err(_)) => false,
        }
    }

    /// The last entry that is there, in whatever state.
    pub fn last(&self) -> Sequence {
        self.entries.keys().next_back().copied().unwrap_or_default()
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.snapshots.is_empty() && self.boundaries.is_empty()
    }

    pub(super) fn good_entry(&self, at: Sequence) -> Option<&Entry> {
        self.entries.get(&at)?.as_ref().ok()
    }
}

fn read_boundary(block: u64, bytes: &[u8]) -> Piece<Boundary> {
    let damaged = |why: String| JournalError::Damaged {
        what: format!("boundary {block}"),
        why,
    };
    let boundary: Boundary = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
    match boundary.block == block {
        true => Ok(boundary),
        false => Err(damaged(format!("it says that it is of block {}", boundary.block))),
    }
}

async fn level_numbers(store: &Arc<dyn Store>) -> Result<Vec<u32>, JournalError> {
    let folder = names::folder(names::FORMAT_LEVELS);
    let listed = || async { store.list(&folder, "").try_collect::<Vec<_>>().await };
    let listed = patiently(listed).await?;
    let name = |path: &str| path.rsplit('/').next()?.parse().ok();
    let mut levels: Vec<u32> = listed.iter().filter_map(|meta| name(&meta.path)).collect();
    levels.sort_unstable();
    Ok(levels)
}

pub(super) async fn numbers(store: &Arc<dyn Store>, folder: &str) -> Result<Vec<u64>, JournalError> {
    let folder = names::folder(folder);
    let list = || async { store.list(&folder, "").try_collect::<Vec<_>>().await };
    let listed = patiently(list).await?;
    let mut numbers: Vec<u64> = listed
        .iter()
        .filter_map(|meta| names::number(&meta.path))
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

async fn read_all<T>(
    store: &Arc<dyn Store>,
    folder: &str,
    read: impl Fn(u64, &[u8]) -> Piece<T>,
) -> Result<BTreeMap<u64, Piece<T>>, JournalError> {
    let numbers = numbers(store, folder).await?;
    let pieces = stream::iter(numbers).map(async |number| {
        let path = names::numbered(folder, number);
        let piece = read_piece(store, &path, |bytes| read(number, bytes)).await?;
        Ok::<_, JournalError>(piece.map(|piece| (number, piece)))
    });
    let pieces: Vec<_> = pieces.buffered(READ_AHEAD_MAX as usize).try_collect().await?;
    Ok(pieces.into_iter().flatten().collect())
}

/// `None` if it is gone by now. What does not add up is fetched once more: the damage may have happened on the way.
async fn read_piece<T>(
    store: &Arc<dyn Store>,
    path: &str,
    read: impl Fn(&[u8]) -> Piece<T>,
) -> Result<Option<Piece<T>>, JournalError> {
    let mut piece = None;
    for _ in 0..2 {
        let fetch = || async { store.get(path).await.and_then(Object::whole) };
        match patiently(fetch).await {
            Ok((_, bytes)) => piece = Some(read(&bytes)),
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        if piece.as_ref().is_some_and(Result::is_ok) {
            break;
        }
    }
    Ok(piece)
}
