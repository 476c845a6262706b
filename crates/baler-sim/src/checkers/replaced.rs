//! Guarantee 2: each input is replaced by exactly one commit, and only while every input is live in the version that was
//! planned.

use super::Wrong;
use crate::model::{Model, path_of};
use crate::oracle::At;

pub(super) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    match at.kind {
        "JobCommitted" => commit(model, at, wrong),
        "FilesAdded" => {
            for file in at.body["files"].as_array().into_iter().flatten() {
                let path = path_of(&file["path"]);
                if let Some(job) = model.replaced.get(&path) {
                    wrong.push((2, format!("{path} was replaced by job {job}, and is live again")));
                }
            }
        }
        _ => {}
    }
}

fn commit(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    let Some((id, job)) = at.body["job"]
        .as_u64()
        .and_then(|id| Some((id, model.jobs.get(&id)?)))
    else {
        return;
    };
    for (path, planned) in job.inputs.iter().zip(&job.planned) {
        match model.live.get(path) {
            None => {
                let by = model.replaced.get(path);
                wrong.push((
                    2,
                    format!("job {id} replaces {path}, which is not live (replaced by {by:?})"),
                ));
            }
            now if now != planned.as_ref() => {
                wrong.push((
                    2,
                    format!("job {id} replaces another version of {path} than it merged"),
                ));
            }
            Some(_) => {}
        }
    }
    let finished = job.finished.len();
    if finished < job.ranges as usize {
        wrong.push((
            1,
            format!("job {id} commits with {finished} of {} ranges", job.ranges),
        ));
    }
}
