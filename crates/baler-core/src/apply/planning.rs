//! What the planner leaves alone: partitions at rest, files that are put off, tables that are paused.

use std::sync::Arc;

use crate::event::Rested;
use crate::file::FilePath;
use crate::ids::{JobId, TableName};
use crate::state::{PutOff, State};
use crate::time::Millis;

impl State {
    pub(super) fn put_off(
        &mut self,
        table: &TableName,
        paths: &[FilePath],
        job: JobId,
        lasts: Option<Millis>,
        reason: &Arc<str>,
    ) {
        let put_off = PutOff {
            job,
            since: self.sequence,
            lasts,
            reason: reason.clone(),
        };
        let table = self.table_mut(table);
        for path in paths {
            table.put_off.insert(path.clone(), put_off.clone());
            table.touch(path);
        }
    }

    /// What an older planner found is of no use once a newer one has looked.
    pub(super) fn rest(&mut self, table: &TableName, planner: u32, partitions: &[Rested]) {
        let table = self.table_mut(table);
        if planner < table.agenda.planner() {
            return;
        }
        if planner > table.agenda.planner() {
            table.unsettle_all();
            table.agenda.set_planner(planner);
        }
        for Rested { partition, until } in partitions {
            table.agenda.settle(&table.spec, partition, *until);
        }
    }

    pub(super) fn set_paused(&mut self, table: Option<&TableName>, paused: bool) {
        match table {
            Some(table) => self.table_mut(table).paused = paused,
            None => self.paused = paused,
        }
    }
}
