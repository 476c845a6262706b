//! What a worker has done so far, for those who look on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::desk::DeskError;

/// What a worker has done so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Attempts under way.
    pub running: AtomicU64,
    /// Jobs committed.
    pub committed: AtomicU64,
    /// Bytes of the files that its jobs replaced.
    pub bytes_in: AtomicU64,
    /// Bytes of the files that replaced them.
    pub bytes_out: AtomicU64,
    /// Attempts that its machine or the store failed.
    pub faults: AtomicU64,
    /// Attempts begun.
    pub begun: AtomicU64,
    /// Polls that nobody answered.
    pub unanswered: AtomicU64,
    /// Why the last poll was not answered, if it was not.
    unreachable: Mutex<Option<String>>,
}

impl Tally {
    /// Why the last poll was not answered, if it was not.
    pub fn unreachable_for(&self) -> Option<String> {
        self.unreachable
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn polled(&self, error: Option<&DeskError>) {
        self.unanswered
            .fetch_add(u64::from(error.is_some()), Ordering::Relaxed);
        let mut unreachable = self.unreachable.lock().unwrap_or_else(PoisonError::into_inner);
        *unreachable = error.map(ToString::to_string);
    }
}
