//! Shows how far a merge is, and tells it to stop. Reading is one half of the work and writing the other: rows
//! may lie on disk between the two.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use baler_core::request::Grant;

use crate::desk::{End, Held, Phase, Progress as Told};
use crate::report::ProgressView;

/// One merge's share of the progress that is shown, in bytes of its inputs.
pub(super) struct Meter {
    progress: ProgressView,
    drain: Arc<AtomicBool>,
    held: Arc<Held>,
    bytes: u64,
    rows: u64,
    written: AtomicU64,
    shown: AtomicU64,
}

impl Meter {
    /// For a merge that ends early once it is asked to, or its lease is over.
    pub(super) fn new(
        progress: ProgressView,
        grant: &Grant,
        drain: Arc<AtomicBool>,
        held: Arc<Held>,
    ) -> Self {
        // Ranges were cut to be about equal.
        let ranges = grant.job.ranges.len().max(1) as u64;
        let (bytes, rows) = (grant.job.bytes() / ranges, grant.job.rows() / ranges);
        progress.expect(bytes);
        held.expect(bytes);
        Self {
            progress,
            drain,
            held,
            bytes,
            rows,
            written: AtomicU64::new(0),
            shown: AtomicU64::new(0),
        }
    }

    /// So many bytes of an output were written. Outputs are hardly ever larger than their inputs.
    pub(super) fn wrote(&self, bytes: u64) {
        self.held.wrote(bytes);
        let before = self.written.fetch_add(bytes, Ordering::Relaxed).min(self.bytes);
        let after = (before + bytes).min(self.bytes);
        self.show(after / 2 - before / 2);
    }

    /// A child process was there, and is here now.
    pub(super) fn relay(&self, before: &Told, now: &Told) {
        if before.phase != now.phase {
            self.enter(now.phase);
        }
        if now.rows > before.rows {
            self.advanced(now.rows - before.rows);
        }
        if now.bytes > before.bytes {
            self.wrote(now.bytes - before.bytes);
        }
    }

    /// It does something else now.
    pub(super) fn enter(&self, phase: Phase) {
        self.held.enter(phase);
    }

    /// It moved, if only a little.
    pub(super) fn step(&self) {
        self.held.step();
    }

    /// Bytes of outputs written so far.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// It came to its end.
    pub(super) fn complete(&self) {
        self.progress
            .advance(self.bytes.saturating_sub(self.shown.load(Ordering::Relaxed)));
    }

    /// It came to nothing.
    pub(super) fn take_back(&self) {
        self.progress
            .take_back(self.shown.load(Ordering::Relaxed), self.bytes);
    }

    fn show(&self, bytes: u64) {
        self.shown.fetch_add(bytes, Ordering::Relaxed);
        self.held.worked_off(bytes);
        self.progress.advance(bytes);
    }
}

impl Meter {
    /// So many rows were read.
    pub(super) fn advanced(&self, rows: u64) {
        self.held.read(rows);
        let share = u128::from(self.bytes) * u128::from(rows) / u128::from(self.rows.max(1)) / 2;
        self.show(u64::try_from(share).unwrap_or(u64::MAX));
    }

    /// Whether it is to stop because it moved nothing for too long.
    pub(super) fn is_stalled(&self) -> bool {
        self.held.ended() == Some(End::Stalled)
    }

    /// Whether to stop.
    pub(super) fn is_cancelled(&self) -> bool {
        self.drain.load(Ordering::Relaxed) || self.held.ended().is_some()
    }
}
