//! Taking away what is left behind, in two appends: first it is declared due, then it is deleted, then that is
//! recorded. Nothing is declared due that a live or pinned version shows, or that an unfinished job may still need.

use std::collections::{BTreeMap, BTreeSet};

use super::{Answer, Draft};
use crate::event::Event;
use crate::file::{FilePath, Place};
use crate::garbage::{Garbage, Stage};
use crate::ids::{Sequence, TableName};
use crate::limits::DELETIONS_PER_EVENT_MAX;
use crate::names::{Attempt, OutputName, stager_of};
use crate::request::{Grace, Reply};
use crate::state::{State, Table};
use crate::table::Replaced;
use crate::time::Millis;

impl Draft {
    pub(super) fn report_aside(&mut self, moved: &[FilePath], nothing: &[FilePath]) -> Answer {
        let moved = self.in_stage(moved, Stage::ToSetAside);
        if !moved.is_empty() {
            self.emit(Event::SetAside { asides: moved });
        }
        let nothing = self.in_stage(nothing, Stage::ToSetAside);
        if !nothing.is_empty() {
            self.emit(Event::NothingToSetAside { asides: nothing });
        }
        Ok(Reply::Done)
    }

    /// Answers with everything that is due, also from earlier lists whose deletion was never confirmed.
    pub(super) fn declare_due(&mut self, grace: Grace) -> Answer {
        let mut ripe: BTreeMap<TableName, Vec<FilePath>> = BTreeMap::new();
        let mut staying: Vec<FilePath> = Vec::new();
        for (path, garbage) in &self.state.garbage {
            if was_overwritten(&self.state, path, garbage) {
                staying.push(path.clone());
                continue;
            }
            if !is_ripe(&self.state, path, garbage, grace) {
                continue;
            }
            match stays(&self.state, path, garbage) {
                true => staying.push(path.clone()),
                false => ripe.entry(garbage.table.clone()).or_default().push(path.clone()),
            }
        }
        for (table, paths) in ripe {
            self.emit_due(&table, &paths);
        }
        for paths in staying.chunks(DELETIONS_PER_EVENT_MAX) {
            self.emit(Event::LeftInPlace {
                paths: paths.to_vec(),
            });
        }
        let due = self
            .state
            .garbage
            .iter()
            .filter(|(_, garbage)| garbage.stage == Stage::Due);
        Ok(Reply::Due(due.map(|(path, _)| path.clone()).collect()))
    }

    /// A name may be due again by now, for a version that came later: of that one nothing is known here, and to forget it would
    /// leave it in sight with rows that its replacement holds too.
    pub(super) fn report_deleted(&mut self, listed: Sequence, paths: &[FilePath]) -> Answer {
        let mut paths = self.in_stage(paths, Stage::Due);
        paths.retain(|path| self.state.garbage[path].since <= listed || crate::planted!(OldListsCount));
        if !paths.is_empty() {
            self.emit(Event::Deleted { paths });
        }
        Ok(Reply::Done)
    }

    pub(super) fn report_sweep(&mut self, attempt: &Attempt, found: &[FilePath], grace: Grace) -> Answer {
        let key = (attempt.token.sequence, attempt.token.index);
        let Some(leftover) = self.state.leftovers.get(&key).cloned() else {
            return Ok(Reply::Due(Vec::new()));
        };
        let attempt = &leftover.attempt;
        let length = self.state.tables[&leftover.table].spec.grace;
        let left = |path: &&FilePath| {
            leftover.may_hold(self.state.journal, path) && !is_rightful(&self.state, attempt, path)
        };
        let found: BTreeSet<&FilePath> = found.iter().filter(left).collect();
        let fresh: Vec<FilePath> = found
            .iter()
            .copied()
            .filter(|path| !self.state.garbage.contains_key(*path))
            .cloned()
            .collect();
        self.emit_due(&leftover.table, &fresh);
        match found.is_empty() {
            true if leftover.swept && is_over(&self.state, length, leftover.since, grace) => {
                self.emit(Event::LeftoverForgotten { attempt: *attempt });
            }
            true if !leftover.swept => self.emit(Event::LeftoverSwept {
                attempt: *attempt,
                empty: true,
            }),
            false if leftover.swept => self.emit(Event::LeftoverSwept {
                attempt: *attempt,
                empty: false,
            }),
            _ => {}
        }
        Ok(Reply::Due(fresh))
    }

    /// Objects under final names, or staged, that no version shows: an attempt's late write, if all signs agree.
    pub(super) fn report_late_writes(
        &mut self,
        name: &TableName,
        evidence: Sequence,
        paths: &[FilePath],
    ) -> Answer {
        let table = self.table_at(name, evidence)?;
        let late = |path: &FilePath| {
            let known = is_shown(&self.state, path) || self.state.garbage.contains_key(path);
            !known && !table.is_touched_since(evidence, path) && wrote(&self.state, evidence, path)
        };
        let late: BTreeSet<FilePath> = paths.iter().filter(|path| late(path)).cloned().collect();
        let late: Vec<FilePath> = late.into_iter().collect();
        self.emit_due(name, &late);
        Ok(Reply::Due(late))
    }

    pub(super) fn emit_due(&mut self, table: &TableName, paths: &[FilePath]) {
        for paths in paths.chunks(DELETIONS_PER_EVENT_MAX) {
            self.emit(Event::DeletionDue {
                table: table.clone(),
                paths: paths.to_vec(),
            });
        }
    }

    /// Each of these once, if it is in that stage.
    fn in_stage(&self, paths: &[FilePath], stage: Stage) -> Vec<FilePath> {
        let known = |path: &FilePath| {
            self.state
                .garbage
                .get(path)
                .is_some_and(|known| known.stage == stage)
        };
        let known: BTreeSet<&FilePath> = paths.iter().filter(|path| known(path)).collect();
        known.into_iter().cloned().collect()
    }
}

/// Whether nobody can be reading it any more. Live files are compared by path: one that a job moved to another level
/// without rewriting it is on both sides of that job.
pub(crate) fn is_ripe(state: &State, path: &FilePath, garbage: &Garbage, grace: Grace) -> bool {
    let Some(table) = state.tables.get(&garbage.table) else {
        return false;
    };
    let waited = match garbage.stage {
        Stage::ToSetAside | Stage::Returning | Stage::Due => false,
        Stage::Ripe => true,
        Stage::Waiting => is_over(state, table.spec.grace, garbage.since, grace),
    };
    let pinned = state.is_pinned(path, garbage) && !crate::planted!(CollectorIgnoresPins);
    waited && !table.files.contains_key(path) && !pinned
}

/// Whether the table says that nothing can delete just this version of a file that Baler did not name.
fn stays(state: &State, path: &FilePath, garbage: &Garbage) -> bool {
    let remembers = |table: &Table| table.spec.replaced == Replaced::Remember;
    let foreign = garbage.original.is_some() && !state.is_own(path);
    foreign && state.tables.get(&garbage.table).is_some_and(remembers)
}

/// Whether the table has seen another version under the path since this one was consumed: what was to be deleted is not
/// there any more, and what is there has its own way. No add lets this happen, but journals of older programs hold it.
fn was_overwritten(state: &State, path: &FilePath, garbage: &Garbage) -> bool {
    let consumed = garbage
        .original
        .as_ref()
        .filter(|original| original.path == *path);
    let table = state.tables.get(&garbage.table);
    let (Some(consumed), Some(table), Stage::Ripe) = (consumed, table, garbage.stage) else {
        return false;
    };
    let live = table.files.get(path).map(|file| &file.identity);
    let latest = live.or_else(|| table.consumed.get(path));
    let other = latest.is_some_and(|latest| *latest != consumed.identity);
    other && !crate::planted!(GarbageOfTheLiving)
}

fn is_over(state: &State, length: Millis, since: Sequence, grace: Grace) -> bool {
    grace == Grace::Waived || state.has_passed(length.between_stamps(), since)
}

/// Whether a table names this path, as live or as consumed and perhaps still there.
fn is_shown(state: &State, path: &FilePath) -> bool {
    let mut tables = state
        .tables
        .values()
        .filter(|_| !crate::planted!(SweepsWhatIsLive));
    tables.any(|table| table.files.contains_key(path) || table.consumed.contains_key(path))
}

/// Whether what an attempt wrote here is no leftover: the table shows it, it is a replaced file on its own way out, or the
/// job, which has not ended, counts on it.
fn is_rightful(state: &State, attempt: &Attempt, path: &FilePath) -> bool {
    let replaced = state
        .garbage
        .get(path)
        .is_some_and(|garbage| garbage.original.is_some());
    let mut finished = state
        .jobs
        .get(&attempt.job)
        .into_iter()
        .flat_map(|job| job.finished())
        .filter(|_| !crate::planted!(CollectorIgnoresJobs))
        .filter(|_| !crate::planted!(FinishedIsLeftover));
    let counted_on = finished.any(|(range, finished)| {
        let by = Attempt {
            job: attempt.job,
            range,
            token: finished.token,
        };
        let mut outputs = finished.outputs.iter();
        outputs.any(|output| output.path == *path || by.staged(output.part) == *path)
    });
    replaced || counted_on || is_shown(state, path)
}

/// Whether this name says that an ended attempt of this very journal wrote it, before the listing began.
fn wrote(state: &State, evidence: Sequence, path: &FilePath) -> bool {
    let published = || {
        let name = OutputName::parse(path.name())?;
        let here = state.journal == Some(name.journal) || crate::planted!(ForeignIsLate);
        (path.place == Place::Root && here).then_some(name.attempt)
    };
    let Some(attempt) = stager_of(path).or_else(published) else {
        return false;
    };
    let granted_here = attempt.job < state.next_job && attempt.token.sequence <= evidence;
    let unfinished = state.jobs.contains_key(&attempt.job);
    granted_here && (!unfinished || crate::planted!(CollectorIgnoresJobs))
}
