//! Receipts are written after the commit, by whoever comes by; here it is only taken down that they are, and which are old
//! enough to go.

use std::collections::BTreeSet;

use super::{Answer, Draft};
use crate::event::Event;
use crate::ids::{JobId, TableName};
use crate::limits::{RECEIPTS_KEPT, RECEIPTS_RETIRED_AT_ONCE};
use crate::request::Reply;

impl Draft {
    pub(super) fn report_receipts(&mut self, written: &[JobId]) -> Answer {
        let due = |job: &&JobId| {
            let committed = self.state.committed.get(*job);
            committed.is_some_and(|committed| !committed.receipted)
        };
        let jobs: BTreeSet<JobId> = written.iter().filter(due).copied().collect();
        if !jobs.is_empty() {
            let jobs = jobs.into_iter().collect();
            self.emit(Event::ReceiptsWritten { jobs });
        }
        let before = JobId(self.state.next_job.0.saturating_sub(RECEIPTS_KEPT));
        if before.0 >= self.state.old_receipts.retired.0 + RECEIPTS_RETIRED_AT_ONCE {
            self.emit(Event::ReceiptsRetired { before });
        }
        Ok(Reply::Done)
    }

    pub(super) fn report_receipts_deleted(&mut self, before: JobId) -> Answer {
        let old = self.state.old_receipts;
        if old.deleted < before && before <= old.retired {
            self.emit(Event::ReceiptsDeleted { before });
        }
        Ok(Reply::Done)
    }

    /// Only of a table that is on its way out: another's receipts are the record of what was done to it.
    pub(super) fn report_table_receipts_deleted(&mut self, name: &TableName) -> Answer {
        let table = self.state.tables.get(name);
        if table.is_some_and(|table| table.is_dropped() && table.has_receipts) {
            self.emit(Event::TableReceiptsDeleted { table: name.clone() });
        }
        Ok(Reply::Done)
    }
}
