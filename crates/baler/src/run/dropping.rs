//! Native tables: files whose rows are all past the table's retention go before anything is merged, so that no work is
//! done for them.

use anyhow::{Result, bail};
use baler_core::decide;
use baler_core::ids::TableName;
use baler_core::request::{Reply, Request};
use baler_core::state::State;
use baler_core::time::StoreTime;

use super::Run;
use crate::root::machine_now;

impl Run<'_> {
    pub(super) async fn apply_retention(&mut self) -> Result<()> {
        let tables = self.tables();
        let limited = tables.iter().filter(|(_, table)| table.spec.retention.is_some());
        for (name, _) in limited {
            while self.drop_expired(name).await? {}
        }
        Ok(())
    }

    /// Drops as many files as one request takes. Answers whether there are more.
    async fn drop_expired(&mut self, table: &TableName) -> Result<bool> {
        let state = self.root.replica.state();
        if !would_drop(&state, table, state.time) {
            if !would_drop(&state, table, machine_now()) {
                return Ok(false);
            }
            // The state's time stands still on an idle root: the entry after this one carries the present.
            self.root.replica.submit(Request::Tick).await?;
        }
        let request = Request::ApplyRetention(table.clone());
        match self.root.replica.submit(request).await? {
            Reply::Expired(expired) => {
                self.report.expired_files += expired.files;
                self.report.expired_rows += expired.rows;
                self.report.expired_bytes += expired.bytes;
                Ok(expired.more)
            }
            Reply::Refused(refusal) => bail!("{refusal}"),
            other => bail!("retention was answered {other:?}"),
        }
    }
}

fn would_drop(state: &State, table: &TableName, now: StoreTime) -> bool {
    let mut state = state.clone();
    state.open_batch(None);
    state.time = state.time.max(now);
    let decision = decide(&state, &Request::ApplyRetention(table.clone()));
    !decision.events.is_empty()
}
