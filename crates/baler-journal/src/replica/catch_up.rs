//! Learning what others did: from a snapshot when cold, from the entries after it otherwise.

use std::sync::Arc;

use baler_core::ids::Sequence;
use baler_core::planted;
use baler_core::state::State;
use futures::future::join_all;

use super::serve::Server;
use crate::entry::Entry;
use crate::error::JournalError;
use crate::host;
use crate::journal::{Journal, Position};
use crate::limits::{READ_AHEAD_MAX, RELOADS_MAX};
use crate::object_log::Access;
use crate::snapshot;

/// The state in the latest snapshot, or the empty one where there is none.
pub(super) async fn load_snapshot(journal: &Arc<dyn Journal>) -> Result<(State, Position), JournalError> {
    for _ in 0..RELOADS_MAX {
        let Some(at) = journal.snapshots().await?.last().copied() else {
            return Ok((State::default(), Position::default()));
        };
        match read_snapshot(journal, at).await {
            Ok(Some(loaded)) => return Ok(loaded),
            Ok(None) => tracing::debug!(at = at.0, "the snapshot was replaced by a newer one meanwhile"),
            // The damage may have happened on the way.
            Err(JournalError::Damaged { .. }) => {
                if let Some(loaded) = read_snapshot(journal, at).await? {
                    return Ok(loaded);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(moving_target())
}

async fn read_snapshot(
    journal: &Arc<dyn Journal>,
    at: Sequence,
) -> Result<Option<(State, Position)>, JournalError> {
    let Some(bytes) = journal.read_snapshot(at).await? else {
        return Ok(None);
    };
    let read = host::blocking(move || snapshot::read(at, &bytes)).await;
    let (state, checksum) = read.map_err(|_| JournalError::Stopped)??;
    let position = Position {
        journal: state.journal,
        sequence: at,
        checksum,
        modified: None,
    };
    Ok(Some((state, position)))
}

/// How many slots are read at once after so many entries were found. Who is far behind takes large steps; who follows
/// closely takes small ones, because every slot beyond the last entry is a request for nothing.
fn window_after(found: u64) -> u64 {
    match found {
        0 => 1,
        1..=4 => 2,
        5..=39 => 3,
        _ => (found / 4).min(READ_AHEAD_MAX),
    }
}

fn moving_target() -> JournalError {
    JournalError::Damaged {
        what: "the journal".to_owned(),
        why: "its entries are retired, and no snapshot leads to those that are left".to_owned(),
    }
}

impl Server {
    /// Reads on until the next slot is empty, and makes sure that none of it was retired meanwhile: an empty slot may
    /// be a deleted one, and a full one a stalled writer's belated entry.
    pub(super) async fn catch_up(&mut self) -> Result<(), JournalError> {
        for _ in 0..RELOADS_MAX {
            let first = *self.unchecked_from.get_or_insert(self.position.sequence.next());
            let read = self.read_on().await;
            if self.journal.is_retired(first).await? && !planted!(ReaderIgnoresBoundary) {
                tracing::info!(
                    entry = first.0,
                    "entries were retired while this replica slept; reloading"
                );
                self.reload().await?;
                continue;
            }
            read?;
            if self.position.sequence >= first && self.settings.access == Access::ReadWrite {
                self.journal.settle().await?;
            }
            self.unchecked_from = None;
            self.company.caught_up();
            self.publish();
            return Ok(());
        }
        Err(moving_target())
    }

    /// Reads on for an append, and acts on nothing else. Whether any of it was retired need not be asked first: the append
    /// asks for its own slot. What comes before a slot that was empty, and is in no retired block afterwards, was not
    /// retired either, because blocks are retired in order, and never the last ones. Under many writers each moment between
    /// reading and appending is another chance to be too late.
    pub(super) async fn read_to_append(&mut self) -> Result<(), JournalError> {
        let first = *self.unchecked_from.get_or_insert(self.position.sequence.next());
        if let Err(error) = self.read_on().await {
            tracing::debug!(%error, "what was read does not fit: it may have been retired");
            return self.catch_up().await;
        }
        if self.position.sequence >= first {
            self.journal.settle().await?;
        }
        self.company.caught_up();
        Ok(())
    }

    /// Starts over from the latest snapshot. What follows it is still to be read. A mended journal has another id: its state is
    /// none that this replica's leases, tokens and outputs belong to.
    pub(super) async fn reload(&mut self) -> Result<(), JournalError> {
        let (state, position) = load_snapshot(&self.journal).await?;
        if let (Some(before), Some(now)) = (self.position.journal, position.journal)
            && before != now
        {
            return Err(JournalError::Replaced { before, now });
        }
        (self.state, self.position) = (state, position);
        self.snapshots.saw(self.position.sequence);
        self.unchecked_from = None;
        Ok(())
    }

    async fn read_on(&mut self) -> Result<(), JournalError> {
        self.journal.counters().looks.add_one();
        let begun = self.position.sequence;
        loop {
            let first = self.position.sequence.next();
            let window = window_after(self.position.sequence.0 - begun.0);
            let slots = (first.0..first.0 + window).map(|slot| self.journal.read(Sequence(slot)));
            let mut entries = join_all(slots).await.into_iter();
            for _ in 0..window {
                match entries.next().unwrap_or(Ok(None))? {
                    Some(entry) => self.apply(&entry)?,
                    None => {
                        let beyond = entries.find_map(|later| later.ok().flatten());
                        match self.fill_gap(beyond).await? {
                            Some(entry) => self.apply(&entry)?,
                            None => return Ok(()),
                        }
                        break;
                    }
                }
            }
        }
    }

    /// Slots are filled in order: an empty one before a full one was filled between the two reads, or was lost.
    async fn fill_gap(&self, beyond: Option<Entry>) -> Result<Option<Entry>, JournalError> {
        let Some(beyond) = beyond else {
            return Ok(None);
        };
        let missing = self.position.sequence.next();
        match self.journal.read(missing).await? {
            Some(entry) => Ok(Some(entry)),
            None => {
                let why = format!(
                    "it is missing, though there is an entry {}",
                    beyond.batch.sequence
                );
                Err(JournalError::damaged_entry(missing, why))
            }
        }
    }

    fn apply(&mut self, entry: &Entry) -> Result<(), JournalError> {
        self.position.check_next(entry)?;
        // A position without a time comes from a snapshot.
        let resumes = self.position.sequence.0 > 0 && self.position.modified.is_none();
        match planted!(ResumeSkipsBatch) && resumes {
            true => self.state.open_batch(entry.batch.parent_time),
            false => baler_core::apply(&mut self.state, &entry.batch),
        }
        self.position = Position::after(entry);
        self.company.met();
        Ok(())
    }
}
