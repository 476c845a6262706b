//! Files come and go. Evidence from outside (a listing, a HEAD) is as old as the moment it was
//! begun: for a path that the state has touched since, it says nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Answer, Draft};
use crate::event::{Event, Quarantined, ReleaseReason};
use crate::file::{File, FilePath, Place};
use crate::garbage::Stage;
use crate::ids::{JournalId, Sequence, TableName};
use crate::job::{CancelReason, JobStatus};
use crate::limits::{FILES_PER_EVENT_MAX, REASON_CHARS_MAX};
use crate::request::{Added, Refusal, Reply};
use crate::state::{State, Table};
use crate::table::{Catalog, Replaced, Rewritten};

impl Draft {
    pub(super) fn create_journal(&mut self, journal: JournalId) -> Answer {
        match self.state.journal {
            Some(_) => Err(Refusal::JournalExists),
            None => self.done(Event::JournalCreated { journal }),
        }
    }

    pub(super) fn add_files(&mut self, name: &TableName, evidence: Sequence, files: &[Arc<File>]) -> Answer {
        let table = self.table_at(name, evidence)?;
        let mut reply = Added::default();
        let mut fresh = Vec::new();
        let mut overwritten = Vec::new();
        let replacing = being_replaced(&self.state, name);
        for file in files {
            if is_of_another(&self.state, name, &file.path) {
                reply.taken.push(file.path.clone());
                continue;
            }
            match offer(&self.state, table, evidence, file) {
                Offer::New if replacing.contains(&file.path) => reply.later.push(file.path.clone()),
                Offer::New => fresh.push(bounded_keys(file)),
                Offer::Overwritten => {
                    overwritten.push(file.path.clone());
                    fresh.push(bounded_keys(file));
                }
                Offer::Known => reply.known += 1,
                Offer::Later => reply.later.push(file.path.clone()),
                Offer::Changed => reply.changed.push(file.path.clone()),
                Offer::Quarantined => reply.quarantined += 1,
            }
        }
        fresh.sort_by(|a, b| a.path.cmp(&b.path));
        fresh.dedup_by(|a, b| a.path == b.path);
        overwritten.sort();
        overwritten.dedup();
        reply.added = fresh.len() as u64;
        self.emit_lost(name, overwritten);
        for files in fresh.chunks(FILES_PER_EVENT_MAX) {
            self.emit(Event::FilesAdded {
                table: name.clone(),
                files: files.to_vec(),
            });
        }
        Ok(Reply::Added(reply))
    }

    pub(super) fn lose_files(&mut self, name: &TableName, evidence: Sequence, paths: &[FilePath]) -> Answer {
        self.table_at(name, evidence)?;
        for path in paths {
            self.lose_file(name, evidence, path);
        }
        Ok(Reply::Done)
    }

    /// A job that holds the file ends with it, unless its outputs are already taking the file's place.
    fn lose_file(&mut self, name: &TableName, evidence: Sequence, path: &FilePath) {
        let table = &self.state.tables[name];
        if table.is_touched_since(evidence, path) {
            return;
        }
        if table.files.contains_key(path) {
            if let Some(job) = table.held.get(path).copied() {
                // What is being published, or brought back by an undo, is not there yet.
                let open = self
                    .state
                    .jobs
                    .get(&job)
                    .filter(|job| job.status == JobStatus::Open || crate::planted!(UnpublishedIsLetGo));
                let Some(job) = open.cloned() else {
                    return;
                };
                self.cancel_job(&job, CancelReason::InputsChanged(vec![path.clone()]));
            }
            self.emit_lost(name, vec![path.clone()]);
        } else if table.consumed.contains_key(path) {
            self.emit(Event::ConsumedGone {
                table: name.clone(),
                paths: vec![path.clone()],
            });
        } else if table.quarantine.contains_key(path) {
            self.emit(Event::QuarantineLifted {
                table: name.clone(),
                paths: vec![path.clone()],
            });
        }
    }

    pub(super) fn quarantine_files(
        &mut self,
        name: &TableName,
        evidence: Sequence,
        files: &[Quarantined],
    ) -> Answer {
        let table = self.table_at(name, evidence)?;
        let touched =
            |path: &FilePath| table.is_touched_since(evidence, path) || table.held.contains_key(path);
        let marks: Vec<Quarantined> = files
            .iter()
            .filter(|mark| !touched(&mark.path) && !table.is_quarantined(&mark.path, &mark.identity))
            .filter(|mark| !table.is_consumed(&mark.path, &mark.identity))
            .cloned()
            .map(bounded)
            .collect();
        // An overwritten file is not the live one any more.
        let mut overwritten: Vec<FilePath> = marks
            .iter()
            .filter(|mark| {
                table
                    .files
                    .get(&mark.path)
                    .is_some_and(|file| file.identity != mark.identity)
            })
            .map(|mark| mark.path.clone())
            .collect();
        overwritten.sort();
        overwritten.dedup();
        self.emit_lost(name, overwritten);
        if !marks.is_empty() {
            self.emit(Event::FilesQuarantined {
                table: name.clone(),
                files: marks,
            });
        }
        Ok(Reply::Done)
    }

    pub(super) fn retry(&mut self, name: &TableName, paths: &[FilePath]) -> Answer {
        let table = self.table(name)?;
        let apart = table.files.values().filter(|file| file.apart.is_some());
        let marked: BTreeSet<&FilePath> = table
            .quarantine
            .keys()
            .chain(apart.map(|file| &file.path))
            .chain(table.put_off.keys())
            .collect();
        let lifted: Vec<FilePath> = marked
            .into_iter()
            .filter(|path| paths.is_empty() || paths.contains(path))
            .cloned()
            .collect();
        if !lifted.is_empty() {
            self.emit(Event::QuarantineLifted {
                table: name.clone(),
                paths: lifted,
            });
        }
        Ok(Reply::Done)
    }

    pub(super) fn emit_lost(&mut self, table: &TableName, paths: Vec<FilePath>) {
        if !paths.is_empty() {
            self.emit(Event::FilesLost {
                table: table.clone(),
                paths,
            });
        }
    }

    pub(super) fn table(&self, name: &TableName) -> Result<&Table, Refusal> {
        match self.state.tables.get(name) {
            None => Err(Refusal::NoSuchTable(name.clone())),
            Some(table) if table.is_dropped() => Err(Refusal::BeingDropped(name.clone())),
            Some(table) => Ok(table),
        }
    }

    /// The table, if evidence begun at that entry still means something for it.
    pub(super) fn table_at(&self, name: &TableName, evidence: Sequence) -> Result<&Table, Refusal> {
        let table = self.table(name)?;
        let oldest = table.remembered_from;
        match () {
            () if evidence < oldest => Err(Refusal::EvidenceTooOld { evidence, oldest }),
            () if evidence >= self.state.sequence => Err(Refusal::EvidenceUnknown(evidence)),
            () => Ok(table),
        }
    }
}

/// Whether another table shows the path, or is on its way to deleting what lies there: a file in two tables would be
/// replaced and deleted by one of them under the eyes of the other.
fn is_of_another(state: &State, name: &TableName, path: &FilePath) -> bool {
    let mut others = state.tables.iter().filter(|(other, _)| *other != name);
    others.any(|(_, table)| table.files.contains_key(path) || table.consumed.contains_key(path))
}

/// What is replaced by outputs that are not published yet, in a table where nothing can be set aside. With the commit
/// these versions go on their way out, each under its own path: no other may be live there before.
fn being_replaced(state: &State, name: &TableName) -> BTreeSet<FilePath> {
    let in_place = !matches!(
        state.tables[name].spec.replaced,
        Replaced::SetAside | Replaced::Remember
    );
    let jobs = state.jobs.values().filter(|job| job.table == *name && in_place);
    let swapped = jobs.filter(|job| !state.holds_inputs(job) && !crate::planted!(GarbageOfTheLiving));
    let inputs = swapped.flat_map(|job| &job.inputs).map(|input| &input.path);
    inputs.filter(|path| path.place == Place::Root).cloned().collect()
}

/// Key bounds come from outside and stay in the state: they are rounded to a bound.
fn bounded_keys(file: &Arc<File>) -> Arc<File> {
    match &file.keys {
        Some(keys) if !keys.is_bounded() => Arc::new(File {
            keys: keys.bounded(),
            ..File::clone(file)
        }),
        _ => file.clone(),
    }
}

/// What a file that was found means.
enum Offer {
    New,
    Overwritten,
    Known,
    Later,
    Changed,
    Quarantined,
}

fn offer(state: &State, table: &Table, evidence: Sequence, file: &File) -> Offer {
    let path = &file.path;
    let due = state
        .garbage
        .get(path)
        .is_some_and(|garbage| garbage.stage == Stage::Due && !crate::planted!(AddsWhatIsDue));
    if table.is_consumed(path, &file.identity) {
        return Offer::Known;
    }
    if due
        || table
            .removed
            .get(path)
            .is_some_and(|removed| removed.at > evidence && !crate::planted!(StaleEvidence))
    {
        return Offer::Later;
    }
    if table.is_quarantined(path, &file.identity) {
        return Offer::Quarantined;
    }
    let ours = state.is_own(path);
    if let Some(live) = table.files.get(path) {
        return match () {
            () if live.identity == file.identity => Offer::Known,
            () if ours && !table.spec.catalog.publishes() => Offer::Known,
            () if live.added > evidence && !crate::planted!(StaleEvidence) => Offer::Later,
            () if table.held.contains_key(path) => Offer::Later,
            () => Offer::Overwritten,
        };
    }
    if ours {
        return Offer::Later;
    }
    let sourced = matches!(table.spec.catalog, Catalog::Output { .. });
    match table.consumed.contains_key(path) {
        true if sourced && table.spec.rewritten == Rewritten::Report => Offer::Changed,
        _ => Offer::New,
    }
}

/// Reasons come from outside and stay in the state: they are cut to a bound.
pub(super) fn bounded(mark: Quarantined) -> Quarantined {
    Quarantined {
        reason: cut(&mark.reason),
        ..mark
    }
}

/// The same for the end of an attempt.
pub(super) fn bounded_reason(why: &ReleaseReason) -> ReleaseReason {
    match why {
        ReleaseReason::NodeFault(error) => ReleaseReason::NodeFault(cut(error)),
        ReleaseReason::StoreFault(error) => ReleaseReason::StoreFault(cut(error)),
        ReleaseReason::InputFault(error) => ReleaseReason::InputFault(cut(error)),
        ReleaseReason::ChildDied(error) => ReleaseReason::ChildDied(cut(error)),
        ReleaseReason::Drained
        | ReleaseReason::TakenOver
        | ReleaseReason::Stalled
        | ReleaseReason::Lost
        | ReleaseReason::InputsChanged => why.clone(),
    }
}

pub(super) fn cut(reason: &Arc<str>) -> Arc<str> {
    match reason.char_indices().nth(REASON_CHARS_MAX) {
        None => reason.clone(),
        Some((end, _)) => reason[..end].into(),
    }
}
