//! Guarantee 7: a final state never changes again, and once the faults stop every job reaches one.

use super::Wrong;
use crate::model::{Model, job_of};
use crate::oracle::At;

pub(super) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    let about_jobs = [
        "RangeLeased",
        "JobCut",
        "RangeReleased",
        "RangeFinished",
        "JobCompacted",
        "JobPublished",
        "JobCommitted",
        "JobCancelled",
        "JobFailed",
        "CommitTry",
    ];
    if !about_jobs.contains(&at.kind) {
        return;
    }
    let Some(id) = job_of(at.body) else {
        return;
    };
    if let Some(how) = model.ended.get(&id) {
        wrong.push((7, format!("job {id} is {how} already")));
    }
}

/// At the end nothing is left to do.
pub(crate) fn at_end(model: &Model, wrong: &mut Wrong) {
    for (id, job) in &model.jobs {
        wrong.push((7, format!("job {id} has not ended: {job:?}")));
    }
}
