//! The state as bytes: one zstd stream of length-delimited protobuf messages.
//!
//! ```text
//! Header                      format, journal, sequence, the entry's checksum
//! Record, Record, …           a table, then its partitions with their files, …
//! Trailer                     how many records, and the checksum of all bytes before it
//! ```
//!
//! It is read and written record by record, so that a million files never stand in memory twice.

mod convert;
mod read;
mod records;
mod stream;
mod write;

use baler_core::ids::Sequence;

use crate::error::JournalError;

pub use read::{read, verify};
pub use write::write;

fn damaged(at: Sequence, why: impl Into<String>) -> JournalError {
    JournalError::Damaged {
        what: snapshot_name(at),
        why: why.into(),
    }
}

pub(crate) fn snapshot_name(at: Sequence) -> String {
    format!("the snapshot of entry {at}")
}
