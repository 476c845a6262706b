//! What must be so, judged by the disk and by what outsiders know.

use std::collections::BTreeMap;

use super::super::fixtures::{NATIVE, PLACE};
use super::world::{Atom, World};
use super::{TABLES, Verdict};
use crate::event::Event;
use crate::file::FilePath;
use crate::ids::{JobId, TableName};
use crate::job::JobStatus;

impl World {
    /// Before an event is applied.
    pub(super) fn judge(&mut self, event: &Event) -> Verdict {
        let job = match event {
            Event::RangeLeased { job, .. }
            | Event::RangeFinished { job, .. }
            | Event::JobCompacted { job }
            | Event::JobPublished { job, .. }
            | Event::JobCommitted { job }
            | Event::JobCancelled { job, .. } => Some(*job),
            Event::RangeReleased { attempt, .. } => Some(attempt.job),
            _ => None,
        };
        if job.is_some_and(|job| self.ended.contains(&job)) {
            return Err(format!("a final state changed: {event:?}"));
        }
        match event {
            Event::JobCommitted { job } | Event::JobCancelled { job, .. } => {
                self.ended.insert(*job);
            }
            Event::FilesAdded { files, .. } => {
                for file in files {
                    let rows = self.rows_of(file).to_vec();
                    if !self.is_on_disk(&file.path, &file.identity) {
                        self.harmed.extend(&rows);
                    }
                    self.acknowledged.extend(rows);
                }
            }
            Event::RangeFinished { job, .. } => return self.inputs_are_there(*job),
            _ => {}
        }
        Ok(())
    }

    /// Guarantee 2: in a plain table, what is replaced was there when it was looked at.
    fn inputs_are_there(&self, job: JobId) -> Verdict {
        let job = &self.state.jobs[&job];
        if job.table.as_str() == NATIVE {
            return Ok(());
        }
        let mut inputs = job.inputs.iter();
        match inputs.find(|input| !self.is_on_disk(&input.path, &input.identity)) {
            Some(gone) => Err(format!("{} was replaced, and it was not there", gone.path)),
            None => Ok(()),
        }
    }

    pub(super) fn look(&mut self) -> Verdict {
        self.every_row_is_there_once()?;
        self.live_files_are_on_disk()?;
        self.readers_miss_nothing()
    }

    /// Guarantee 1.
    fn every_row_is_there_once(&self) -> Verdict {
        let mut seen: BTreeMap<Atom, &FilePath> = BTreeMap::new();
        for file in self.live() {
            for atom in self.rows_of(file) {
                if let Some(other) = seen.insert(*atom, &file.path) {
                    return Err(format!("row {atom} is in {other} and in {}", file.path));
                }
            }
        }
        let mut wanted = self.acknowledged.difference(&self.harmed);
        match wanted.find(|atom| !seen.contains_key(atom)) {
            Some(lost) => Err(format!("row {lost} is lost")),
            None => Ok(()),
        }
    }

    /// Guarantee 5, for those who read the newest version.
    fn live_files_are_on_disk(&self) -> Verdict {
        for table in TABLES {
            for file in self.state.tables[&TableName::from(table)].files.values() {
                let holder = self.state.tables[&TableName::from(table)].held.get(&file.path);
                let publishing =
                    holder.is_some_and(|job| self.state.jobs[job].status == JobStatus::Compacted);
                let outside = self
                    .destroyed
                    .contains(&(file.path.clone(), file.identity.tag.clone()));
                if !publishing && !outside && !self.has_rows_of(file) {
                    return Err(format!("{} is live, and it is not there", file.path));
                }
            }
        }
        Ok(())
    }

    fn has_rows_of(&self, file: &crate::file::File) -> bool {
        let object = self.disk.get(&file.path);
        object.is_some_and(|object| object.atoms == self.rows_of(file))
    }

    /// Guarantee 5, for those who pinned.
    fn readers_miss_nothing(&mut self) -> Verdict {
        let pins = &self.state.pins;
        self.readers.retain(|pin, _| pins.contains_key(pin));
        for file in self.readers.values().flatten() {
            let outside = self
                .destroyed
                .contains(&(file.path.clone(), file.identity.tag.clone()));
            if !outside && !self.has_rows_of(file) {
                return Err(format!("{} is pinned, and it is not there", file.path));
            }
        }
        Ok(())
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &crate::file::File> {
        let tables = self.state.tables.values();
        tables.flat_map(|table| table.files.values().map(AsRef::as_ref))
    }

    /// Guarantee 6, after faults have stopped.
    pub(super) fn nothing_is_left(&self) -> Verdict {
        let state = &self.state;
        if let Some(job) = state.jobs.values().next() {
            return Err(format!("never ended: {job:?}"));
        }
        if let Some((path, garbage)) = state.garbage.iter().next() {
            return Err(format!("{path} was never deleted: {garbage:?}"));
        }
        if let Some(leftover) = state.leftovers.values().next() {
            return Err(format!("never forgotten: {leftover:?}"));
        }
        if !state.watchers.is_empty() || state.tables.values().any(|table| !table.held.is_empty()) {
            return Err("something is still held".to_owned());
        }
        if !state.tables[&TableName::from(PLACE)].consumed.is_empty() {
            return Err("something is still consumed".to_owned());
        }
        let marked = |path: &FilePath| {
            state
                .tables
                .values()
                .any(|table| table.quarantine.contains_key(path))
        };
        let live = |path: &FilePath| state.tables.values().any(|table| table.files.contains_key(path));
        let source = crate::file::Place::Source;
        let mut orphans = self.disk.keys().filter(|path| path.place != source);
        match orphans.find(|path| !live(path) && !marked(path)) {
            Some(orphan) => Err(format!("{orphan} is an orphan")),
            None => Ok(()),
        }
    }
}
