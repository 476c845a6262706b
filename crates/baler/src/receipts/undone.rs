//! Marks the receipts of jobs that were undone. A receipt is never overwritten, so the mark is an object beside it; whoever reads a
//! receipt looks for it. The state knows of the last undone jobs as well, should a process die before it has marked one.

use std::collections::BTreeMap;

use anyhow::Result;
use baler_core::ids::{JobId, JournalId, TableName};
use baler_core::names;
use baler_core::request::Request;
use baler_core::state::State;
use baler_journal::store::{Store, StoreError};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Moment;
use crate::root::Root;

/// The version of what is written here.
const VERSION: u32 = 1;

/// That a job was undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UndoneMark {
    /// The version of this format.
    undone: u32,
    journal: JournalId,
    job: JobId,
    table: TableName,
    /// When.
    pub(super) at: Moment,
}

/// When the last undone jobs were undone, as the state remembers.
pub(super) fn remembered(state: &State) -> BTreeMap<JobId, Moment> {
    let undone = state.recent.iter();
    let undone = undone.filter_map(|summary| Some((summary.id, summary.undone?)));
    undone
        .map(|(job, entry)| (job, Moment::of(state, entry)))
        .collect()
}

/// Marks what was undone just now. A mark that cannot be written is left to those who write receipts.
pub async fn mark_undone(root: &Root) {
    let marking = async {
        let undone = remembered(&root.replica.state());
        // When an entry was written is known with the one after it.
        if undone
            .values()
            .any(|at| root.replica.state().began(at.entry).is_none())
        {
            root.replica.submit(Request::Tick).await?;
        }
        mark_remembered(root).await
    };
    if let Err(error) = marking.await {
        tracing::warn!("receipts of undone jobs are marked later: {error:#}");
    }
}

/// Marks what the state remembers and nobody has marked.
pub(super) async fn mark_remembered(root: &Root) -> Result<()> {
    let state = root.replica.state();
    let undone = remembered(&state);
    if undone.is_empty() {
        return Ok(());
    }
    let (store, journal) = (root.site.root.journal_store()?, root.journal()?);
    for summary in &state.recent {
        let Some(at) = undone.get(&summary.id) else {
            continue;
        };
        let name = names::undone_mark(summary.id, &summary.table);
        let mark = UndoneMark {
            undone: VERSION,
            journal,
            job: summary.id,
            table: summary.table.clone(),
            at: *at,
        };
        write(
            &*store,
            &format!("{}/{name}", names::receipts_folder(journal)),
            &mark,
        )
        .await?;
    }
    Ok(())
}

/// It is there already more often than not, and to look costs less than to write. Another may be as fast.
async fn write(store: &dyn Store, path: &str, mark: &UndoneMark) -> Result<()> {
    match store.head(path).await {
        Ok(_) => return Ok(()),
        Err(StoreError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    match store.create(path, Bytes::from(serde_json::to_vec(mark)?)).await {
        Ok(()) | Err(StoreError::AlreadyExists { .. } | StoreError::Unknown { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
