//! Ages run on the store's clock, which stands still on an idle root.

use anyhow::Result;
use baler_core::ids::TableName;
use baler_core::planner;
use baler_core::request::{Request, Scope};
use baler_core::state::Table;

use crate::root::Root;

/// Where by this machine's clock something has grown old enough to be merged, empty entries tell the state the time.
pub async fn ask_for_the_present(root: &Root, tables: &[(TableName, Table)], scope: &Scope) -> Result<()> {
    let state = root.replica.state();
    let jobs_at = |now| {
        let jobs = tables.iter().flat_map(|(name, table)| {
            let partitions = table.agenda.all();
            let partitions = partitions.filter(|partition| scope.covers(name, partition));
            partitions.map(|partition| {
                planner::choose(&table.spec, &table.view(partition, now))
                    .jobs
                    .len()
            })
        });
        jobs.sum::<usize>()
    };
    if jobs_at(state.time) == 0 && jobs_at(root.now()) > 0 {
        tell_the_time(root).await?;
    }
    Ok(())
}

/// An entry carries the time of the one before it: one is stamped now, and another carries that stamp.
pub async fn tell_the_time(root: &Root) -> Result<()> {
    for _ in 0..2 {
        root.replica.submit(Request::Tick).await?;
    }
    Ok(())
}
