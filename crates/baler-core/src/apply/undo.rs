//! A committed job is taken back: what it put into the table leaves it, and what it replaced is live again.

use std::sync::Arc;

use crate::event::Returned;
use crate::file::{File, Place};
use crate::garbage::Stage;
use crate::ids::JobId;
use crate::job::JobSummary;
use crate::names;
use crate::receipt::{Committed, Undoing};
use crate::state::State;
use crate::table::Replaced;

impl State {
    pub(super) fn undo_job(&mut self, id: JobId) {
        let committed = self
            .committed
            .remove(&id)
            .expect("only a remembered job is undone");
        let waiting = self.bring_inputs_back(&committed);
        self.let_outputs_go(&committed);
        if waiting > 0 {
            let table = committed.job.table.clone();
            self.undoing.insert(id, Undoing { table, waiting });
        }
        let at = self.sequence;
        let summary = self.recent.iter().position(|summary| summary.id == id);
        if let Some(summary) = summary.and_then(|index| self.recent.get_mut(index)) {
            *summary = Arc::new(JobSummary {
                undone: Some(at),
                ..JobSummary::clone(summary)
            });
        }
    }

    /// What was set aside is held until it lies under its own name again. Answers how many files that are.
    fn bring_inputs_back(&mut self, committed: &Committed) -> u32 {
        let (job, added) = (&committed.job, self.sequence);
        let mut waiting = 0;
        for (index, input) in job.inputs.iter().enumerate() {
            let kept = self.kept(job.id, index, input).map(|(name, _)| name);
            let aside = kept.as_ref().is_some_and(|name| *name != input.path);
            match &kept {
                Some(name) if aside => self.advance_garbage(std::slice::from_ref(name), Stage::Returning),
                Some(name) => drop(self.garbage.remove(name)),
                None => {}
            }
            let table = self.table_mut(&job.table);
            table.forget_path(&input.path);
            table.consumed.remove(&input.path);
            // Times that were read from the column of then are not those of the column of now.
            let timed = table.spec.merge.row_time == job.merge.row_time;
            table.insert_file(Arc::new(File {
                added,
                times: input.times.filter(|_| timed),
                ..File::clone(input)
            }));
            if aside {
                table.held.insert(input.path.clone(), job.id);
                waiting += 1;
            }
        }
        waiting
    }

    fn let_outputs_go(&mut self, committed: &Committed) {
        let (at, name) = (self.sequence, &committed.job.table);
        let spec = self.tables[name].spec.clone();
        for (index, output) in committed.outputs.iter().enumerate() {
            let table = self.table_mut(name);
            let Some(file) = table.remove_file(&output.path) else {
                continue;
            };
            table.quarantine.remove(&output.path);
            table.consumed.insert(output.path.clone(), file.identity.clone());
            table.remember_removed(output.path.clone(), at, None);
            table.retire(file.clone(), at);
            let (out, stage) = match (&spec.replaced, spec.catalog.publishes()) {
                (_, false) => (output.path.clone(), Stage::Waiting),
                (Replaced::SetAside, true) => {
                    (names::undone_aside(committed.job.id, index), Stage::ToSetAside)
                }
                (_, true) => (output.path.clone(), Stage::Ripe),
            };
            debug_assert_eq!(output.path.place, Place::Root, "outputs lie in the root");
            self.discard(name, &file, out, stage);
        }
    }

    /// Copies of what was set aside lie under their own names: these are the files now, and what lies aside may go.
    pub(super) fn return_inputs(&mut self, files: &[Returned]) {
        for Returned { aside, identity } in files {
            let garbage = self.garbage.get(aside).expect("events name known garbage");
            let (table, original) = (garbage.table.clone(), garbage.original.clone());
            let path = original.expect("what comes back lay somewhere").path;
            let at = self.sequence;
            match identity {
                Some(_) => self.advance_garbage(std::slice::from_ref(aside), Stage::Waiting),
                None => drop(self.garbage.remove(aside)),
            }
            let table = self.table_mut(&table);
            let job = table.held.remove(&path);
            match (identity, table.files.get(&path)) {
                (Some(identity), Some(file)) => {
                    let file = File {
                        identity: identity.clone(),
                        added: at,
                        ..File::clone(file)
                    };
                    table.insert_file(Arc::new(file));
                }
                _ => {
                    table.remove_file(&path);
                    table.remember_removed(path, at, None);
                }
            }
            if let Some(job) = job {
                self.one_is_back(job);
            }
        }
    }

    fn one_is_back(&mut self, job: JobId) {
        if let Some(undoing) = self.undoing.get_mut(&job) {
            undoing.waiting -= 1;
            if undoing.waiting == 0 {
                self.undoing.remove(&job);
            }
        }
    }
}
