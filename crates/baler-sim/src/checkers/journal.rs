//! Guarantee 4: what was acknowledged stays. The journal is one chain of entries, none is removed before its block is
//! retired, and none comes back.

use serde_json::Value;

use crate::model::Model;

/// Entries that are retired together in the simulator.
pub(crate) const BLOCK: u64 = 24;

/// An entry that is new.
pub(crate) fn follows(model: &Model, number: u64, lines: &[Value]) -> Option<String> {
    if number != model.next {
        return Some(format!(
            "entry {number} was written, but {} comes next",
            model.next
        ));
    }
    let parent = lines[0]["parent"].as_str();
    let fits = model.seal.is_none() || parent == model.seal.as_deref();
    (!fits).then(|| format!("entry {number} has another parent than entry {}", number - 1))
}

/// An entry in a slot that was filled before. Only a retired slot can be empty again, and nobody may follow it there.
pub(crate) fn belated(model: &Model, number: u64) -> Option<String> {
    let retired = model.boundaries.contains(&(number / BLOCK));
    (!retired).then(|| format!("entry {number} was written a second time"))
}

/// An entry that is gone.
pub(crate) fn removed(model: &Model, number: u64) -> Option<String> {
    let retired = model.boundaries.contains(&(number / BLOCK));
    (!retired).then(|| format!("entry {number} was deleted, and its block is not retired"))
}

/// Somebody was told that files are in the table.
pub(crate) fn acknowledged(model: &Model, path: &str, tag: &str) -> Option<String> {
    let there = model.added.contains(&(path.to_owned(), Some(tag.to_owned())));
    (!there).then(|| format!("{path} was acknowledged, and no entry adds it"))
}
