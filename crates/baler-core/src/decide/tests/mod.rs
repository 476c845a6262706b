//! Stories of the state machine: given these events, when this is asked, then this is decided.
//!
//! A story is told in whole entries. Every entry is checked against the invariants, and every story is replayed from
//! its written form at each step: the same events must give the same state.

mod fixtures;
mod story;

mod files;
mod native;
mod planning;
mod tables;

mod admission;
mod agenda;
mod pausing;
mod pressure;
mod proposing;
mod queue;
mod routing;
mod shards;
mod turns;

mod completion;
mod drops;
mod external;
mod faults;
mod leases;
mod losses;
mod proof;
mod publishing;
mod ranges;
mod receipts;
mod undo;

mod collection;
mod pins;
mod replaced;
mod retention;
mod time;
mod versions;

mod walk;
