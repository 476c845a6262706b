//! The merge order, found from the key columns alone. Pure: no file is read here and no other column is seen.
//!
//! ```text
//! key columns ──▶ Observed (each batch, any thread) ──▶ Layout (once a job) ──▶ Keys: u64, u128, or u128 and more
//!                                                                               │
//!   lanes: sorted stretches, numbered in the order of their inputs ◀────────────┘
//!     │
//!     └──▶ Merger::next_window(rows) ──▶ Order: runs (lane, rows, kept or dropped) ──▶ Verifier, from the keys again
//! ```
//!
//! Each window takes the next rows of each lane, all of them, in lane order: an order says "three rows of lane 7, one of lane 2"
//! and needs no row numbers. Modules in reading order: keys (`keys`, `forms`, `beginning`, `headed`, `observe`, `layout`, `field`, `pack`, `parts`,
//! `visit`), lanes (`lanes`), the result (`runs`), the merge (`merge`, `place`, `by_runs`, `tree`, `by_chunks`, `chunk`, `cascade`,
//! `tags`, `judge`), its proof (`verify`), and the cutting of jobs (`ranges`).

mod beginning;
mod field;
mod forms;
mod headed;
mod keys;
mod layout;
mod observe;
mod pack;
mod parts;
mod visit;

mod lanes;
mod runs;

mod by_chunks;
mod by_runs;
mod cascade;
mod chunk;
mod gallop;
mod judge;
mod merge;
mod place;
mod tags;
mod tree;

mod verify;

mod ranges;

pub(crate) use beginning::first_8;
pub(crate) use keys::{KeyBlock, Keys};
pub(crate) use lanes::{KeyLane, ascend, descents, sort_order};
pub(crate) use layout::Layout;
pub(crate) use merge::Merger;
pub(crate) use observe::Observed;
pub(crate) use ranges::{RangeFilter, Weight, cut};
pub(crate) use runs::{Order, Run};
pub(crate) use verify::Verifier;

#[cfg(test)]
mod tests;
