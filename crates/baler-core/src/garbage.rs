//! What is to be deleted. Deletion follows these durable, positive lists, never a pattern or "what I don't know".
//!
//! ```text
//! plain, in a directory   replaced ─▶ ToSetAside ─(renamed aside)─▶ Waiting ─(grace)─▶ Due ─(deleted)─▶ forgotten
//! plain, on a store       replaced ─▶ Ripe ──────────────────────────────────────────▶ Due ─(deleted)─▶ forgotten
//! undone                  ToSetAside or Waiting ─▶ Returning ─(copied back)─▶ Waiting, for what was set aside
//! native                  replaced, expired, dropped ─▶ Waiting ─(grace, no pin)─────▶ Due ─(deleted)─▶ forgotten
//! leftover                found by a sweep of an ended attempt ──────────────────────▶ Due ─(deleted)─▶ forgotten
//! ```
//!
//! In a plain table on a store nothing can be renamed out of sight, and whoever lists the folder sees a replaced file
//! beside the output that holds its rows: it goes without a grace period. `Replaced` says which way a table goes.
//!
//! A file with an `original` that Baler did not name is deleted only in that version: on a store by a conditional delete,
//! in a directory by renaming it aside, comparing it and putting it back if it is another (for a native table under
//! `names::aside_when_due`, when it is due). Either way it is then reported as deleted: whatever lies under the name now
//! is somebody's new file, and the next listing or `add` may take it. Where the store can do neither, the table says
//! `Replaced::Remember`: the version stays known as consumed and nobody deletes it.
//!
//! Once something is `Due` nobody may add, pin or bring it back: it may be gone at any moment.

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::file::{FilePath, Identity};
use crate::ids::{JournalId, PinId, Sequence, TableName};
use crate::names::Attempt;
use crate::state::{Pin, State};
use crate::time::{Millis, StoreTime};

/// An object on its way out. The state files it under the name that will be deleted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Garbage {
    /// Whose it was.
    pub table: TableName,
    /// How far it is.
    pub stage: Stage,
    /// The entry in which its present stage began.
    pub since: Sequence,
    /// The versions of the table that show it: from this entry, up to but without `replaced`.
    pub added: Sequence,
    /// The entry that replaced it.
    pub replaced: Sequence,
    /// For a replaced file: where it lay, and which version was consumed. `None` for what an attempt left behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Original>,
}

impl Garbage {
    /// Whether a reader has pinned a version that shows it.
    pub fn is_pinned(&self, pins: &OrdMap<PinId, Pin>) -> bool {
        pins.values().any(|pin| {
            let shows = self.added <= pin.version && pin.version < self.replaced;
            pin.table == self.table && shows
        })
    }
}

/// A replaced file, as it was consumed. One that Baler did not name may be deleted only in this version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Original {
    /// Where it lay.
    pub path: FilePath,
    /// The version whose rows are in the outputs. Any other version found there is somebody's new data.
    pub identity: Identity,
}

/// How far an object is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// To be renamed out of the readers' sight.
    ToSetAside,
    /// In the sight of readers who list, beside the outputs that hold its rows: to be declared due without grace.
    Ripe,
    /// In its grace period.
    Waiting,
    /// On a durable deletion list.
    Due,
    /// Set aside, and to be copied back: an undo made the file live again.
    Returning,
}

/// An ended attempt whose folders may still hold objects. What it was right to write, the outputs of a finished range,
/// belongs to the job or the table and is no leftover.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leftover {
    /// The attempt.
    pub attempt: Attempt,
    /// The table it worked for.
    pub table: TableName,
    /// The entry that ended it, or in which it was last seen with something in it.
    pub since: Sequence,
    /// Whether a sweep since then found nothing. A second one, a grace period later, forgets it.
    pub swept: bool,
}

impl Leftover {
    /// Whether nobody but this attempt can have written this path.
    pub fn may_hold(&self, journal: Option<JournalId>, path: &FilePath) -> bool {
        let written = |journal| self.attempt.may_have_written(journal, &self.table, path);
        self.attempt.may_have_left(path) || journal.is_some_and(written)
    }
}

/// Whether, by this machine's clock, a grace period is over that the state's time has not seen end. Only then is it
/// worth an entry to ask the store for the present. When the last entry was written is not in the state yet: it was not
/// before the state's time.
pub fn would_be_ripe(state: &State, now: StoreTime) -> bool {
    let over = |since, table: &_| {
        let table = state.tables.get(table);
        let length = table.map_or(Millis(0), |table| table.spec.grace.between_stamps());
        let began = state.began(since).unwrap_or(state.time);
        began + length <= now && !state.has_passed(length, since)
    };
    let garbage = state
        .garbage
        .values()
        .any(|item| item.stage == Stage::Waiting && over(item.since, &item.table));
    let swept = |leftover: &Leftover| leftover.swept && over(leftover.since, &leftover.table);
    // A reader that died leaves a promise that nobody takes back: only the present shows that it is over.
    let ended = |(pin, promise): (&PinId, &Pin)| {
        let began = state.began(pin.entry).unwrap_or(state.time);
        began + promise.lifetime <= now && !state.has_passed(promise.lifetime, pin.entry)
    };
    let held = || {
        let mut garbage = state.garbage.iter();
        garbage.any(|(path, item)| match crate::planted!(PinEndsUnseen) {
            true => item.is_pinned(&state.pins),
            false => state.is_pinned(path, item),
        })
    };
    garbage || state.leftovers.values().any(swept) || (state.pins.iter().any(ended) && held())
}
