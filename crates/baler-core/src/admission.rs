//! Which free ranges are for the worker that asks, and with how much memory each is merged: what it can outlive, and what
//! there is room for beside all else that it is granted.
//!
//! A worker has one budget for all its slots. A range takes what it needs of it, as far as that can be told beforehand, and
//! with an even share any range may begin: the merge engine spills. What small ones leave of their shares a large one
//! beside them gets. What has no room waits, and smaller ones pass it; but only so many, then the worker is granted
//! nothing newer before it.

use crate::ids::{JobId, RangeId};
use crate::job::Job;
use crate::limits::{MEMORY_BASE_BYTES, MEMORY_FOR_SMALL_BYTES, MEMORY_PER_INPUT, MEMORY_PER_INPUT_BYTE};
use crate::request::{Grant, Memory, Poll};
use crate::scheduler::{self, OVERTAKEN_MAX};
use crate::state::State;

/// The memory with which a range of this job would be merged without spilling: that of any merge, that of every input,
/// and its share of them once they are decoded. It is a guess to share a machine by, and nothing depends on its being
/// right.
pub fn memory_estimate(job: &Job) -> u64 {
    estimate(job.bytes() / job.ranges.len().max(1) as u64, job.inputs.len())
}

/// The same for any range: publishing moves what is merged and needs next to nothing.
pub(crate) fn memory_for(job: &Job, range: RangeId) -> u64 {
    match range {
        RangeId::Publish => 0,
        RangeId::Keys(_) => memory_estimate(job),
    }
}

fn estimate(bytes: u64, inputs: usize) -> u64 {
    bytes
        .saturating_mul(MEMORY_PER_INPUT_BYTE)
        .saturating_add(MEMORY_PER_INPUT.saturating_mul(inputs as u64))
        .saturating_add(MEMORY_BASE_BYTES)
}

/// What a worker may be granted in one poll.
pub(crate) struct Admission {
    isolates: bool,
    /// What is not spoken for; `None` where the worker does not say.
    memory_left: Option<u64>,
    /// With so much anything may begin.
    even_bytes: u64,
    /// Jobs whose turn comes later may not pass what waits for memory.
    turn_max: u64,
}

impl Admission {
    pub(crate) fn of(state: &State, poll: &Poll) -> Self {
        let mut admission = Self {
            isolates: poll.isolates,
            memory_left: poll.memory.map(|memory| memory.free_bytes),
            even_bytes: poll.memory.map_or(u64::MAX, |memory| memory.even_bytes()),
            turn_max: u64::MAX,
        };
        if let Some(left) = admission.memory_left {
            let waiting = scheduler::free_ranges(state, &poll.scope).into_iter();
            let waiting = waiting.map(|(job, range)| (&state.jobs[&job], range));
            let oldest = waiting
                .filter(|(job, range)| admission.wants(job, *range) > left)
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

    /// The memory without which this worker does not begin it; none for what is not for it.
    pub(crate) fn wants(&self, job: &Job, range: RangeId) -> u64 {
        match self.is_for(job, range) {
            true => memory_for(job, range).min(self.even_bytes),
            false => 0,
        }
    }

    /// Whether it may be granted now.
    pub(crate) fn admits(&self, job: &Job, range: RangeId) -> bool {
        let fits = || self.fits(scheduler::turn(job), memory_estimate(job));
        self.is_for(job, range) && (range == RangeId::Publish || fits())
    }

    /// The same for a job of so many bytes and inputs that is not planned yet.
    pub(crate) fn would_admit(
        &self,
        next: JobId,
        output_level: crate::file::Level,
        bytes: u64,
        inputs: usize,
    ) -> bool {
        self.fits(scheduler::turn_of(next, output_level, 0), estimate(bytes, inputs))
    }

    fn fits(&self, turn: u64, memory: u64) -> bool {
        let wanted = memory.min(self.even_bytes);
        self.memory_left.is_none_or(|left| wanted <= left) && turn <= self.turn_max
    }

    /// It was granted.
    pub(crate) fn take(&mut self, job: &Job, range: RangeId) {
        let wanted = self.wants(job, range);
        self.memory_left = self.memory_left.map(|left| left.saturating_sub(wanted));
    }
}

/// Says with how much of a worker's memory each of its grants is merged. `waiting` is what the largest range would begin with
/// that it was not granted.
///
/// Each has what it needs, or an even share. Beyond that large ones get what is spare: never the share of a slot that is
/// empty, as it would stand idle when the next one comes; nor what those at work need to go on with.
pub(crate) fn share_out(memory: &Memory, slots: usize, waiting: u64, grants: &mut [Grant]) {
    let even = memory.even_bytes();
    if crate::planted!(EvenShares) {
        return grants.iter_mut().for_each(|grant| grant.memory_bytes = even);
    }
    let after = waiting.max(MEMORY_FOR_SMALL_BYTES).min(even);
    let at_work = memory.places.saturating_sub(slots) as u64;
    let empty = slots.saturating_sub(grants.len()) as u64;
    let held = memory.all_bytes.saturating_sub(memory.free_bytes);
    // A worker may say what it likes: nothing here overflows.
    let mut kept = held.max(after.saturating_mul(at_work));
    kept = kept.saturating_add(even.saturating_mul(empty));
    let mut granted = 0u64;
    for grant in grants.iter() {
        let least = grant.memory_bytes.min(even);
        granted = granted.saturating_add(least);
        kept = kept.saturating_add(least.max(after));
    }
    let spare = memory.all_bytes.saturating_sub(kept);
    let mut spare = spare.min(memory.free_bytes.saturating_sub(granted));
    let mut large = grants.iter().filter(|grant| grant.memory_bytes > even).count() as u64;
    for grant in grants.iter_mut().filter(|grant| grant.memory_bytes > even) {
        let more = (grant.memory_bytes - even).min(spare / large);
        grant.memory_bytes = even + more;
        spare -= more;
        large -= 1;
    }
}
