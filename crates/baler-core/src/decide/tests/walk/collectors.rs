//! Collectors: several, each with lists of its own, some of them old.

use super::Verdict;
use super::world::World;
use crate::file::FilePath;
use crate::garbage::Stage;
use crate::names::Attempt;
use crate::request::{Grace, Reply, Request};

impl World {
    pub(super) fn collector_acts(&mut self) -> Verdict {
        match self.any(4) {
            0 => self.set_aside(),
            1 => {
                let grace = if self.chance(4) {
                    Grace::Waived
                } else {
                    Grace::Kept
                };
                self.declare(grace)
            }
            _ => {
                let lists = self.lists.clone();
                let some = self.some_of(&lists);
                self.delete(&some)
            }
        }
    }

    /// Renames what is still the version that was consumed. A crash after a rename leaves it to the next to report.
    pub(super) fn set_aside(&mut self) -> Verdict {
        let waiting: Vec<_> = self
            .state
            .garbage
            .iter()
            .filter(|(_, garbage)| garbage.stage == Stage::ToSetAside)
            .map(|(aside, garbage)| (aside.clone(), garbage.original.clone().expect("it lay somewhere")))
            .collect();
        let (mut moved, mut nothing) = (Vec::new(), Vec::new());
        for (aside, original) in self.some_of(&waiting) {
            if self.is_on_disk(&original.path, &original.identity) {
                let object = self.disk.remove(&original.path).expect("it is there");
                self.disk.insert(aside.clone(), object);
            }
            match self.disk.contains_key(&aside) {
                true => moved.push(aside),
                false => nothing.push(aside),
            }
        }
        match self.chance(4) {
            true => Ok(()),
            false => self.ask(&Request::ReportAside { moved, nothing }).map(drop),
        }
    }

    pub(super) fn declare(&mut self, grace: Grace) -> Verdict {
        if let Reply::Due(paths) = self.ask(&Request::DeclareDue { grace })? {
            self.lists.extend(paths);
        }
        Ok(())
    }

    /// What Baler named is deleted by name; what others named, only in the version that was consumed.
    pub(super) fn delete(&mut self, paths: &[FilePath]) -> Verdict {
        for path in paths {
            let garbage = self.state.garbage.get(path);
            let original = garbage.and_then(|garbage| garbage.original.as_ref());
            let own =
                crate::names::is_own_object(path) || crate::names::OutputName::parse(path.name()).is_some();
            let same = original.is_some_and(|original| self.is_on_disk(path, &original.identity));
            if own || same {
                self.disk.remove(path);
            }
        }
        if self.chance(4) {
            return Ok(());
        }
        self.lists.retain(|path| !paths.contains(path));
        let report = Request::ReportDeleted {
            listed: self.state.sequence,
            paths: paths.to_vec(),
        };
        self.ask(&report).map(drop)
    }

    pub(super) fn collector_sweeps(&mut self) -> Verdict {
        let leftovers: Vec<Attempt> = self.state.leftovers.values().map(|left| left.attempt).collect();
        match self.pick(&leftovers) {
            Some(attempt) => self.sweep(attempt),
            None => Ok(()),
        }
    }

    pub(super) fn sweep(&mut self, attempt: Attempt) -> Verdict {
        let token = (attempt.token.sequence, attempt.token.index);
        let Some(leftover) = self.state.leftovers.get(&token) else {
            return Ok(());
        };
        let journal = self.state.journal;
        let found = self.disk.keys().filter(|path| leftover.may_hold(journal, path));
        let request = Request::ReportSweep {
            attempt,
            found: found.cloned().collect(),
            grace: Grace::Kept,
        };
        if let Reply::Due(paths) = self.ask(&request)? {
            self.lists.extend(paths);
        }
        Ok(())
    }
}
