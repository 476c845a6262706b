//! What a journal and its replicas did, counted by purpose, for metrics and for tests that count requests.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub(crate) fn add_one(&self) {
        self.add(1);
    }

    /// So many more.
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub struct Counters {
    /// Batches offered to a slot, tries of the same one included.
    pub offers: Counter,
    /// Batches that were taken.
    pub commits: Counter,
    /// Slots that somebody else filled first.
    pub conflicts: Counter,
    /// Offers whose outcome was not known at first.
    pub unknown: Counter,
    /// Requests that shared their append with another.
    pub grouped: Counter,
    /// Times that it was looked for what is new.
    pub looks: Counter,
    /// Entries read, or looked for, when catching up.
    pub reads: Counter,
    /// Slots read back after an unclear answer.
    pub read_backs: Counter,
    /// Looks at the time of an entry.
    pub time_checks: Counter,
    /// Looks for a boundary.
    pub boundary_checks: Counter,
    /// Listings.
    pub lists: Counter,
    /// Snapshots written and verified.
    pub snapshots_written: Counter,
    /// Snapshots that could not be written.
    pub snapshots_failed: Counter,
    /// Snapshots loaded.
    pub snapshots_read: Counter,
    /// Entries and snapshots deleted.
    pub deletes: Counter,
}
