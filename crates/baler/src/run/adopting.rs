//! Plain tables: what lies in the folder is adopted while merging goes on.

use anyhow::Result;

use super::Run;
use crate::adoption::{Adopted, Adoption};
use crate::discovery::Look;
use crate::root::plain_table;

impl Run<'_> {
    /// Merges what the listing has settled while it goes on. Answers whether some files were passed over because the
    /// state changed under the listing, and how many jobs ended without effect.
    pub(super) async fn adopt_and_merge(&mut self) -> Result<(bool, u64)> {
        self.progress.begin_counting("looking at");
        self.root.replica.catch_up().await?;
        let look = Look {
            table: plain_table(),
            evidence: self.root.replica.state().sequence,
            settle: self.settings.settle,
            now: self.root.now(),
            scope: self.settings.scope.clone(),
            adopt_foreign: self.table.adopt_foreign,
        };
        let mut adoption = Adoption::begin(self.root.clone(), look, self.progress.clone());
        let mut cancelled = 0;
        loop {
            let settled = adoption.settled();
            if settled.ended {
                break;
            }
            if !settled.partitions.is_empty() && !self.is_stopping() {
                cancelled += self.merge(Some(&settled)).await?;
            }
            tokio::select! {
                () = adoption.changed() => {}
                () = self.asked_to_stop() => {
                    adoption.stop();
                    return Ok((false, cancelled));
                }
            }
        }
        let adopted = adoption.end().await?;
        let again = adopted.unsettled;
        self.report_on(adopted);
        if !self.is_stopping() {
            cancelled += self.merge(None).await?;
        }
        Ok((again, cancelled))
    }

    fn report_on(&mut self, adopted: Adopted) {
        self.report.waiting = adopted.findings.waiting;
        self.report.skipped = adopted.findings.skipped;
        self.report.unreadable = adopted.findings.unreadable;
        self.report.changed.extend(adopted.changed);
        self.report.changed.sort();
        self.report.changed.dedup();
    }
}
