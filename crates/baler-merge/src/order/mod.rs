//! The merge order, found from the key columns alone. Pure: no file is read here and no other column is seen.
//!
//! ```text
//! key columns ──▶ Observed (each batch, any thread) ──▶ Layout (once a job) ──▶ Keys: u64, u128 or arrow's rows
//!                                                                               │
//!   lanes: sorted stretches, numbered in the order of their inputs ◀────────────┘
//!     │
//!     └──▶ Merger::next_window(rows) ──▶ Order: runs (lane, rows, kept or dropped) ──▶ Verifier, from the keys again
//! ```
//!
//! Each window takes the next rows of each lane, all of them, in lane order: an order says "three rows of lane 7, one of lane 2"
//! and needs no row numbers. Modules in reading order: keys (`keys`, `observe`, `layout`, `pack`, `visit`), lanes (`lanes`), the result
//! (`runs`), the merge (`merge`, `place`, `tree`, `chunk`, `cascade`, `judge`), its proof (`verify`), and the cutting of jobs (`ranges`).

mod keys;
mod layout;
mod observe;
mod pack;
mod visit;

mod lanes;
mod runs;

mod cascade;
mod chunk;
mod gallop;
mod judge;
mod merge;
mod place;
mod tree;

mod verify;

mod ranges;

pub(crate) use keys::{KeyBlock, Keys};
pub(crate) use lanes::{Blocks, KeyLane, descents, sort_order, taken};
pub(crate) use layout::Layout;
pub(crate) use merge::Merger;
pub(crate) use observe::Observed;
pub(crate) use ranges::{KeySpan, RangeFilter, Weight, cut, weights};
pub(crate) use runs::{Order, Run};
pub(crate) use verify::Verifier;

#[cfg(test)]
mod tests;
