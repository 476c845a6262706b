//! Undo is a commit: the outputs of a committed job leave the table, and its inputs are live again. That can be only while
//! every output is live, and every input is still kept and was seen there.
//!
//! ```text
//!  native, left in place    Undo ─▶ JobUndone: inputs live, outputs on their way out
//!  set aside                Undo ─▶ JobUndone: inputs live and held ─(copied back)─▶ ReportReturned ─▶ InputsReturned
//! ```
//!
//! From `JobUndone` on nobody may delete what was set aside, and no listing can let the inputs go that are not back yet.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Answer, Draft};
use crate::event::{Event, Returned};
use crate::file::{File, FilePath};
use crate::garbage::Stage;
use crate::ids::{JobId, TableName};
use crate::job::{CancelReason, JobStatus};
use crate::receipt::Committed;
use crate::request::{Refusal, Reply, Undo};
use crate::state::{State, Table};
use crate::table::{Catalog, Replaced};

/// What the planner is told of files that came back.
const PUT_OFF: &str = "brought back by an undo: retry lets it be planned again";

impl Draft {
    pub(super) fn undo(&mut self, undo: &Undo) -> Answer {
        let id = undo.job;
        if self.state.undoing.contains_key(&id) || self.was_undone(id) {
            return Ok(Reply::Done);
        }
        let committed = self.undoable(id)?;
        let table = self.table(&committed.job.table)?;
        if !committed.receipted {
            let why = "its receipt is not written yet: try again in a moment".to_owned();
            return Err(Refusal::CannotUndo { job: id, why });
        }
        check_outputs(&self.state, table, &committed)?;
        for (index, input) in committed.job.inputs.iter().enumerate() {
            check_input(&self.state, table, id, index, input)?;
            let seen = undo.inputs_now.get(index).and_then(Option::as_ref);
            if seen != Some(&input.identity) {
                let why = format!("{} is not where it was kept", input.path);
                return Err(Refusal::CannotUndo { job: id, why });
            }
        }
        self.cancel_holders(&committed);
        self.emit(Event::JobUndone { job: id });
        let table = &self.state.tables[&committed.job.table];
        let back = committed.job.inputs.iter();
        let back = back.filter(|input| !table.held.contains_key(&input.path));
        let back: Vec<FilePath> = back.map(|input| input.path.clone()).collect();
        self.put_off_undone(&committed.job.table, id, back);
        Ok(Reply::Done)
    }

    /// Inputs that were set aside lie under their own names again. One that somebody removed from there is lost.
    pub(super) fn report_returned(&mut self, returned: &[Returned]) -> Answer {
        let known = |back: &&Returned| {
            let garbage = self.state.garbage.get(&back.aside);
            garbage.is_some_and(|garbage| garbage.stage == Stage::Returning)
        };
        let mut asides = BTreeSet::new();
        let returned: Vec<Returned> = returned
            .iter()
            .filter(known)
            .filter(|back| asides.insert(back.aside.clone()))
            .cloned()
            .collect();
        if returned.is_empty() {
            return Ok(Reply::Done);
        }
        let held: Vec<(TableName, JobId, FilePath)> = returned
            .iter()
            .filter(|back| back.identity.is_some())
            .filter_map(|back| {
                let garbage = self.state.garbage.get(&back.aside)?;
                let path = garbage.original.as_ref()?.path.clone();
                let job = *self.state.tables.get(&garbage.table)?.held.get(&path)?;
                Some((garbage.table.clone(), job, path))
            })
            .collect();
        self.emit(Event::InputsReturned { files: returned });
        for (table, job, path) in held {
            self.put_off_undone(&table, job, vec![path]);
        }
        Ok(Reply::Done)
    }

    fn put_off_undone(&mut self, table: &TableName, job: JobId, paths: Vec<FilePath>) {
        if !paths.is_empty() {
            self.emit(Event::FilesPutOff {
                table: table.clone(),
                paths,
                job,
                lasts: None,
                reason: PUT_OFF.into(),
            });
        }
    }

    fn was_undone(&self, job: JobId) -> bool {
        let mut recent = self.state.recent.iter();
        recent.any(|summary| summary.id == job && summary.undone.is_some())
    }

    fn undoable(&self, job: JobId) -> Result<Arc<Committed>, Refusal> {
        if let Some(committed) = self.state.committed.get(&job) {
            return Ok(committed.clone());
        }
        let why = match self.state.jobs.contains_key(&job) {
            true => "it is not committed: cancel ends it",
            false => "it is not among the committed jobs that are remembered: only the last ones are",
        };
        let why = why.to_owned();
        Err(Refusal::CannotUndo { job, why })
    }

    /// Jobs that would merge the outputs on end without effect.
    fn cancel_holders(&mut self, committed: &Committed) {
        let table = &self.state.tables[&committed.job.table];
        let holders = committed.outputs.iter();
        let holders = holders.filter_map(|output| table.held.get(&output.path));
        let holders: BTreeSet<JobId> = holders.copied().collect();
        for holder in holders {
            let job = self.state.jobs[&holder].clone();
            self.cancel_job(&job, CancelReason::InputsUndone(committed.job.id));
        }
    }
}

/// Every output is live, and in no job that has gone too far.
fn check_outputs(state: &State, table: &Table, committed: &Committed) -> Result<(), Refusal> {
    let job = committed.job.id;
    let refused = |why: String| Err(Refusal::CannotUndo { job, why });
    if table.spec.catalog == Catalog::External {
        return refused(
            "its table is kept in a catalog of its own, and only that can take a commit back".to_owned(),
        );
    }
    for output in &committed.outputs {
        let live = table.files.get(&output.path);
        if live.is_none_or(|live| live.identity != output.identity) {
            return refused(format!(
                "its output {} is not live any more: it was merged on, or is gone. Undo the job that replaced it first",
                output.path
            ));
        }
        let holder = table.held.get(&output.path);
        let open = |job: &JobId| {
            state
                .jobs
                .get(job)
                .is_some_and(|job| job.status == JobStatus::Open)
        };
        if holder.is_some_and(|holder| !open(holder)) {
            return refused(format!("its output {} is being moved: try again", output.path));
        }
    }
    Ok(())
}

/// An input can come back: it is set aside or waits where it was, and nobody has taken its name.
fn check_input(state: &State, table: &Table, job: JobId, index: usize, input: &File) -> Result<(), Refusal> {
    let path = &input.path;
    let refused = |why: String| Err(Refusal::CannotUndo { job, why });
    if table.files.contains_key(path) {
        return refused(format!("another file is called {path} now"));
    }
    match state.kept(job, index, input) {
        Some((_, garbage)) if garbage.stage != Stage::Due || crate::planted!(UndoesWhatIsDue) => Ok(()),
        Some(_) => refused(format!("{path} is about to be deleted")),
        None if table.consumed.get(path) == Some(&input.identity) => Ok(()),
        None => refused(match &table.spec.replaced {
            Replaced::Keep { prefix } => format!(
                "{path} was deleted. A copy of it was kept below {prefix}: copy it back by hand, under another name"
            ),
            Replaced::Delete => format!(
                "{path} was deleted as soon as it was replaced, as there are no renames on a store. --keep-inputs PREFIX keeps \
                 copies, and a native table keeps replaced files for its grace period"
            ),
            Replaced::SetAside | Replaced::Remember => format!(
                "{path} is gone: its grace period was over. A longer --grace keeps replaced files longer"
            ),
        }),
    }
}
