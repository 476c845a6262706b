//! Native tables: files whose rows are all past the table's retention go before anything is merged, so that no work is
//! done for them.

use anyhow::{Result, bail};
use baler_core::decide;
use baler_core::ids::TableName;
use baler_core::request::{Expired, Reply, Request};
use baler_core::state::{State, Table};
use baler_core::time::StoreTime;

use crate::root::Root;

/// Drops what is past its retention in these tables.
pub async fn apply_retention(root: &Root, tables: &[(TableName, Table)]) -> Result<Expired> {
    let mut sum = Expired::default();
    let limited = tables.iter().filter(|(_, table)| table.spec.retention.is_some());
    for (name, _) in limited {
        while let Some(expired) = drop_expired(root, name).await? {
            sum.files += expired.files;
            sum.rows += expired.rows;
            sum.bytes += expired.bytes;
            if !expired.more {
                break;
            }
        }
    }
    Ok(sum)
}

/// Drops as many files as one request takes; `None` if there is nothing to drop.
async fn drop_expired(root: &Root, table: &TableName) -> Result<Option<Expired>> {
    let state = root.replica.state();
    if !would_drop(&state, table, state.time) {
        if !would_drop(&state, table, root.now()) {
            return Ok(None);
        }
        // The state's time stands still on an idle root: the entry after this one carries the present.
        root.replica.submit(Request::Tick).await?;
    }
    let request = Request::ApplyRetention(table.clone());
    match root.replica.submit(request).await? {
        Reply::Expired(expired) => Ok(Some(expired)),
        Reply::Refused(refusal) => bail!("{refusal}"),
        other => bail!("retention was answered {other:?}"),
    }
}

fn would_drop(state: &State, table: &TableName, now: StoreTime) -> bool {
    let mut state = state.clone();
    state.open_batch(None);
    state.time = state.time.max(now);
    let decision = decide(&state, &Request::ApplyRetention(table.clone()));
    !decision.events.is_empty()
}
