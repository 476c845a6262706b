//! What a worker works with: the same for every attempt, wherever the work comes from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::attempt::{Attempt, Outcome};
use crate::desk::{Assignment, Desk, DeskError};
use crate::report::ProgressView;
use crate::site::Site;

/// What a worker works with.
#[derive(Clone, Debug)]
pub struct Hands {
    /// Where it tells what became of its attempts.
    pub desk: Arc<dyn Desk>,
    /// Where the files lie.
    pub site: Site,
    /// Threads for each merge.
    pub threads: usize,
    /// Memory for each merge.
    pub memory_bytes: u64,
    /// Shows how far it is.
    pub progress: ProgressView,
    /// Once set, attempts end soon and give back what is not finished.
    pub drain: Arc<AtomicBool>,
    /// Bytes that attempts wrote for nothing.
    pub wasted: Arc<AtomicU64>,
}

impl Hands {
    /// Whether to begin nothing new.
    pub fn is_draining(&self) -> bool {
        self.drain.load(Ordering::Relaxed)
    }

    /// Begins an attempt. Its lease is held from now on.
    pub fn begin(&self, assignment: Assignment) -> impl Future<Output = Result<Outcome, DeskError>> + use<> {
        Attempt::new(self.clone(), assignment).run()
    }
}
