//! Guarantee 1: no row is lost, none is doubled, the newest wins. What a commit replaces is compared with what it puts in
//! its place, row by row, as both lie in the store; and at the end all rows are compared with all that were handed over.

use super::{Wrong, upserts};
use crate::model::Model;
use crate::model::upserts::{Newest, Upserts};
use crate::oracle::At;
use crate::store::{Objects, PREFIX};

pub(super) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    match at.kind {
        "FilesExpired" => return expired(model, at, wrong),
        "FilesLost" => return lost(model, at, wrong),
        _ => {}
    }
    let committed = at.kind == "JobCommitted";
    let Some(id) = at.body["job"].as_u64().filter(|_| committed) else {
        return;
    };
    let Some(job) = model.jobs.get(&id) else {
        return;
    };
    let planned = job.planned.iter().map(Option::as_ref);
    let (before, missing) = model.newest_of(job.inputs.iter().zip(planned));
    for path in missing {
        let what = format!("input {path} of job {id} was never whole in the store");
        wrong.push((1, what));
    }
    let after = written_by(model, id, wrong);
    let was = |key: &String| before.0.get(key);
    let kept = |key: &String, newest: &Newest| was(key).is_some_and(|was| was.may_be(newest));
    let new = after.0.iter().find(|(key, newest)| !kept(key, newest));
    let gone = before.0.iter().filter(|(key, _)| !after.0.contains_key(*key));
    let (let_go, lost): (Vec<_>, Vec<_>) = gone.partition(|(_, newest)| newest.may_be_deleted());
    if new.is_some() || !lost.is_empty() {
        let (keys_in, keys_out) = (before.0.len(), after.0.len());
        let was = new.and_then(|(key, _)| was(key));
        let lost = lost.first();
        let what = format!(
            "job {id} replaced {keys_in} keys by {keys_out}: lost {lost:?}, new {new:?}, where {was:?} was"
        );
        wrong.push((1, what));
    }
    let early = upserts::let_go(model, id, job, &let_go);
    wrong.extend(early.into_iter().map(|what| (1, what)));
}

/// The rows of a job's outputs, as they lie in the store.
fn written_by(model: &Model, id: u64, wrong: &mut Wrong) -> Upserts {
    let mut after = Upserts::default();
    for (path, bytes) in model.outputs(id) {
        let written = model.content(&path, None);
        let rows = written.filter(|content| content.len() as u64 == bytes && !model.is_missing(&path));
        let Some(rows) = rows.and_then(|content| crate::rows::parse(content)) else {
            wrong.push((1, format!("output {path} of job {id} is not in the store")));
            continue;
        };
        for row in rows {
            if after.0.contains_key(&row.0) {
                wrong.push((1, format!("job {id} wrote {} twice", row.0)));
            }
            after.meet(0, [row]);
        }
    }
    after
}

/// What an attempt wrote nobody else writes: two under one name would be taken for each other, and deleted for each other.
pub(crate) fn written(model: &Model, by: Option<&str>, path: &str) -> Option<String> {
    let by_attempt = ["_baler/staging/", "tables/"]
        .iter()
        .any(|folder| path.starts_with(folder));
    let outside = by.is_none() && model.spoiled.contains(path);
    let author = model.author(path).filter(|_| by_attempt && !outside)?;
    (Some(author) != by).then(|| format!("{path} was written by {author}, and again by {by:?}"))
}

/// Retention drops a file only when its newest row is past the limit, on the store's clock.
fn expired(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    let limit_ms = model
        .retention_ms
        .map(|length| (model.last_ms.saturating_sub(length)) as i64);
    for path in crate::model::paths_of(&at.body["paths"]) {
        let newest_ms = model.live.get(&path).and_then(|file| file.newest_ms);
        if newest_ms.is_none_or(|newest| limit_ms.is_none_or(|limit| newest > limit)) {
            wrong.push((
                1,
                format!("{path} is dropped, its newest row is of {newest_ms:?}, the limit is {limit_ms:?}"),
            ));
        }
    }
}

/// A file is let go only if somebody outside overwrote or removed it.
fn lost(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    for path in crate::model::paths_of(&at.body["paths"]) {
        if model.meddled_at(&path, model.live.get(&path)).is_none() {
            wrong.push((1, format!("{path} is let go, and nobody has touched it")));
        }
    }
}

/// At the end: the rows of all live files, as they lie in the store, are those that were handed over.
pub(crate) fn at_end(model: &Model, objects: &Objects, wrong: &mut Wrong) {
    let mut found = Upserts::default();
    for (path, file) in &model.live {
        let version = objects.get(&format!("{PREFIX}/{path}"));
        let whole = version.filter(|version| file.tag.as_ref().is_none_or(|tag| *tag == version.tag));
        let rows = match model.meddled_at(path, Some(file)) {
            // Nobody has had to look at it since somebody outside took it away.
            Some(_) => model.rows(path, file.tag.as_deref()),
            None => whole.and_then(|version| crate::rows::parse(&version.bytes)),
        };
        let Some(rows) = rows else {
            wrong.push((1, format!("live file {path} is not in the store")));
            continue;
        };
        found.meet(file.came, rows);
    }
    wrong.extend(upserts::odd_one(model, &found).map(|what| (1, what)));
}
