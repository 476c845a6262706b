//! The only thing that is ever agreed on: an ordered row of batches, and the loop that every process shares to add to
//! it.
//!
//! ```text
//!  Request ─▶ Replica: catch up ─▶ decide ─▶ append ─▶ apply ─▶ Reply
//!                                              │
//!                                           Journal: slots, each filled once
//!                                              ├─ memory       tests
//!                                              └─ object_log   numbered objects in a Store, create-if-absent
//! ```
//!
//! Any number of replicas may run at once; the append decides who was first. The modules are in reading order.

pub mod host;
pub mod limits;

pub mod checksum;
pub mod entry;
pub mod error;

pub mod counters;
pub mod journal;

pub mod snapshot;

pub mod memory;
pub mod object_log;
pub mod store;

pub mod replica;

pub mod mending;

pub mod steps;

pub mod conformance;

mod backoff;

pub use error::JournalError;
pub use journal::{Appended, Journal, Position};
pub use memory::MemoryJournal;
pub use object_log::{Access, ObjectLog, Upgraded, upgrade};
pub use replica::Replica;
