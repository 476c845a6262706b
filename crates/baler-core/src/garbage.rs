//! What is to be deleted. Deletion follows these durable, positive lists, never a pattern or "what I don't know".
//!
//! ```text
//! plain table   replaced ─▶ ToSetAside ─(renamed aside)─▶ Waiting ─(grace)─▶ Due ─(deleted)─▶ forgotten
//! native table  replaced ───────────────────────────────▶ Waiting ─(grace)─▶ Due ─(deleted)─▶ forgotten
//! leftover      found by a sweep of an ended attempt ────────────────────▶ Due ─(deleted)─▶ forgotten
//! ```
//!
//! Once something is `Due` nobody may add, pin or bring it back: it may be gone at any moment.

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::file::{FilePath, Identity};
use crate::ids::{PinId, Sequence, TableName};
use crate::names::Attempt;
use crate::state::Pin;

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
        pins.iter().any(|(id, pin)| {
            let shows = self.added <= id.version && id.version < self.replaced;
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
    /// In its grace period.
    Waiting,
    /// On a durable deletion list.
    Due,
}

/// An ended attempt whose folder may still hold objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Leftover {
    /// The attempt.
    pub attempt: Attempt,
    /// The entry that ended it, or in which it was last seen with something in it.
    pub since: Sequence,
    /// Whether a sweep since then found nothing. A second one, a grace period later, forgets it.
    pub swept: bool,
}
