//! What a proposal would become, for those who only want to know: nothing is decided by it, and nothing is written.

use std::sync::Arc;

use super::drops;
use crate::apply::apply_event;
use crate::event::Event;
use crate::ids::{Partition, TableName};
use crate::job::Job;
use crate::planner::Proposal;
use crate::state::State;

/// The job, if a proposal for this partition were planned in this state as it is.
pub fn foreseen_job(
    state: &State,
    table: &TableName,
    partition: &Partition,
    proposal: &Proposal,
) -> Option<Arc<Job>> {
    let spec = &state.tables.get(table)?.spec;
    let partition = spec.output_partition(partition, proposal.output_level);
    let drops = drops::frozen(state, table, &partition, &proposal.inputs);
    let job = state.next_job;
    let mut planned = state.clone();
    apply_event(
        &mut planned,
        &Event::JobPlanned {
            job,
            table: table.clone(),
            partition,
            inputs: proposal.inputs.clone(),
            output_level: proposal.output_level,
            why: proposal.why.clone(),
            drops,
            alone: false,
            receipt: true,
        },
    );
    planned.jobs.get(&job).cloned()
}
