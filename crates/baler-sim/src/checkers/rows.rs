//! Guarantee 1: no row is lost, none is doubled, the newest wins. What a commit replaces is compared with what it puts in
//! its place, row by row, as both lie in the store; and at the end all rows are compared with all that were handed over.

use std::collections::BTreeMap;

use super::Wrong;
use crate::model::Model;
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
    let mut before = BTreeMap::new();
    for (path, planned) in job.inputs.iter().zip(&job.planned) {
        let tag = planned.as_ref().and_then(|file| file.tag.as_deref());
        let Some(rows) = model.rows(path, tag) else {
            wrong.push((
                1,
                format!("input {path} of job {id} was never whole in the store"),
            ));
            continue;
        };
        for (key, version, value) in rows {
            let newest = before.entry(key).or_insert((version, value.clone()));
            if newest.0 < version {
                *newest = (version, value);
            }
        }
    }
    let mut after = BTreeMap::new();
    for (path, bytes) in model.outputs(id) {
        let written = model.content(&path, None);
        let rows = written.filter(|content| content.len() as u64 == bytes && !model.is_missing(&path));
        let Some(rows) = rows.and_then(|content| crate::rows::parse(content)) else {
            wrong.push((1, format!("output {path} of job {id} is not in the store")));
            continue;
        };
        for (key, version, value) in rows {
            if after.insert(key.clone(), (version, value)).is_some() {
                wrong.push((1, format!("job {id} wrote {key} twice")));
            }
        }
    }
    if before != after {
        let lost = before.iter().find(|(key, row)| after.get(*key) != Some(row));
        let new = after.iter().find(|(key, row)| before.get(*key) != Some(row));
        wrong.push((
            1,
            format!(
                "job {id} replaced {} keys by {}: lost {lost:?}, new {new:?}",
                before.len(),
                after.len()
            ),
        ));
    }
}

/// What an attempt wrote nobody else writes: two under one name would be taken for each other, and deleted for each other.
pub(crate) fn written(model: &Model, by: Option<&str>, path: &str) -> Option<String> {
    let by_attempt = ["_baler/staging/", "tables/"]
        .iter()
        .any(|folder| path.starts_with(folder));
    let author = model.author(path).filter(|_| by_attempt)?;
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
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
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
        for (key, version, _) in rows {
            let newest = found.entry(key).or_insert(version);
            *newest = version.max(*newest);
        }
    }
    if found != model.expected {
        let lost = model
            .expected
            .iter()
            .find(|(key, version)| found.get(*key) != Some(version));
        let new = found
            .iter()
            .find(|(key, version)| model.expected.get(*key) != Some(version));
        wrong.push((
            1,
            format!(
                "{} keys handed over, {} there: lost {lost:?}, new {new:?}",
                model.expected.len(),
                found.len()
            ),
        ));
    }
}
