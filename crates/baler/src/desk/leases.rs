//! The attempts that a process has under way: whether each is still its own, and whether it still moves. Liveness and
//! progress are watched apart: a ticker keeps a hung attempt alive for ever, and progress alone would take a slow one
//! away from those who work on it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baler_core::ids::{Sequence, Token};
use baler_core::names::Attempt;
use tokio::sync::watch;
use tokio::time::Instant;

use super::words::{Phase, Progress};

/// Why an attempt is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its lease is not held any more, or nobody answers for it.
    Lost,
    /// It has moved nothing for too long.
    Stalled,
}

/// The attempts under way.
#[derive(Debug, Default)]
pub struct Leases {
    held: Mutex<BTreeMap<(Sequence, u32), Arc<Held>>>,
}

/// One attempt under way.
#[derive(Debug)]
pub struct Held {
    /// Which.
    pub attempt: Attempt,
    end: watch::Sender<Option<End>>,
    phase: Mutex<Phase>,
    rows: AtomicU64,
    bytes: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
    steps: AtomicU64,
    /// The steps last seen by the watchdog, and since when.
    seen: Mutex<(u64, Instant)>,
    /// When somebody was last asked who said that the lease is held.
    confirmed: Mutex<Instant>,
}

/// Keeps an attempt among those under way until it is dropped.
#[derive(Debug)]
pub struct Holding {
    leases: Arc<Leases>,
    held: Arc<Held>,
}

impl Holding {
    /// The attempt.
    pub fn held(&self) -> &Arc<Held> {
        &self.held
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.leases.map().remove(&key(self.held.attempt.token));
    }
}

impl Leases {
    /// An attempt begins.
    pub fn take(self: &Arc<Self>, attempt: Attempt) -> Holding {
        let held = Arc::new(Held {
            attempt,
            end: watch::Sender::new(None),
            phase: Mutex::default(),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            seen: Mutex::new((0, Instant::now())),
            confirmed: Mutex::new(Instant::now()),
        });
        self.map().insert(key(attempt.token), held.clone());
        Holding {
            leases: self.clone(),
            held,
        }
    }

    /// All that are under way.
    pub fn all(&self) -> Vec<Arc<Held>> {
        self.map().values().cloned().collect()
    }

    /// Ends those that have moved nothing for this long. Answers how many.
    pub fn end_stalled(&self, stall: Duration) -> usize {
        let stalled = self.all().into_iter().filter(|held| held.stands_still(stall));
        stalled.filter(|held| held.end(End::Stalled)).count()
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<(Sequence, u32), Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Has it stop. The first reason counts; answers whether this was it.
    pub fn end(&self, why: End) -> bool {
        self.end.send_if_modified(|end| {
            let first = end.is_none();
            end.get_or_insert(why);
            first
        })
    }

    /// Why it is to stop, if it is.
    pub fn ended(&self) -> Option<End> {
        *self.end.borrow()
    }

    /// Returns once it is to stop.
    pub async fn until_ended(&self) {
        let mut end = self.end.subscribe();
        // The sender lives as long as `self`.
        let _ = end.wait_for(Option::is_some).await;
    }

    /// Somebody who was asked then has said that the lease is held.
    pub fn confirm(&self, asked: Instant) {
        let mut confirmed = self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        *confirmed = asked.max(*confirmed);
    }

    /// How long ago somebody was asked who said that the lease is held.
    pub fn unconfirmed_for(&self) -> Duration {
        let confirmed = self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        confirmed.elapsed()
    }

    /// It does something else now.
    pub fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        self.step();
    }

    /// It moved, if only a little.
    pub fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it moved.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// It read rows.
    pub fn read(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.step();
    }

    /// It wrote bytes of its outputs.
    pub fn wrote(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.step();
    }

    /// It is about so many bytes of its inputs.
    pub fn expect(&self, bytes: u64) {
        self.total.store(bytes, Ordering::Relaxed);
    }

    /// So many more of them are worked off.
    pub fn worked_off(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress {
            phase: *self.phase.lock().unwrap_or_else(PoisonError::into_inner),
            rows: self.rows.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
        }
    }

    fn stands_still(&self, stall: Duration) -> bool {
        let steps = self.steps();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 != steps {
            *seen = (steps, Instant::now());
        }
        seen.1.elapsed() >= stall
    }
}

fn key(token: Token) -> (Sequence, u32) {
    (token.sequence, token.index)
}

#[cfg(test)]
mod tests {
    use baler_core::ids::{JobId, RangeId};

    use super::*;

    const STALL: Duration = Duration::from_secs(600);

    fn attempt(index: u32) -> Attempt {
        Attempt {
            job: JobId(1),
            range: RangeId::Keys(0),
            token: Token {
                sequence: Sequence(7),
                index,
            },
        }
    }

    /// Trap: a plain ticker keeps a hung attempt alive for ever, and a watchdog that looks at bytes alone ends a slow one.
    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_moves_nothing_ends_and_a_slow_one_does_not() {
        let leases = Arc::new(Leases::default());
        let (hung, slow) = (leases.take(attempt(0)), leases.take(attempt(1)));
        for _ in 0..4 {
            tokio::time::advance(STALL / 3).await;
            slow.held().step();
            leases.end_stalled(STALL);
        }
        assert_eq!(hung.held().ended(), Some(End::Stalled));
        assert_eq!(slow.held().ended(), None);
        hung.held().until_ended().await;
    }

    #[tokio::test]
    async fn an_attempt_that_is_over_is_not_under_way() {
        let leases = Arc::new(Leases::default());
        let first = leases.take(attempt(0));
        let second = leases.take(attempt(1));
        drop(first);
        let left: Vec<Attempt> = leases.all().iter().map(|held| held.attempt).collect();
        assert_eq!(left, [second.held().attempt]);
        assert!(second.held().end(End::Lost));
        assert!(!second.held().end(End::Stalled), "the first reason counts");
        assert_eq!(second.held().ended(), Some(End::Lost));
    }
}
