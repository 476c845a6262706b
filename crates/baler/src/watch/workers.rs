//! The workers that have asked here for work, as they were last heard of. For people to look at: nothing is decided by it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baler_core::ids::WorkerId;
use baler_core::request::Memory;
use tokio::time::Instant;

use crate::desk::Spent;

/// Workers that are remembered.
const WORKERS_MAX: usize = 10_000;

/// A worker that was not heard of for this long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// The workers that have asked here for work.
#[derive(Debug, Default)]
pub struct Workers {
    seen: Mutex<BTreeMap<WorkerId, WorkerSeen>>,
}

/// A worker, as it was last heard of.
#[derive(Clone, Copy, Debug)]
pub struct WorkerSeen {
    /// When.
    pub heard: Instant,
    /// Attempts that it could begin; `None` before it asked for work.
    pub slots_free: Option<usize>,
    /// Memory that it had for them.
    pub memory_free_bytes: Option<u64>,
    /// What it has asked of stores; `None` for the worker of this very process, whose requests are counted here.
    pub spent: Option<Spent>,
}

impl Workers {
    /// A worker asks for work for so many slots.
    pub fn asks(&self, worker: &WorkerId, slots_free: usize, memory: Option<&Memory>) {
        self.hear(worker, |seen| {
            seen.slots_free = Some(slots_free);
            seen.memory_free_bytes = memory.map(|memory| memory.free_bytes);
        });
    }

    /// A worker elsewhere says what it has asked of stores so far.
    pub fn spent(&self, worker: &WorkerId, spent: Spent) {
        self.hear(worker, |seen| seen.spent = Some(spent));
    }

    /// All that are remembered.
    pub fn all(&self) -> BTreeMap<WorkerId, WorkerSeen> {
        let mut seen = self.map();
        forget_old(&mut seen);
        seen.clone()
    }

    fn hear(&self, worker: &WorkerId, note: impl FnOnce(&mut WorkerSeen)) {
        let mut seen = self.map();
        if seen.len() >= WORKERS_MAX && !seen.contains_key(worker) {
            forget_old(&mut seen);
            if seen.len() >= WORKERS_MAX {
                return;
            }
        }
        let entry = seen.entry(worker.clone()).or_insert(WorkerSeen {
            heard: Instant::now(),
            slots_free: None,
            memory_free_bytes: None,
            spent: None,
        });
        entry.heard = Instant::now();
        note(entry);
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<WorkerId, WorkerSeen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_old(seen: &mut BTreeMap<WorkerId, WorkerSeen>) {
    seen.retain(|_, worker| worker.heard.elapsed() < FORGOTTEN_AFTER);
}
