//! Which free ranges are for the worker that asks: what it can outlive, and what fits into its memory beside all else
//! that it is granted.
//!
//! What does not fit waits, and smaller ones pass it; but only so many, then the worker is granted nothing newer until it
//! has nothing else to do. To such a worker anything may be granted, however large: the merge engine spills.

use crate::ids::{JobId, RangeId, WorkerId};
use crate::job::Job;
use crate::limits::{MEMORY_BASE_BYTES, MEMORY_PER_INPUT_BYTE};
use crate::request::Poll;
use crate::scheduler::{self, OVERTAKEN_MAX};
use crate::state::State;

/// The memory with which a range of this job would be merged without spilling: that of any merge, and its share of the
/// inputs once they are decoded. It is a guess to share a machine by, and nothing depends on its being right.
pub fn memory_estimate(job: &Job) -> u64 {
    estimate(job.bytes() / job.ranges.len().max(1) as u64)
}

fn estimate(bytes: u64) -> u64 {
    bytes
        .saturating_mul(MEMORY_PER_INPUT_BYTE)
        .saturating_add(MEMORY_BASE_BYTES)
}

/// What a worker may be granted in one poll.
pub(crate) struct Admission {
    isolates: bool,
    /// What is not spoken for; `None` where the worker does not say.
    memory_left: Option<u64>,
    /// Whether it works on nothing else.
    idle: bool,
    /// Jobs whose turn comes later may not pass what waits for memory.
    turn_max: u64,
}

impl Admission {
    pub(crate) fn of(state: &State, poll: &Poll) -> Self {
        let mut admission = Self {
            isolates: poll.isolates,
            memory_left: poll.memory_bytes,
            idle: !is_busy(state, &poll.worker),
            turn_max: u64::MAX,
        };
        if let Some(memory) = poll.memory_bytes {
            let waiting = scheduler::free_ranges(state, &poll.scope).into_iter();
            let waiting = waiting.map(|(job, range)| (&state.jobs[&job], range));
            let oldest = waiting
                .filter(|(job, range)| admission.is_for(job, *range))
                .filter(|(job, range)| *range != RangeId::Publish && memory_estimate(job) > memory)
                .map(|(job, _)| scheduler::turn(job))
                .min();
            admission.turn_max = oldest.map_or(u64::MAX, |turn| turn.saturating_add(OVERTAKEN_MAX));
        }
        admission
    }

    /// What may kill whoever works on it is for those who can outlive it.
    pub(crate) fn is_for(&self, job: &Job, range: RangeId) -> bool {
        self.isolates || job.range(range).is_some_and(|range| !range.alone)
    }

    /// Whether it may be granted now. Publishing moves what is merged and needs next to nothing.
    pub(crate) fn admits(&self, job: &Job, range: RangeId) -> bool {
        let fits = || self.fits(scheduler::turn(job), memory_estimate(job));
        self.is_for(job, range) && (range == RangeId::Publish || fits())
    }

    /// The same for a job that is not planned yet.
    pub(crate) fn would_admit(&self, next: JobId, output_level: crate::file::Level, bytes: u64) -> bool {
        self.fits(scheduler::turn_of(next, output_level, 0), estimate(bytes))
    }

    fn fits(&self, turn: u64, memory: u64) -> bool {
        let has_room = self.memory_left.is_none_or(|left| memory <= left);
        (has_room || self.idle) && turn <= self.turn_max
    }

    /// It was granted.
    pub(crate) fn take(&mut self, job: &Job, range: RangeId) {
        if range != RangeId::Publish {
            self.idle = false;
            self.memory_left = self
                .memory_left
                .map(|left| left.saturating_sub(memory_estimate(job)));
        }
    }
}

fn is_busy(state: &State, worker: &WorkerId) -> bool {
    let mut leases = state.jobs.values().flat_map(|job| job.leases());
    leases.any(|(_, lease)| lease.worker == *worker)
}
