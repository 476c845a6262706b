//! How a mended journal begins. In this order, so that a crash in between leaves a root that nobody can write to, and that can
//! be mended again: every block of the old journal is closed; the slot where the new one begins is claimed; its snapshot is
//! written and read back.

use std::sync::Arc;

use baler_core::event::{Batch, Event};
use baler_core::ids::{JournalId, Sequence};
use baler_core::state::State;

use super::survey::{Boundary, numbers};
use crate::checksum::Checksum;
use crate::entry::Proposal;
use crate::error::JournalError;
use crate::host;
use crate::journal::{Appended, Journal};
use crate::limits::BLOCK;
use crate::object_log::{ObjectLog, names};
use crate::snapshot;
use crate::steps::Step;
use crate::store::{Store, StoreError};

/// The old journal is closed: nothing is committed to it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The slot where a new one may begin.
    pub next: Sequence,
}

/// Closes every block that holds something of the old journal. Whoever was told before that an entry of his is committed finds
/// it in what is read from now on; whoever comes later is told that he is far behind.
pub async fn close_old(log: &ObjectLog) -> Result<Closed, JournalError> {
    let store = log.store();
    let mut closed = 0;
    loop {
        let end = last_block(store).await? + 1;
        let next = Sequence(end * BLOCK);
        if closed == end {
            return Ok(Closed { next });
        }
        for block in closed..end {
            close(log, block, next).await?;
        }
        store.settle(&names::folder(names::BOUNDARY)).await?;
        // While the last one was being closed, somebody may have gone on into the next.
        closed = end;
    }
}

async fn last_block(store: &Arc<dyn Store>) -> Result<u64, JournalError> {
    let mut last = 0;
    for folder in [names::JOURNAL, names::SNAPSHOTS] {
        let numbers = numbers(store, folder).await?;
        last = last.max(numbers.last().copied().unwrap_or(0) / BLOCK);
    }
    let boundaries = numbers(store, names::BOUNDARY).await?;
    Ok(last.max(boundaries.last().copied().unwrap_or(0)))
}

async fn close(log: &ObjectLog, block: u64, next: Sequence) -> Result<(), JournalError> {
    let first = Sequence(block * BLOCK);
    if log.is_retired(first).await? {
        return Ok(());
    }
    let boundary = Boundary {
        block,
        snapshot: next,
        repair: true,
    };
    let body = serde_json::to_vec(&boundary).expect("a boundary has text keys only");
    let path = names::boundary(block);
    if let Err(error) = log.store().create(&path, body.into()).await {
        tracing::debug!(%error, block, "a boundary got no clear answer; reading back");
        if !log.is_retired(first).await? {
            let reason = "the boundary was not created".to_owned();
            return Err(StoreError::Unknown { path, reason }.into());
        }
    }
    Ok(())
}

/// Begins the journal whose state this is, in the slot that its `sequence` names.
pub async fn begin_anew(log: &ObjectLog, state: State) -> Result<(), JournalError> {
    let journal = state.journal.ok_or(JournalError::NotCreated)?;
    let at = state.sequence;
    let entry = claim(log, journal, at).await?;
    Step::RepairClaimed.reached();
    let bytes = in_background(move || snapshot::write(&state, entry)).await?;
    let written = log.write_snapshot(at, bytes).await;
    let Some(found) = log.read_snapshot(at).await? else {
        return Err(written.err().unwrap_or(JournalError::OutcomeUnknown(at)));
    };
    let found = in_background(move || snapshot::verify(at, &found)).await??;
    if found != entry || log.is_retired(at).await? {
        return Err(overtaken(at));
    }
    Ok(log.store().settle(&names::folder(names::SNAPSHOTS)).await?)
}

/// Of several who repair at once, one gets the slot.
async fn claim(log: &ObjectLog, journal: JournalId, at: Sequence) -> Result<Checksum, JournalError> {
    let batch = Batch {
        sequence: at,
        parent_time: None,
        events: vec![Event::JournalCreated { journal }],
    };
    let proposal = Proposal::of_batch(journal, Checksum::default(), &batch)?;
    match log.append(&proposal).await? {
        Appended::Committed { .. } => Ok(proposal.checksum),
        Appended::Conflict | Appended::Retired { .. } => Err(overtaken(at)),
        Appended::Unknown => Err(JournalError::OutcomeUnknown(at)),
    }
}

fn overtaken(at: Sequence) -> JournalError {
    JournalError::Damaged {
        what: format!("the beginning of a new journal at entry {at}"),
        why: "somebody else repairs this root at the same time".to_owned(),
    }
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JournalError> {
    host::blocking(work).await.map_err(|_| JournalError::Stopped)
}
