//! Which free range is worked on next.
//!
//! Tenants take turns, so that nobody waits behind another's thousand jobs. Within a tenant: publishing first, as it is
//! short and its inputs are waiting to be set aside. Then small before large, and untroubled before failing; but each
//! level and each fault puts a job back by a fixed number of places only, so that whatever keeps arriving at level 0,
//! everything gets its turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::agenda::Tenant;
use crate::file::Level;
use crate::ids::{JobId, RangeId};
use crate::job::{Backoff, Job, JobStatus, Range};
use crate::request::Scope;
use crate::state::State;
use crate::time::Millis;

/// How many later jobs may overtake a job for each level and fault it has.
pub const OVERTAKEN_MAX: u64 = 64;

/// The free ranges inside the scope, the next one first.
pub fn free_ranges(state: &State, scope: &Scope) -> Vec<(JobId, RangeId)> {
    let mut queues: BTreeMap<Tenant, Vec<&Job>> = BTreeMap::new();
    for job in jobs_in(state, scope) {
        queues.entry(state.tenant_of(job)).or_default().push(job);
    }
    let order = rotated(queues.keys().cloned().collect(), &state.turn);
    let mut queues: VecDeque<VecDeque<(JobId, RangeId)>> = order
        .iter()
        .filter_map(|tenant| queues.remove(tenant))
        .map(|jobs| in_order(state, jobs))
        .collect();
    let mut free = Vec::new();
    while let Some(mut queue) = queues.pop_front() {
        if let Some(next) = queue.pop_front() {
            free.push(next);
            queues.push_back(queue);
        }
    }
    free
}

/// How many free ranges inside the scope each tenant has that the asker may have; only those who have any.
pub(crate) fn free_by_tenant(
    state: &State,
    scope: &Scope,
    admits: impl Fn(&Job, RangeId) -> bool,
) -> BTreeMap<Tenant, usize> {
    let mut counts = BTreeMap::new();
    for job in jobs_in(state, scope) {
        let free = granted_now(state, job)
            .filter(|range| admits(job, *range))
            .count();
        if free > 0 {
            *counts.entry(state.tenant_of(job)).or_default() += free;
        }
    }
    counts
}

/// How many jobs inside the scope wait for somebody to begin them.
pub(crate) fn jobs_to_begin(state: &State, scope: &Scope) -> usize {
    let jobs = jobs_in(state, scope).filter(|job| job.status == JobStatus::Open && !job.is_begun());
    jobs.filter(|job| granted_now(state, job).next().is_some())
        .count()
}

/// How long until the next range inside the scope that waits for the store may be granted; `None` if none waits. The
/// state's time moves with entries only: whoever has nothing else to do waits so long, and then writes one.
pub fn backed_off_for(state: &State, scope: &Scope) -> Option<Millis> {
    let free = |job| free_ranges_of(job).filter_map(|(_, range)| range.backoff);
    let waiting = jobs_in(state, scope).flat_map(free);
    waiting.filter_map(|backoff| left(state, &backoff)).min()
}

/// The same for commits in external catalogs.
pub fn commits_backed_off_for(state: &State) -> Option<Millis> {
    let jobs = state.jobs.values();
    let external = jobs.filter(|job| state.has_external_catalog(&job.table) && !state.is_paused(&job.table));
    let waiting = external.filter(|job| job.publish.is_free());
    let waits = waiting.filter_map(|job| left(state, &job.publish.backoff?));
    waits.min()
}

/// Those behind the one that came last, then the others.
pub(crate) fn rotated(tenants: BTreeSet<Tenant>, last: &Tenant) -> Vec<Tenant> {
    let (before, mut order): (Vec<_>, Vec<_>) = tenants.into_iter().partition(|tenant| tenant <= last);
    order.extend(before);
    order
}

fn jobs_in<'a>(state: &'a State, scope: &'a Scope) -> impl Iterator<Item = &'a Job> {
    let jobs = state.jobs.values().map(AsRef::as_ref);
    jobs.filter(|job: &&Job| {
        let takes = || job.status == JobStatus::Compacted || scope.takes(job.level(), job.bytes());
        // Who can reach an external catalog is not known here: it asks by itself.
        let elsewhere = || job.status == JobStatus::Compacted && state.has_external_catalog(&job.table);
        scope.covers(&job.table, &job.partition)
            && scope.knows(&job.merge)
            && takes()
            && !elsewhere()
            && !state.is_paused(&job.table)
    })
}

fn in_order(state: &State, mut jobs: Vec<&Job>) -> VecDeque<(JobId, RangeId)> {
    jobs.sort_by_key(|job| (job.status != JobStatus::Compacted, turn(job)));
    jobs.into_iter()
        .flat_map(|job| granted_now(state, job).map(|range| (job.id, range)))
        .collect()
}

fn granted_now<'a>(state: &'a State, job: &'a Job) -> impl Iterator<Item = RangeId> + 'a {
    free_ranges_of(job)
        .filter(|(_, range)| !is_backed_off(state, range))
        .map(|(id, _)| id)
}

/// Whether the store failed under it a short while ago.
pub(crate) fn is_backed_off(state: &State, range: &Range) -> bool {
    range
        .backoff
        .is_some_and(|backoff| left(state, &backoff).is_some())
}

fn free_ranges_of(job: &Job) -> impl Iterator<Item = (RangeId, &Range)> {
    job.free_ranges().filter_map(|id| Some((id, job.range(id)?)))
}

/// What is left of a back-off; `None` once it is over.
fn left(state: &State, backoff: &Backoff) -> Option<Millis> {
    let Some(began) = state.began(backoff.since) else {
        return Some(backoff.lasts());
    };
    let left = (began + backoff.lasts()).since(state.time);
    Some(left).filter(|left| *left > Millis(0))
}

/// A job competes as if it had been planned this much later.
pub(crate) fn turn(job: &Job) -> u64 {
    turn_of(job.id, job.output_level, job.input_faults)
}

/// The same for a job that is not planned yet.
pub(crate) fn turn_of(job: JobId, output_level: Level, input_faults: u32) -> u64 {
    let handicap = u64::from(output_level.0) + u64::from(input_faults);
    job.0 + handicap * OVERTAKEN_MAX
}
