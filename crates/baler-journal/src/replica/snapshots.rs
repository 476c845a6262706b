//! Snapshots in the background: the replica whose append made a multiple of N writes one; another does so only if it
//! is missing N entries later. With each, what nobody needs any more is let go.

use std::sync::Arc;

use baler_core::ids::Sequence;
use baler_core::state::State;
use tokio::task::JoinHandle;

use crate::checksum::Checksum;
use crate::error::JournalError;
use crate::host;
use crate::journal::{Journal, Position};
use crate::limits::SNAPSHOTS_KEPT;
use crate::snapshot;
use crate::steps::Step;

/// At most one is written at a time.
pub(super) struct Snapshots {
    journal: Arc<dyn Journal>,
    every: u64,
    /// No snapshot is looked for or written before this entry, unless it is this replica's turn.
    due: Sequence,
    task: Option<JoinHandle<()>>,
}

impl Snapshots {
    pub(super) fn new(journal: Arc<dyn Journal>, every: u64, latest: Sequence) -> Self {
        let mut snapshots = Self {
            journal,
            every,
            due: Sequence(0),
            task: None,
        };
        snapshots.saw(latest);
        snapshots
    }

    /// There is a snapshot of this entry.
    pub(super) fn saw(&mut self, latest: Sequence) {
        self.due = Sequence(latest.0 + 2 * self.every);
    }

    /// This replica appended the entry it stands at.
    pub(super) fn appended(&mut self, state: &State, position: &Position) {
        let sequence = position.sequence;
        let own_turn = sequence.0.is_multiple_of(self.every);
        let busy = self.task.as_ref().is_some_and(|task| !task.is_finished());
        if busy || !(own_turn || sequence >= self.due) {
            return;
        }
        self.due = Sequence(sequence.0 + if own_turn { 2 * self.every } else { self.every });
        let journal = self.journal.clone();
        let (state, checksum, every) = (state.clone(), position.checksum, self.every);
        self.task = Some(host::spawn(async move {
            let written = async {
                if own_turn || is_missing(journal.as_ref(), sequence, every).await? {
                    take(&journal, state, checksum).await?;
                }
                Ok::<_, JournalError>(())
            };
            if let Err(error) = written.await {
                journal.counters().snapshots_failed.add_one();
                tracing::warn!(%error, entry = sequence.0, "no snapshot was written; the next one will do");
            }
        }));
    }

    /// Waits for the one being written.
    pub(super) async fn finish(&mut self) {
        if let Some(task) = self.task.take() {
            let _logged_its_own_failure = task.await;
        }
    }
}

async fn is_missing(journal: &dyn Journal, sequence: Sequence, every: u64) -> Result<bool, JournalError> {
    let latest = journal.snapshots().await?.last().copied().unwrap_or_default();
    Ok(latest.0 + 2 * every <= sequence.0)
}

/// Writes the snapshot, reads it back, and only then lets go of what it replaces.
async fn take(journal: &Arc<dyn Journal>, state: State, entry: Checksum) -> Result<(), JournalError> {
    let at = state.sequence;
    if journal.is_retired(at).await? {
        return Ok(());
    }
    let bytes = in_background(move || Ok(snapshot::write(&state, entry))).await?;
    let written = journal.write_snapshot(at, bytes).await;
    Step::SnapshotWritten.reached();
    match verify(journal, at).await {
        Ok(Some(found)) if found == entry => {}
        Ok(Some(_)) => return Err(not_verified(at, "it is of another entry of that number")),
        Ok(None) => {
            return Err(written
                .err()
                .unwrap_or_else(|| not_verified(at, "it is not there")));
        }
        Err(error) => return Err(error),
    }
    journal.counters().snapshots_written.add_one();
    let_go(journal, at).await
}

async fn verify(journal: &Arc<dyn Journal>, at: Sequence) -> Result<Option<Checksum>, JournalError> {
    let Some(bytes) = journal.read_snapshot(at).await? else {
        return Ok(None);
    };
    in_background(move || snapshot::verify(at, &bytes))
        .await
        .map(Some)
}

/// `latest` was verified just now; the one before it must be, before anything that only it replaces is deleted.
async fn let_go(journal: &Arc<dyn Journal>, latest: Sequence) -> Result<(), JournalError> {
    let snapshots = journal.snapshots().await?;
    let older: Vec<Sequence> = snapshots.into_iter().filter(|at| *at < latest).collect();
    let Some(last_but_one) = older.last().copied() else {
        return Ok(());
    };
    if journal.can_retire(last_but_one).await? {
        if verify(journal, last_but_one).await?.is_none() {
            return Ok(());
        }
        journal.retire(last_but_one).await?;
    }
    let kept = older.len().saturating_sub(SNAPSHOTS_KEPT - 1);
    match older.get(kept) {
        Some(oldest_kept) if kept > 0 => journal.prune_snapshots(*oldest_kept).await,
        _ => Ok(()),
    }
}

fn not_verified(at: Sequence, why: &str) -> JournalError {
    JournalError::Damaged {
        what: format!("the snapshot of entry {at}"),
        why: why.to_owned(),
    }
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    host::blocking(work).await.map_err(|_| JournalError::Stopped)?
}
