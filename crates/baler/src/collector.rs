//! Takes away what is left behind, by the durable lists in the state. One object that cannot be deleted stays on its
//! list, and does not stop the others.

mod late;

pub use late::{end_late_uploads, find_late_writes, late_writes, sweep_probes};

use std::sync::Arc;

use anyhow::{Result, anyhow};
use baler_core::file::FilePath;
use baler_core::garbage::{self, Garbage, Leftover, Stage};
use baler_core::request::{Grace, Reply, Request};
use baler_core::state::State;
use baler_core::table::Replaced;
use baler_journal::steps::Step;
use futures::{StreamExt, stream};
use serde::Serialize;

use crate::depot::{Aside, Deleted, Deletion, ToSetAside};
use crate::receipts;
use crate::report::NamedReason;
use crate::root::Root;
use crate::undoing;

/// What a collection did, or would do.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Collected {
    /// Objects deleted.
    pub deleted: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that could not be deleted, with the reason; they stay on the list.
    pub failed: Vec<NamedReason>,
    /// Files that were found overwritten when they were to be set aside, and were put back, under these names.
    pub put_back: Vec<String>,
}

/// Takes the files that committed jobs replaced out of the readers' sight: where nothing can be renamed, by deleting
/// them. Answers with what had to be put back.
pub async fn clear_sight(root: &Root) -> Result<Vec<String>> {
    undoing::bring_back(root).await?;
    let put_back = set_aside(root).await?;
    let ripe = |garbage: &Arc<Garbage>| garbage.stage == Stage::Ripe;
    if root.replica.state().garbage.values().any(ripe) {
        delete_due(root, Grace::Kept).await?;
    }
    Ok(put_back)
}

/// Renames replaced files, where the table says so.
async fn set_aside(root: &Root) -> Result<Vec<String>> {
    let state = root.replica.state();
    let to_set_aside = state
        .garbage
        .iter()
        .filter(|(_, garbage)| garbage.stage == Stage::ToSetAside)
        .filter(|(_, garbage)| {
            let original = garbage.original.as_ref();
            !original.is_some_and(|original| undoing::stays_in_sight(&state, &original.path))
        });
    let pending: Vec<ToSetAside> = to_set_aside
        .filter_map(|(path, garbage)| {
            Some(ToSetAside {
                original: garbage.original.clone()?,
                aside: path.clone(),
            })
        })
        .collect();
    if pending.is_empty() {
        return Ok(Vec::new());
    }
    let paths: Vec<FilePath> = pending.iter().map(|file| file.aside.clone()).collect();
    let (mut moved, mut nothing, mut put_back) = (Vec::new(), Vec::new(), Vec::new());
    let outcomes = root.site.root.set_aside(pending).await?;
    for (outcome, path) in outcomes.into_iter().zip(paths) {
        match outcome {
            Ok(Aside::Moved) => moved.push(path),
            Ok(Aside::Gone | Aside::Overwritten) => nothing.push(path),
            Ok(Aside::PutBack { under }) => {
                put_back.push(under.to_string());
                nothing.push(path);
            }
            Err(error) => tracing::warn!("a replaced file stays in sight for now: {error}"),
        }
    }
    Step::SetAside.reached();
    root.replica
        .submit(Request::ReportAside { moved, nothing })
        .await?;
    Ok(put_back)
}

/// Sweeps ended attempts and deletes what is due.
pub async fn collect(root: &Root, grace: Grace) -> Result<Collected> {
    undoing::bring_back(root).await?;
    let put_back = set_aside(root).await?;
    if grace == Grace::Kept && garbage::would_be_ripe(&root.replica.state(), root.now()) {
        root.replica.submit(Request::Tick).await?;
    }
    sweep(root, grace).await?;
    let mut collected = delete_due(root, grace).await?;
    collected.deleted += receipts::delete_old(root).await?;
    collected.failed.extend(sweep(root, grace).await?);
    for NamedReason { path, reason } in &collected.failed {
        tracing::warn!("{path} stays for now: {reason}");
    }
    collected.put_back.extend(put_back);
    Ok(collected)
}

/// Looks for what ended attempts have left. Answers with what could not be looked at, which stays for the next time.
async fn sweep(root: &Root, grace: Grace) -> Result<Vec<NamedReason>> {
    let leftovers: Vec<Leftover> = root.replica.state().leftovers.values().cloned().collect();
    let (mut reports, mut failed) = (Vec::new(), Vec::new());
    for leftover in leftovers {
        let attempt = leftover.attempt;
        let nothing_found = Request::ReportSweep {
            attempt,
            found: Vec::new(),
            grace,
        };
        // Between the first sweep and the last one there is nothing to learn from looking again.
        if root.would_decide(&nothing_found).is_empty() {
            continue;
        }
        let folders = root.replica.state().leftover_folders(&leftover);
        let found = match root.site.root.left_behind(&folders).await {
            Ok(found) => found,
            Err(error) => {
                failed.push(NamedReason {
                    path: folders.join(", "),
                    reason: error.to_string(),
                });
                continue;
            }
        };
        // What could not be tidied up is not forgotten: it is looked at again the next time.
        if found.is_empty()
            && let Err(error) = root.site.root.tidy(&folders).await
        {
            failed.push(NamedReason {
                path: folders.join(", "),
                reason: error.to_string(),
            });
            continue;
        }
        let report = Request::ReportSweep {
            attempt,
            found,
            grace,
        };
        if !root.would_decide(&report).is_empty() {
            reports.push(root.replica.submit(report));
        }
    }
    futures::future::try_join_all(reports).await?;
    Ok(failed)
}

async fn delete_due(root: &Root, grace: Grace) -> Result<Collected> {
    let Reply::Due(due) = root.replica.submit(Request::DeclareDue { grace }).await? else {
        return Err(anyhow!("the deletion list was refused"));
    };
    if !due.is_empty() {
        Step::DueDeclared.reached();
    }
    let state = root.replica.state();
    let list: Vec<Deletion> = due
        .into_iter()
        .filter_map(|path| deletion(&state, path))
        .collect();
    let sizes = sizes(root, &list).await;
    let paths: Vec<FilePath> = list.iter().map(|deletion| deletion.path.clone()).collect();
    let outcomes = root.site.root.delete(root.journal()?, list).await?;
    let mut collected = Collected::default();
    let mut gone = Vec::new();
    for ((outcome, size), path) in outcomes.into_iter().zip(sizes).zip(paths) {
        match outcome {
            Ok(Deleted::Gone) => {
                collected.deleted += 1;
                collected.bytes += size;
                gone.push(path);
            }
            Ok(Deleted::PutBack { under }) => {
                collected.put_back.push(under.to_string());
                gone.push(path);
            }
            Err(error) => {
                collected.failed.push(NamedReason {
                    path: path.to_string(),
                    reason: error.to_string(),
                });
            }
        }
    }
    if !gone.is_empty() {
        Step::Deleted.reached();
        let report = Request::ReportDeleted {
            listed: state.sequence,
            paths: gone,
        };
        root.replica.submit(report).await?;
    }
    Ok(collected)
}

/// What to delete, and in which version. Nothing if somebody else was first: whatever has the name now is not known here.
fn deletion(state: &State, path: FilePath) -> Option<Deletion> {
    let garbage = state.garbage.get(&path)?;
    (garbage.stage == Stage::Due).then(|| Deletion {
        original: garbage.original.clone(),
        replaced: garbage.replaced,
        names_once: names_once(state, garbage),
        keep: keep(state, garbage),
        path,
    })
}

fn names_once(state: &State, garbage: &Garbage) -> bool {
    let table = state.tables.get(&garbage.table);
    table.is_some_and(|table| table.spec.names_once)
}

/// The prefix that a replaced file is copied to before it goes, if its table says so.
fn keep(state: &State, garbage: &Garbage) -> Option<Arc<str>> {
    match &state.tables.get(&garbage.table)?.spec.replaced {
        Replaced::Keep { prefix } => Some(prefix.clone()),
        Replaced::SetAside | Replaced::Delete | Replaced::Remember => None,
    }
}

/// How much each holds; for the report only.
async fn sizes(root: &Root, list: &[Deletion]) -> Vec<u64> {
    let asked = stream::iter(list.to_vec()).map(|deletion| async move {
        if let Some(original) = &deletion.original {
            return original.identity.bytes;
        }
        let now = root.site.root.identity_now(&deletion.path).await;
        now.ok().flatten().map_or(0, |identity| identity.bytes)
    });
    asked.buffered(root.site.root.looks_at_once()).collect().await
}
