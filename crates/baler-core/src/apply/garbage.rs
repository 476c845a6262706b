//! What is left behind, and its way out.

use super::leftover_key;
use crate::file::{File, FilePath};
use crate::garbage::{Garbage, Leftover, Original, Stage};
use crate::ids::TableName;
use crate::names::{self, Attempt};
use crate::state::State;
use std::sync::Arc;

impl State {
    pub(super) fn leave_behind(&mut self, table: &TableName, attempt: Attempt) {
        let leftover = Leftover {
            attempt,
            table: table.clone(),
            since: self.sequence,
            swept: false,
        };
        self.leftovers.insert(leftover_key(attempt.token), leftover);
    }

    /// A file that left the table in this entry goes on its way out, under the name that will be deleted.
    pub(super) fn discard(&mut self, table: &TableName, file: &File, name: FilePath, stage: Stage) {
        let garbage = Garbage {
            table: table.clone(),
            stage,
            since: self.sequence,
            added: file.added,
            replaced: self.sequence,
            original: Some(Original {
                path: file.path.clone(),
                identity: file.identity.clone(),
            }),
        };
        self.garbage.insert(name, Arc::new(garbage));
    }

    pub(super) fn advance_garbage(&mut self, paths: &[FilePath], stage: Stage) {
        let since = self.sequence;
        for path in paths {
            let garbage = self.garbage.get_mut(path).expect("events name known garbage");
            let garbage = Arc::make_mut(garbage);
            garbage.stage = stage;
            garbage.since = since;
            let (table, original) = (garbage.table.clone(), garbage.original.clone());
            if let (Stage::Waiting, Some(original)) = (stage, original) {
                self.forget_consumed(&table, &original.path, Some(&original.identity));
            }
        }
    }

    pub(super) fn declare_due(&mut self, table: &TableName, paths: &[FilePath]) {
        let since = self.sequence;
        for path in paths {
            let known = self.garbage.get(path).map(|garbage| Garbage::clone(garbage));
            let fresh = || Garbage {
                table: table.clone(),
                stage: Stage::Due,
                since,
                added: since,
                replaced: since,
                original: None,
            };
            let garbage = Garbage {
                stage: Stage::Due,
                since,
                ..known.unwrap_or_else(fresh)
            };
            let (table, replaced) = (garbage.table.clone(), garbage.replaced);
            let is_version = garbage.original.is_some() && !self.tables[&table].spec.catalog.publishes();
            self.garbage.insert(path.clone(), Arc::new(garbage));
            if is_version {
                self.close_versions(&table, replaced);
            }
        }
    }

    pub(super) fn drop_garbage(&mut self, paths: &[FilePath]) {
        let at = self.sequence;
        for path in paths {
            let garbage = self.garbage.remove(path).expect("events name known garbage");
            match &garbage.original {
                Some(original) => {
                    self.forget_consumed(&garbage.table, &original.path, Some(&original.identity));
                }
                None if names::is_own_object(path) => {}
                None => self
                    .table_mut(&garbage.table)
                    .remember_removed(path.clone(), at, None),
            }
        }
    }

    /// The version stays known as consumed, but for a table of which nothing will be known.
    pub(super) fn leave_in_place(&mut self, path: &FilePath) {
        let garbage = self.garbage.remove(path).expect("events name known garbage");
        let table = self.table_mut(&garbage.table);
        if table.is_dropped() {
            table.consumed.remove(path);
        }
    }

    pub(super) fn sweep_leftover(&mut self, attempt: &Attempt, empty: bool) {
        let since = self.sequence;
        let leftover = self
            .leftovers
            .get_mut(&leftover_key(attempt.token))
            .expect("events name known leftovers");
        leftover.since = since;
        leftover.swept = empty;
    }
}
