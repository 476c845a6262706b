//! Everything the journal is tested on, in one binary.

mod backends;
mod golden;
mod probe;
mod snapshots;
mod world;
