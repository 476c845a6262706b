//! What a user is told of a job afterwards: in the end each committed job has one receipt, about the files that it replaced, and only
//! those of undone jobs are marked as such.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Wrong;
use crate::model::Model;
use crate::store::{Objects, PREFIX};

/// At the end every committed job has a receipt, and every receipt such a job.
pub(crate) fn at_end(model: &Model, objects: &Objects, wrong: &mut Wrong) {
    let below = format!("{PREFIX}/_baler/receipts/");
    let mut found = BTreeSet::new();
    for (key, version) in objects.below(&below) {
        let name = key.rsplit('/').next().unwrap_or_default();
        let Some(job) = name.split('-').next().and_then(|number| number.parse().ok()) else {
            wrong.push((7, format!("{key} is no receipt")));
            continue;
        };
        let commit = model.commits.get(&job);
        if name.ends_with(".undone") {
            if commit.is_none_or(|commit| !commit.undone) {
                wrong.push((7, format!("{key} marks a job that was not undone")));
            }
            continue;
        }
        found.insert(job);
        if model.ended.get(&job).map(String::as_str) != Some("committed") {
            wrong.push((7, format!("{key} is about a job that was not committed")));
        }
        let told = inputs(&version.bytes);
        let replaced = commit.into_iter().flat_map(|commit| &commit.inputs);
        let replaced: BTreeSet<String> = replaced.map(|(path, _)| path.clone()).collect();
        if told.as_ref() != Some(&replaced) {
            wrong.push((7, format!("{key} tells of {told:?}, replaced were {replaced:?}")));
        }
    }
    for (job, how) in &model.ended {
        if how == "committed" && !found.contains(job) {
            wrong.push((7, format!("job {job} was committed and has no receipt")));
        }
    }
}

/// The paths that a receipt says were merged.
fn inputs(receipt: &[u8]) -> Option<BTreeSet<String>> {
    let receipt: Value = serde_json::from_slice(receipt).ok()?;
    let paths = receipt["inputs"].as_array()?.iter();
    paths
        .map(|input| Some(input["path"].as_str()?.to_owned()))
        .collect()
}
