//! Guarantee 5: nothing that a live or pinned version shows is put on the deletion list, and whoever reads one meets no
//! missing file.

use std::collections::BTreeMap;

use super::Wrong;
use crate::model::{Model, paths_of};
use crate::oracle::At;
use crate::rows;
use crate::store::{Objects, PREFIX};
use crate::work::INBOX;

pub(super) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    if at.kind != "DeletionDue" {
        return;
    }
    // The pin's time begins at the store's, so it cannot be over before this.
    for path in paths_of(&at.body["paths"]) {
        for (id, pin) in &model.pins {
            if pin.shows.contains_key(&path) && model.is_held(pin, model.last_ms) {
                wrong.push((5, format!("{path} is due, but pin {id:?} shows it")));
            }
        }
    }
}

/// Whoever lists a folder meets each row at least once at any moment: Baler takes a file away only when others that are in
/// sight hold its rows, or newer ones.
pub(crate) fn in_sight(model: &Model, objects: &Objects, path: &str, tag: &str) -> Option<String> {
    let rows = model
        .rows(path, Some(tag))
        .filter(|_| model.in_place && !path.starts_with('_'))?;
    let below = format!("{PREFIX}/{INBOX}");
    let mut shown: BTreeMap<String, u64> = BTreeMap::new();
    for (_, version) in objects.below(&below) {
        for (key, version, _) in rows::parse(&version.bytes).unwrap_or_default() {
            let newest = shown.entry(key).or_insert(version);
            *newest = version.max(*newest);
        }
    }
    let shows = |key: &String, version: u64| shown.get(key).is_some_and(|shown| *shown >= version);
    // What was deleted is in sight no more, and neither is the tombstone once it was let go.
    let let_go = |key: &String, version: u64| model.let_go.get(key).is_some_and(|gone| *gone >= version);
    let hidden = rows
        .iter()
        .find(|(key, version, _)| !shows(key, *version) && !let_go(key, *version));
    hidden.map(|(key, _, _)| format!("{path} was deleted, and its row {key} is nowhere in sight"))
}

/// A reader met nothing where a file should be.
pub(crate) fn missing(model: &Model, pin: (u64, u32), path: &str, now_ms: u64) -> Option<String> {
    let held = model.pins.get(&pin).filter(|pin| model.is_held(pin, now_ms))?;
    let outside = model.meddled_at(path, held.shows.get(path)).is_some();
    (!outside).then(|| format!("{path} is missing, and pin {pin:?} shows it"))
}
