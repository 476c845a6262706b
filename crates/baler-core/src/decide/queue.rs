//! Room in the queue. It is bounded, and at the bound a job that keeps failing makes room for one that may not: its
//! files are put off, not forgotten. A leased or compacted job never does.

use std::cmp::Reverse;
use std::sync::Arc;

use super::Draft;
use crate::agenda::Tenant;
use crate::event::Event;
use crate::job::{CancelReason, Job, JobStatus};
use crate::limits::{OPEN_JOBS_MAX, OPEN_JOBS_RESERVED, SHED_PUT_OFF};
use crate::time::Millis;

impl Draft {
    /// Whether one more job of this tenant may be planned; a failing one is shed for it where that is needed.
    pub(super) fn make_room(&mut self, tenant: &Tenant) -> bool {
        let open = self.state.jobs.len();
        if open < OPEN_JOBS_MAX || (open < OPEN_JOBS_MAX + OPEN_JOBS_RESERVED && !self.has_job(tenant)) {
            return true;
        }
        let Some(failing) = self.most_failing() else {
            return false;
        };
        self.shed(&failing);
        true
    }

    fn has_job(&self, tenant: &Tenant) -> bool {
        let mut jobs = self.state.jobs.values();
        jobs.any(|job| self.state.tenant_of(job) == *tenant)
    }

    /// Faults of the inputs weigh more than those of the store, which pass.
    fn most_failing(&self) -> Option<Arc<Job>> {
        let jobs = self.state.jobs.values();
        let idle = jobs.filter(|job| job.status == JobStatus::Open && job.leases().next().is_none());
        let failing = idle.filter(|job| job.input_faults > 0 || store_faults(job) > 0);
        failing
            .max_by_key(|job| (job.input_faults, store_faults(job), Reverse(job.id)))
            .cloned()
    }

    fn shed(&mut self, job: &Job) {
        let why = CancelReason::Shed {
            input_faults: job.input_faults,
            last_error: job.last_error.clone(),
        };
        self.cancel_job(job, why);
        self.put_off(
            job,
            Some(SHED_PUT_OFF),
            "its job kept failing and made room in a full queue: it is planned again later",
        );
    }

    /// The files of a job that was ended on purpose are not planned again at once.
    pub(super) fn put_off(&mut self, job: &Job, lasts: Option<Millis>, reason: &str) {
        self.emit(Event::FilesPutOff {
            table: job.table.clone(),
            paths: job.inputs.iter().map(|input| input.path.clone()).collect(),
            job: job.id,
            lasts,
            reason: reason.into(),
        });
    }
}

fn store_faults(job: &Job) -> u32 {
    let backoffs = job.ranges().filter_map(|(_, range)| range.backoff);
    backoffs.map(|backoff| backoff.store_faults).max().unwrap_or(0)
}
