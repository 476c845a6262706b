//! Guarantee 5: nothing that a live or pinned version shows is put on the deletion list, and whoever reads one meets no
//! missing file.

use super::Wrong;
use crate::model::{Model, paths_of};
use crate::oracle::At;

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

/// A reader met nothing where a file should be.
pub(crate) fn missing(model: &Model, pin: (u64, u32), path: &str, now_ms: u64) -> Option<String> {
    let held = model.pins.get(&pin).filter(|pin| model.is_held(pin, now_ms))?;
    let outside = model.meddled_at(path, held.shows.get(path)).is_some();
    (!outside).then(|| format!("{path} is missing, and pin {pin:?} shows it"))
}
