//! Takes a committed job back, and brings its inputs home. What is begun here any process ends: the state says what is not
//! back yet.

use anyhow::{Result, bail};
use baler_core::event::Returned;
use baler_core::file::{File, FilePath, Identity};
use baler_core::garbage::Stage;
use baler_core::ids::JobId;
use baler_core::names::OutputName;
use baler_core::receipt::Committed;
use baler_core::request::{Reply, Request, Undo};
use baler_core::state::State;
use serde::Serialize;

use crate::collector;
use crate::depot::{Back, DepotError, ToSetAside};
use crate::receipts;
use crate::report::NamedReason;
use crate::root::Root;

/// What became of an undo.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Undone {
    /// The job.
    pub job: u64,
    /// Files that are live again.
    pub files_back: usize,
    /// Outputs that are on their way out.
    pub files_out: usize,
    /// Files that could not be brought back yet, with the reason. Whoever works on the root tries again.
    pub waiting: Vec<NamedReason>,
}

/// Takes a committed job back. Refused where something of it is gone.
pub async fn undo(root: &Root, job: JobId) -> Result<Undone> {
    receipts::write_due(root).await?;
    let state = root.replica.state();
    let committed = state.committed.get(&job).cloned();
    let inputs_now = match &committed {
        Some(committed) => look(root, &state, committed).await?,
        None => Vec::new(),
    };
    let request = Request::Undo(Undo { job, inputs_now });
    if let Reply::Refused(refusal) = root.replica.submit(request).await? {
        bail!("{refusal}");
    }
    let waiting = bring_back(root).await?;
    collector::clear_sight(root).await?;
    receipts::mark_undone(root).await;
    let (back, out) = committed.map_or((0, 0), |kept| (kept.job.inputs.len(), kept.outputs.len()));
    Ok(Undone {
        job: job.0,
        files_back: back - waiting.len().min(back),
        files_out: out,
        waiting,
    })
}

/// What lies where each input is kept. A name that somebody else has taken would keep the file from coming back.
async fn look(root: &Root, state: &State, committed: &Committed) -> Result<Vec<Option<Identity>>> {
    let mut seen = Vec::new();
    for (index, input) in committed.job.inputs.iter().enumerate() {
        let kept = state.kept(committed.job.id, index, input);
        let aside = kept.map(|(name, _)| name).filter(|name| *name != input.path);
        let home = version_at(root, input, &input.path).await?;
        let Some(aside) = aside else {
            seen.push(home);
            continue;
        };
        let there = version_at(root, input, &aside).await?;
        if home.as_ref().is_some_and(|home| *home != input.identity) {
            bail!(
                "job {} cannot be undone: another file is called {} now. Move it away first",
                committed.job.id,
                input.path
            );
        }
        seen.push(there.or(home));
    }
    Ok(seen)
}

async fn version_at(root: &Root, input: &File, path: &FilePath) -> Result<Option<Identity>, DepotError> {
    let file = File {
        path: path.clone(),
        ..input.clone()
    };
    root.site.depot_of(path).version_now(&file).await
}

/// Brings back what undone jobs had set aside. Answers with what has to wait.
pub async fn bring_back(root: &Root) -> Result<Vec<NamedReason>> {
    let state = root.replica.state();
    let returning = state.garbage.iter();
    let returning = returning.filter(|(_, garbage)| garbage.stage == Stage::Returning);
    let files: Vec<ToSetAside> = returning
        .filter_map(|(path, garbage)| {
            Some(ToSetAside {
                original: garbage.original.clone()?,
                aside: path.clone(),
            })
        })
        .collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let (mut returned, mut waiting) = (Vec::new(), Vec::new());
    let backs = root.site.root.bring_back(files.clone()).await?;
    for (back, file) in backs.into_iter().zip(files) {
        let reason = match back {
            Ok(Back::There { identity }) => {
                returned.push(Returned {
                    aside: file.aside,
                    identity: Some(identity),
                });
                continue;
            }
            Ok(Back::Taken) => "another file has its name: move that away".to_owned(),
            Ok(Back::Gone) => {
                returned.push(Returned {
                    aside: file.aside,
                    identity: None,
                });
                "it is lost: somebody removed it from where it was set aside".to_owned()
            }
            Err(error) => error.to_string(),
        };
        let path = file.original.path.to_string();
        tracing::info!("{path} is not back yet: {reason}");
        waiting.push(NamedReason { path, reason });
    }
    if !returned.is_empty() {
        root.replica.submit(Request::ReportReturned(returned)).await?;
    }
    Ok(waiting)
}

/// Whether an output of an undone job has to stay in sight, because not all that it was made of is back.
pub(crate) fn stays_in_sight(state: &State, path: &FilePath) -> bool {
    let made_by = OutputName::parse(path.name()).map(|name| name.attempt.job);
    made_by.is_some_and(|job| state.undoing.contains_key(&job))
}
