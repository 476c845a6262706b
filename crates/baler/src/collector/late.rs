//! What nothing in the state leads to any more: outputs that an attempt staged or wrote and uploads that it began long after it had ended,
//! and objects of probes whose process died. Finding them takes a listing, so that only `gc --full` looks for them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use baler_core::file::FilePath;
use baler_core::ids::TableName;
use baler_core::names::{TABLES_FOLDER, writer_of};
use baler_core::request::{Grace, Request};
use baler_core::state::State;
use baler_journal::store::StoreError;
use futures::StreamExt;

use crate::audit;
use crate::depot::{Depot, Found, Namer, is_left_over};
use crate::root::Root;

/// Looks for names of this journal's own form that nothing in the state shows, and has them put on the deletion list.
pub async fn find_late_writes(root: &Root) -> Result<()> {
    for report in late_writes(root).await? {
        root.replica.submit(report).await?;
    }
    Ok(())
}

/// Reports of what may have been written late, of which the state says what was.
pub async fn late_writes(root: &Root) -> Result<Vec<Request>> {
    let state = root.replica.state();
    let plain = state.tables.values().any(|table| table.spec.catalog.publishes());
    let paths = match plain {
        true => [in_sight(root, &state).await?, in_staging(root).await?].concat(),
        false => in_tables(root, &state).await?,
    };
    let reports = by_table(&state, paths).into_iter();
    let reports = reports.map(|(table, paths)| Request::ReportLateWrites {
        table,
        evidence: state.sequence,
        paths,
    });
    Ok(reports.collect())
}

/// Outputs of tables with a catalog lie in a folder of their own, and end in the name of whatever format they are of.
async fn in_tables(root: &Root, state: &State) -> Result<Vec<FilePath>> {
    let found = root.site.root.in_tables().await?;
    let ours = |path: &FilePath| matches!(Namer::of(path.name(), state.journal), Namer::ThisJournal(_));
    Ok(found.into_iter().filter(ours).collect())
}

async fn in_sight(root: &Root, state: &State) -> Result<Vec<FilePath>> {
    let mut paths = Vec::new();
    let mut listing = root.site.root.walk(state.journal);
    while let Some(found) = listing.next().await {
        if let Found::Data(file) = found?
            && let Namer::ThisJournal(_) = file.namer
        {
            paths.push(file.path);
        }
    }
    Ok(paths)
}

/// What attempts write before it is published is out of sight, and no walk meets it.
async fn in_staging(root: &Root) -> Result<Vec<FilePath>> {
    match baler_core::planted!(LateStagingStays) {
        true => Ok(Vec::new()),
        false => Ok(root.site.root.in_staging().await?),
    }
}

/// Each with the table whose attempt wrote it; with any other where that table is gone.
fn by_table(state: &State, paths: Vec<FilePath>) -> BTreeMap<TableName, Vec<FilePath>> {
    let live = state.tables.iter().filter(|(_, table)| !table.is_dropped());
    let live: Vec<&TableName> = live.map(|(name, _)| name).collect();
    let mut sorted: BTreeMap<TableName, Vec<FilePath>> = BTreeMap::new();
    for path in paths {
        let below = path
            .path
            .strip_prefix(TABLES_FOLDER)
            .and_then(|rest| rest.strip_prefix('/'));
        let named = below.and_then(|rest| rest.split('/').next());
        let own = live.iter().find(|name| Some(name.as_str()) == named);
        if let Some(table) = own.or(live.first()) {
            sorted.entry(TableName::clone(table)).or_default().push(path);
        }
    }
    sorted
}

/// Ends uploads in parts that were begun so late that their attempt was forgotten already: nothing that is swept leads to them.
/// Answers with how many. What is under way, as the state says after they were listed, is left alone.
pub async fn end_late_uploads(root: &Root) -> Result<u64> {
    let Depot::Bucket(bucket) = &root.site.root else {
        return Ok(0);
    };
    let bucket = bucket.bucket();
    let open = match bucket.open_uploads().await {
        Ok(open) => open.unwrap_or_default(),
        // It will not be otherwise the next time: a lifecycle rule of the bucket must do it.
        Err(error @ (StoreError::Denied { .. } | StoreError::Unsupported { .. })) => {
            tracing::warn!("unfinished uploads may be left: {error}");
            return Ok(0);
        }
        Err(error) => return Err(error.into()),
    };
    if open.is_empty() || baler_core::planted!(LateUploadsStay) {
        return Ok(0);
    }
    let state = root.replica.catch_up().await?;
    let open = open.into_iter().map(FilePath::in_root);
    let late = open.filter(|path| is_of_an_ended_attempt(&state, path));
    let folders: BTreeSet<String> = late.map(|path| path.folder().to_owned()).collect();
    let mut ended = 0;
    for folder in folders {
        ended += bucket.abort_uploads(&folder).await?;
    }
    Ok(ended)
}

/// A token that is later than the state may be at work.
fn is_of_an_ended_attempt(state: &State, path: &FilePath) -> bool {
    let attempt = state.journal.and_then(|journal| writer_of(journal, path));
    attempt.is_some_and(|attempt| {
        attempt.token.sequence <= state.sequence && !audit::is_under_way(state, &attempt)
    })
}

/// In a bucket every name costs a request, so that only `--full` looks for what dead probes left.
pub async fn sweep_probes(root: &Root, grace: Grace) -> Result<u64> {
    let Depot::Bucket(bucket) = &root.site.root else {
        return Ok(0);
    };
    if grace != Grace::Kept {
        return Ok(bucket.sweep_probes(None).await?.deleted);
    }
    let swept = bucket.sweep_probes(Some(root.replica.state().time)).await?;
    let may_be_over = |written| is_left_over(written, root.now());
    if !swept.oldest_left.is_some_and(may_be_over) || baler_core::planted!(OldProbesStay) {
        return Ok(swept.deleted);
    }
    // The state's time is that of its last entries: on an idle root, long ago. When an entry was written is known with the next.
    root.replica.submit(Request::Tick).await?;
    root.replica.submit(Request::Tick).await?;
    let again = bucket.sweep_probes(Some(root.replica.state().time)).await?;
    Ok(swept.deleted + again.deleted)
}
