//! Guarantee 2: each input is replaced by exactly one commit, and only while every input is live in the version that was
//! planned.

use super::Wrong;
use crate::model::{Job, Live, Model, path_of};
use crate::oracle::At;

pub(super) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    match at.kind {
        "JobCommitted" | "JobCompacted" => commit(model, at, wrong),
        "FilesAdded" => {
            for file in at.body["files"].as_array().into_iter().flatten() {
                let path = path_of(&file["path"]);
                let tag = file["identity"]["tag"].as_str();
                let replaced = model.replaced.get(&path);
                // Another version under the same name is another file.
                if let Some((job, _)) = replaced.filter(|(_, old)| old.is_none() || old.as_deref() == tag) {
                    wrong.push((2, format!("{path} was replaced by job {job}, and is live again")));
                }
                if let Some(tag) = tag.filter(|tag| is_old_news(model, &path, tag)) {
                    wrong.push((
                        2,
                        format!("{path} is added as {tag}, which was gone before it last came or went"),
                    ));
                }
            }
        }
        "JobUndone" => undo(model, at, wrong),
        _ => {}
    }
}

/// Whoever tells of a file has looked at it after all that the journal said of its path by then. So a version that was gone
/// from the store before the path last came into the table, or left it, is old news.
fn is_old_news(model: &Model, path: &str, tag: &str) -> bool {
    let (gone, touched) = (model.gone_since(path, tag), model.touched.get(path));
    gone.zip(touched).is_some_and(|(gone, touched)| gone < *touched)
}

/// A committed job can be taken back once, while all that it wrote is live and nothing that it replaced is on its way out.
fn undo(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    let id = at.body["job"].as_u64().unwrap_or(0);
    let Some(commit) = model.commits.get(&id).filter(|commit| !commit.undone) else {
        wrong.push((7, format!("job {id} is undone, and is not committed")));
        return;
    };
    for path in &commit.outputs {
        if !model.live.contains_key(path) {
            wrong.push((
                2,
                format!("job {id} is undone, and its output {path} is not live"),
            ));
        }
        if let Some((holder, _)) = model.jobs.iter().find(|(_, job)| job.inputs.contains(path)) {
            wrong.push((
                2,
                format!("job {id} is undone, and job {holder} merges its output {path}"),
            ));
        }
    }
    for (path, _) in &commit.inputs {
        if model.live.contains_key(path) {
            wrong.push((2, format!("job {id} brings back {path}, which is live")));
        }
        if model.due.contains(path) {
            wrong.push((
                6,
                format!("job {id} brings back {path}, which is due to be deleted"),
            ));
        }
    }
}

fn commit(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    let Some((id, job)) = at.body["job"]
        .as_u64()
        .and_then(|id| Some((id, model.jobs.get(&id)?)))
        .filter(|(_, job)| !job.compacted)
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
        changed_meanwhile(model, id, job, path, planned.as_ref(), wrong);
    }
    let finished = job.finished.len();
    if finished < job.ranges as usize {
        wrong.push((
            1,
            format!("job {id} commits with {finished} of {} ranges", job.ranges),
        ));
    }
}

/// Before a job of one range ends, its inputs are looked at once more, after all outputs are written: whoever overwrote or
/// removed one before that must have been seen. Of several ranges only the last to be granted looks.
fn changed_meanwhile(
    model: &Model,
    id: u64,
    job: &Job,
    path: &str,
    planned: Option<&Live>,
    wrong: &mut Wrong,
) {
    let outputs = job.finished.values().flatten().map(|(output, _)| output);
    let merged = outputs.chain(&job.staged);
    let merged = merged.filter_map(|output| model.written_at(output)).max();
    let meddled = model.meddled_at(path, planned);
    if job.ranges == 1
        && meddled
            .zip(merged)
            .is_some_and(|(meddled, merged)| meddled < merged)
    {
        wrong.push((
            2,
            format!("job {id} replaces {path}, which was overwritten or removed during the merge"),
        ));
    }
}
