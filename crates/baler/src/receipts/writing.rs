//! Writes the receipts that are due, and deletes those that are old. Neither keeps anybody from anything: what fails is
//! tried again by whoever comes by next.

use std::sync::Arc;

use anyhow::Result;
use baler_core::ids::{JobId, TableName};
use baler_core::names;
use baler_core::receipt::Committed;
use baler_core::request::Request;
use baler_journal::store::{Store, StoreError};
use bytes::Bytes;
use futures::{StreamExt, stream};

use super::{Receipt, undone};
use crate::root::Root;

/// Receipts under way at once.
const WRITES_AT_ONCE: usize = 16;

/// Writes what is due, and has it taken down. Answers how many were written.
pub async fn write_due(root: &Root) -> Result<u64> {
    if root.replica.state().receipts_due().next().is_none() {
        return Ok(0);
    }
    know_the_time(root).await?;
    let written = write_those(root, |_any| true).await?;
    let number = written.len() as u64;
    if number > 0 {
        root.replica.submit(Request::ReportReceipts(written)).await?;
    }
    Ok(number)
}

/// Writes those that are due and chosen, and answers which were written.
pub(super) async fn write_those(root: &Root, chosen: impl Fn(JobId) -> bool) -> Result<Vec<JobId>> {
    #[cfg(debug_assertions)]
    super::hook::die_before_receipts();
    let state = root.replica.state();
    undone::mark_remembered(root).await?;
    let (store, folder) = (
        root.site.root.journal_store()?,
        names::receipts_folder(root.journal()?),
    );
    let due = state.receipts_due().filter(|due| chosen(due.job.id));
    let due: Vec<Arc<Committed>> = due.cloned().collect();
    let writes = stream::iter(due).map(|committed| {
        let (store, folder, state) = (store.clone(), &folder, &state);
        async move {
            let job = &committed.job;
            let receipt = Receipt::of(state, &root.site.root, &committed);
            let path = format!("{folder}/{}", names::receipt(job.id, &job.table));
            let written = write(&*store, &path, &receipt).await;
            written.inspect_err(|error| tracing::warn!("the receipt of job {} waits: {error}", job.id))?;
            Ok::<JobId, StoreError>(job.id)
        }
    });
    let written: Vec<Result<JobId, StoreError>> = writes.buffered(WRITES_AT_ONCE).collect().await;
    Ok(written.into_iter().flatten().collect())
}

/// When an entry was written is known with the one after it.
async fn know_the_time(root: &Root) -> Result<()> {
    let state = root.replica.state();
    if state
        .receipts_due()
        .any(|committed| state.began(committed.ended).is_none())
    {
        root.replica.submit(Request::Tick).await?;
    }
    Ok(())
}

/// Another may have written it: then it says the same. Where a store claims so and nothing is there, it is due again.
async fn write(store: &dyn Store, path: &str, receipt: &Receipt) -> Result<(), StoreError> {
    let text = serde_json::to_vec(receipt).map_err(|error| StoreError::Unsupported {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    match store.create(path, Bytes::from(text)).await {
        Ok(()) => Ok(()),
        Err(StoreError::AlreadyExists { .. } | StoreError::Unknown { .. }) => {
            store.head(path).await.map(|_there| ())
        }
        Err(error) => Err(error),
    }
}

/// Deletes receipts that the state says may go: beyond those that are kept, and of tables that were dropped.
pub async fn delete_old(root: &Root) -> Result<u64> {
    let state = root.replica.state();
    let old = state.old_receipts;
    let dropped = state.tables.iter();
    let dropped = dropped.filter(|(_, table)| table.is_dropped() && table.has_receipts);
    let dropped: Vec<TableName> = dropped.map(|(name, _)| name.clone()).collect();
    if old.deleted >= old.retired && dropped.is_empty() {
        return Ok(0);
    }
    let (store, folder) = (
        root.site.root.journal_store()?,
        names::receipts_folder(root.journal()?),
    );
    let mut deleted = 0;
    let mut listed = store.list(&folder, "");
    while let Some(meta) = listed.next().await {
        let meta = meta?;
        let below = meta.path.strip_prefix(&folder);
        let name = below.and_then(|below| below.strip_prefix('/'));
        let name =
            name.and_then(|name| names::parse_receipt(name).or_else(|| names::parse_undone_mark(name)));
        if name.is_some_and(|(job, table)| job < old.retired || dropped.contains(&table)) {
            store.delete(&meta.path).await?;
            deleted += 1;
        }
    }
    if old.deleted < old.retired {
        let before = old.retired;
        root.replica
            .submit(Request::ReportReceiptsDeleted { before })
            .await?;
    }
    for table in dropped {
        root.replica
            .submit(Request::ReportTableReceiptsDeleted(table))
            .await?;
    }
    Ok(deleted)
}
