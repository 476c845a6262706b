//! Which free range is worked on next.
//!
//! Publishing first: it is short, and its inputs are waiting to be set aside. Then small before large, and untroubled
//! before failing; but each level and each fault puts a job back by a fixed number of places only, so that whatever
//! keeps arriving at level 0, everything gets its turn.

use crate::ids::{JobId, RangeId};
use crate::job::{Job, JobStatus};
use crate::request::Scope;
use crate::state::State;

/// How many later jobs may overtake a job for each level and fault it has.
pub const OVERTAKEN_MAX: u64 = 64;

/// The free ranges inside the scope, the next one first.
pub fn free_ranges(state: &State, scope: &Scope) -> Vec<(JobId, RangeId)> {
    let mut jobs: Vec<&Job> = state
        .jobs
        .values()
        .map(AsRef::as_ref)
        .filter(|job| scope.covers(&job.table, &job.partition))
        .collect();
    jobs.sort_by_key(|job| (job.status != JobStatus::Compacted, turn(job)));
    jobs.into_iter()
        .flat_map(|job| job.free_ranges().map(|range| (job.id, range)))
        .collect()
}

/// A job competes as if it had been planned this much later.
fn turn(job: &Job) -> u64 {
    let handicap = u64::from(job.output_level.0) + u64::from(job.input_faults);
    job.id.0 + handicap * OVERTAKEN_MAX
}
