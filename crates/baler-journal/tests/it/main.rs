//! Everything the journal is tested on, in one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod backends;
mod golden;
mod levels;
mod mending;
mod probe;
mod snapshots;
mod world;
