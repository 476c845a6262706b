//! What must be so, judged by the disk and by what outsiders know.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::fixtures::{NATIVE, PLACE, REMEMBERING, STORE};
use super::world::{Atom, Object, World, is_plain};
use super::{EXTERNAL, RETENTION, TABLES, Verdict};
use crate::event::Event;
use crate::file::{File, FilePath, Identity};
use crate::garbage::Stage;
use crate::ids::{JobId, TableName};
use crate::job::JobStatus;

impl World {
    /// Before an event is applied.
    pub(super) fn judge(&mut self, event: &Event) -> Verdict {
        let job = match event {
            Event::RangeLeased { job, .. }
            | Event::RangeFinished { job, .. }
            | Event::JobCut { job, .. }
            | Event::JobCompacted { job }
            | Event::JobPublished { job, .. }
            | Event::JobCommitted { job }
            | Event::CommitTry { job, .. }
            | Event::CommitStuck { job, .. }
            | Event::JobFailed { job, .. }
            | Event::JobCancelled { job, .. } => Some(*job),
            Event::RangeReleased { attempt, .. } => Some(attempt.job),
            _ => None,
        };
        if job.is_some_and(|job| self.ended.contains(&job)) {
            return Err(format!("a final state changed: {event:?}"));
        }
        match event {
            Event::JobCommitted { job } | Event::JobCancelled { job, .. } | Event::JobFailed { job, .. } => {
                self.ended.insert(*job);
                return self.agrees_with_the_catalog(*job, event);
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
            Event::FilesExpired { table, paths, .. } => return self.rows_expire(table, paths),
            Event::JobCompacted { job } => return self.inputs_are_there(*job),
            _ => {}
        }
        Ok(())
    }

    /// What is committed landed in the external catalog, and what failed did not.
    fn agrees_with_the_catalog(&mut self, job: JobId, event: &Event) -> Verdict {
        let external = self.state.jobs[&job].table.as_str() == EXTERNAL;
        let committed = matches!(event, Event::JobCommitted { .. });
        self.failed.extend(Some(job).filter(|_| !committed));
        match external && committed != self.ledger.holds(job) {
            true => Err(format!("the catalog says otherwise: {event:?}")),
            false => Ok(()),
        }
    }

    /// Only rows past the retention go, and they do not come back.
    fn rows_expire(&mut self, table: &TableName, paths: &[FilePath]) -> Verdict {
        let limit = self.state.time.rows_aged(RETENTION);
        for path in paths {
            let rows = self.rows_of(&self.state.tables[table].files[path]).to_vec();
            if let Some(young) = rows.iter().find(|row| self.row_times[row] >= limit) {
                return Err(format!("row {young} is not past the retention"));
            }
            self.harmed.extend(&rows);
            self.expired.extend(rows);
        }
        Ok(())
    }

    /// Guarantee 2: in a plain table, what is replaced was there when it was looked at.
    fn inputs_are_there(&self, job: JobId) -> Verdict {
        let job = &self.state.jobs[&job];
        if !is_plain(&job.table) {
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
        self.readers_miss_nothing()?;
        self.versions_are_exact()
    }

    /// A version that can be read shows what it showed when it was the newest; one that is pinned can be read.
    fn versions_are_exact(&self) -> Verdict {
        let native = TableName::from(NATIVE);
        let pinned = self.state.pinned_versions(&native);
        let newest = self.versions.range(..self.state.sequence).rev().take(12);
        let versions = newest.map(|(version, _)| *version).chain(pinned.iter().copied());
        for version in versions.filter(|version| *version < self.state.sequence) {
            let named = |files: &[Arc<File>]| -> BTreeMap<FilePath, Identity> {
                let named = files
                    .iter()
                    .map(|file| (file.path.clone(), file.identity.clone()));
                named.collect()
            };
            match self.state.files_at(&native, version) {
                Ok(shown) if named(&shown) == named(&self.versions[&version]) => {}
                Ok(_) => return Err(format!("version {version} shows something else now")),
                Err(refusal) if pinned.contains(&version) => return Err(refusal.to_string()),
                Err(_) => {}
            }
        }
        Ok(())
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
        if let Some(back) = self.expired.iter().find(|atom| seen.contains_key(atom)) {
            return Err(format!("row {back} was dropped by retention and is back"));
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
                let publishing = holder.is_some_and(|job| {
                    let job = self.state.jobs.get(job);
                    job.is_some_and(|job| job.status == JobStatus::Compacted)
                });
                let returning = holder.is_some_and(|job| self.state.undoing.contains_key(job));
                if returning && !self.waits_aside(file) {
                    return Err(format!("{} was to be brought back, and it is gone", file.path));
                }
                let outside = self
                    .destroyed
                    .contains(&(file.path.clone(), file.identity.tag.clone()));
                if !publishing && !returning && !outside && !self.has_rows_of(file) {
                    return Err(format!("{} is live, and it is not there", file.path));
                }
            }
        }
        Ok(())
    }

    /// What an undo brings back lies where it was set aside, or is still about to be.
    fn waits_aside(&self, file: &File) -> bool {
        let of_file = |garbage: &&Arc<crate::garbage::Garbage>| {
            let original = garbage.original.as_ref();
            garbage.stage == Stage::Returning && original.is_some_and(|original| original.path == file.path)
        };
        let mut garbage = self.state.garbage.iter();
        let aside = garbage
            .find(|(_, garbage)| of_file(garbage))
            .map(|(aside, _)| aside);
        let rows = |path: &FilePath| {
            self.disk
                .get(path)
                .is_some_and(|object| object.atoms == self.rows_of(file))
        };
        let outside = (file.path.clone(), file.identity.tag.clone());
        aside.is_some_and(rows) || rows(&file.path) || self.destroyed.contains(&outside)
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
        for table in [NATIVE, PLACE, STORE, EXTERNAL] {
            if !state.tables[&TableName::from(table)].consumed.is_empty() {
                return Err(format!("something is still consumed in {table}"));
            }
        }
        let remembering = &state.tables[&TableName::from(REMEMBERING)];
        let marked = |path: &FilePath| {
            state
                .tables
                .values()
                .any(|table| table.quarantine.contains_key(path))
        };
        let live = |path: &FilePath| state.tables.values().any(|table| table.files.contains_key(path));
        let source = crate::file::Place::Source;
        let mut orphans = self.disk.iter().filter(|(path, _)| path.place != source);
        let remembered =
            |path: &FilePath, object: &Object| remembering.consumed.get(path) == Some(&object.identity);
        match orphans.find(|(path, object)| !live(path) && !marked(path) && !remembered(path, object)) {
            Some((orphan, _)) => Err(format!("{orphan} is an orphan")),
            None => Ok(()),
        }
    }
}
