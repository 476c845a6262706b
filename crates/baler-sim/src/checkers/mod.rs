//! The guarantees, one file each. Each looks at an event before it is applied to the account, or at the end of a run.
//!
//! | guarantee | file |
//! |---|---|
//! | 1 no row lost or doubled, the newest wins, what was deleted stays so | `rows`, `upserts` |
//! | 2 each input replaced once, nothing resurrected | `replaced` |
//! | 3 one live lease for a file and range, only current tokens count | `leases` |
//! | 4 what was acknowledged stays, the journal is one chain | `journal` |
//! | 5 readers never meet a missing file | `readers` |
//! | 6 deletion follows the list, no orphan at the end | `deletion` |
//! | 7 final states are final, and a fixed point is reached; nobody loses its work with its watcher | `endings`, `watchers` |
//! | 8 bounds | `bounds` |
//! | 9 no clock decides | `clocks` |
//!
//! `receipts` looks at what users are told afterwards.

pub(crate) mod bounds;
pub(crate) mod clocks;
pub(crate) mod deletion;
pub(crate) mod endings;
pub(crate) mod journal;
pub(crate) mod leases;
pub(crate) mod readers;
pub(crate) mod receipts;
pub(crate) mod replaced;
pub(crate) mod rows;
mod upserts;
pub(crate) mod watchers;

use crate::model::Model;
use crate::oracle::At;

/// What is wrong: the guarantee, and what was seen.
pub(crate) type Wrong = Vec<(u8, String)>;

/// Looks at an event before it counts.
pub(crate) fn event(model: &Model, at: At<'_>, wrong: &mut Wrong) {
    rows::event(model, at, wrong);
    replaced::event(model, at, wrong);
    leases::event(model, at, wrong);
    watchers::event(model, at, wrong);
    readers::event(model, at, wrong);
    deletion::event(model, at, wrong);
    endings::event(model, at, wrong);
}
