//! Guarantee 6: nothing is deleted that is not on a deletion list, nothing is put there that is still needed, and in the
//! end there is no object that nothing names.

use super::Wrong;
use crate::model::{Live, Model, paths_of};
use crate::oracle::At;
use crate::store::{Objects, PREFIX};

pub(super) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    match at.kind {
        "DeletionDue" => {
            for path in paths_of(&at.body["paths"]) {
                if model.live.contains_key(&path) {
                    wrong.push((6, format!("{path} is due, but live")));
                }
                let mut open = model.jobs.iter();
                let owner =
                    open.find(|(_, job)| job.finished.values().flatten().any(|output| output.0 == path));
                if let Some((id, _)) = owner {
                    wrong.push((6, format!("{path} is due, but job {id} counts on it")));
                }
            }
        }
        "FilesAdded" => {
            for file in at.body["files"].as_array().into_iter().flatten() {
                let path = crate::model::path_of(&file["path"]);
                if model.due.contains(&path) {
                    wrong.push((6, format!("{path} is added, but due to be deleted")));
                }
            }
        }
        _ => {}
    }
}

/// Baler removed an object. What it did not name itself goes only in a version that it has no more use for.
pub(crate) fn removed(model: &Model, path: &str, tag: &str) -> Option<String> {
    if !model.due.contains(path) {
        return Some(format!("{path} was deleted, and is not on the list"));
    }
    // Of two versions under one name the older may go while a job merges the newer.
    let counts_on = |(input, planned): (&String, &Option<Live>)| {
        input == path && planned.as_ref().and_then(|file| file.tag.as_deref()) == Some(tag)
    };
    let mut open = model.jobs.iter();
    if let Some((id, _)) = open.find(|(_, job)| job.inputs.iter().zip(&job.planned).any(counts_on)) {
        return Some(format!(
            "{path} was deleted, and job {id} that replaces it is not over"
        ));
    }
    let spent = model.spent.contains(&(path.to_owned(), Some(tag.to_owned())));
    (model.is_input(path) && !spent)
        .then(|| format!("{path} was deleted in version {tag}, which nobody has merged"))
}

/// At the end everything in the bucket is live, or Baler's own books.
pub(crate) fn at_end(model: &Model, objects: &Objects, wrong: &mut Wrong) {
    let below = format!("{PREFIX}/");
    for (key, version) in objects.below(&below) {
        let path = &key[below.len()..];
        let books = ["journal", "snapshots", "boundary", "format", "probed", "receipts"];
        let is_book = |path: &str| books.iter().any(|book| path.starts_with(book));
        let known = path.strip_prefix("_baler/").is_some_and(is_book) || model.live.contains_key(path);
        let outside = model.is_foreign(path, &version.tag);
        if !known && !outside && !model.quarantined.contains(path) {
            wrong.push((6, format!("{path} is an orphan")));
        }
    }
    for key in objects.open_uploads() {
        wrong.push((6, format!("an upload of {key} is left")));
    }
}
