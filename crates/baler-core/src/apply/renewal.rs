//! A journal that was mended goes on under a new id. What the old one granted is worthless from then on; what it knew
//! stays, as far as it can be believed.

use crate::event::ReleaseReason;
use crate::file::FilePath;
use crate::garbage::{Garbage, Leftover, Stage};
use crate::ids::{JobId, JournalId, Sequence};
use crate::job::{CancelReason, JobStatus};
use crate::names::{self, Attempt};
use crate::state::State;

/// How much of the old journal could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Every decision.
    Whole,
    /// What was decided after the state given is lost.
    Cut,
}

/// Said of a commit in an external catalog that was tried under the old id, by which the catalog knows it.
const STUCK: &str =
    "the journal was repaired and has a new id: look for the job in the catalog by the old one";

/// The state as the first of a new journal, which begins in this entry. Leases end. Open jobs end without effect: their inputs
/// are live as before, and are planned anew. Where history is cut, nothing is on its way out any more: a file that was to be
/// deleted may have been brought back since. What an undo was bringing back still comes.
pub fn renew(state: &mut State, journal: JournalId, at: Sequence, history: History) {
    state.journal = Some(journal);
    state.sequence = at;
    state.next_index = 0;
    for attempt in leased(state) {
        state.release_range(&attempt, &ReleaseReason::Drained);
    }
    let open = state.jobs.values().filter(|job| job.status == JobStatus::Open);
    let open: Vec<JobId> = open.map(|job| job.id).collect();
    for job in open {
        state.cancel_job(job, &CancelReason::Operator);
    }
    let tried = state.jobs.values().filter(|job| job.tries.is_some());
    let tried: Vec<JobId> = tried.map(|job| job.id).collect();
    for job in tried {
        if let Some(tries) = state.job_mut(job).tries.as_mut() {
            tries.stuck = Some(STUCK.into());
        }
    }
    forget_old_names(state);
    if history == History::Cut {
        keep_garbage(state, |_, garbage| garbage.stage == Stage::Returning);
    }
}

fn keep_garbage(state: &mut State, keep: impl Fn(&FilePath, &Garbage) -> bool) {
    let kept = state.garbage.iter().filter(|(path, garbage)| keep(path, garbage));
    state.garbage = kept
        .map(|(path, garbage)| (path.clone(), garbage.clone()))
        .collect();
}

fn leased(state: &State) -> Vec<Attempt> {
    let jobs = state.jobs.values();
    jobs.flat_map(|job| {
        job.leases().map(|(range, lease)| Attempt {
            job: job.id,
            range,
            token: lease.token,
        })
    })
    .collect()
}

/// What an attempt left in a folder of a native table is known by the old id, and no longer deleted by name.
fn forget_old_names(state: &mut State) {
    let publishes = |leftover: &Leftover| {
        let table = state.tables.get(&leftover.table);
        table.is_some_and(|table| table.spec.catalog.publishes())
    };
    let leftovers = state.leftovers.iter().filter(|(_, left)| publishes(left));
    state.leftovers = leftovers.map(|(key, left)| (*key, left.clone())).collect();
    keep_garbage(state, |path, garbage| {
        garbage.original.is_some() || names::is_own_object(path)
    });
}
