//! Operators: they interfere while all goes on.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use baler::root::Root;
use baler::{undoing, upkeep};
use baler_core::ids::{JobId, TableName};
use baler_core::request::Request;
use tokio::time::sleep;

use crate::dice::Dice;
use crate::nodes::{Birth, opening};
use crate::plan::TABLE;

/// Takes jobs back, cancels, pauses, resumes, and has things tried again.
pub(crate) async fn operator(birth: Birth) -> Result<()> {
    let root = opening::root(&birth).await?;
    let mut dice = Dice::new(birth.world.seed, &format!("whims of {}", birth.life.name));
    while !birth.drain.load(Ordering::Relaxed) {
        let whim = sleep(dice.about(Duration::from_secs(30)));
        let too_late = tokio::select! {
            biased;
            () = birth.world.something_is_due() => true,
            () = whim => false,
        };
        if birth.closing.load(Ordering::Relaxed) {
            sleep(Duration::from_secs(60)).await;
            continue;
        }
        if too_late {
            if let Some(job) = leaving(&birth, &mut dice) {
                take_back(&birth, &root, job).await;
            }
            continue;
        }
        let state = root.replica.catch_up().await?;
        if birth.plan.retention.is_some() && dice.permille(500) {
            upkeep::apply_retention(&root, &root.tables(None)?).await?;
            continue;
        }
        let table = TableName::from(TABLE);
        let jobs: Vec<_> = state.jobs.keys().copied().collect();
        let committed: Vec<_> = state.committed.keys().copied().collect();
        let often = if birth.plan.regrets { 700 } else { 400 };
        if !committed.is_empty() && dice.permille(often) {
            take_back(&birth, &root, dice.one_of(&committed)).await;
            continue;
        }
        let request = match dice.below(4) {
            0 if !jobs.is_empty() => Request::Cancel(dice.one_of(&jobs)),
            1 => Request::Pause { table: Some(table) },
            2 => Request::Resume { table: Some(table) },
            _ => Request::Retry { table, paths: vec![] },
        };
        birth
            .world
            .note(format_args!("{} wants {request:?}", birth.life.name));
        root.replica.submit(request).await?;
    }
    root.replica.clone().close().await;
    Ok(())
}

/// A job whose inputs are about to be deleted: somebody finds out too late that it should not have been.
fn leaving(birth: &Birth, dice: &mut Dice) -> Option<JobId> {
    let jobs: Vec<u64> = birth.world.look(|oracle, _| {
        let commits = oracle.model.commits.iter().filter(|(_, commit)| !commit.undone);
        let due = |path: &String| oracle.model.due.contains(path);
        let leaving = commits.filter(|(_, commit)| commit.inputs.iter().any(|(path, _)| due(path)));
        leaving.map(|(id, _)| *id).collect()
    });
    (!jobs.is_empty()).then(|| JobId(dice.one_of(&jobs)))
}

/// What is refused stays as it is.
async fn take_back(birth: &Birth, root: &Root, job: JobId) {
    let who = &birth.life.name;
    match undoing::undo(root, job).await {
        Ok(undone) => birth.world.note(format_args!("{who} undoes {job}: {undone:?}")),
        Err(error) => birth.world.note(format_args!("{who} undoes {job}: {error:#}")),
    }
}
