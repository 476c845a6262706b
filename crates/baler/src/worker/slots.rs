//! The attempts that a process may have under way at once, and the memory for them. All its roots share one pool, whoever waits longest is next, and none gets
//! more than its share of it. Nobody holds a place while it only waits for work to come up, unless it is alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::memory::{Budget, Loan};
use crate::desk::Room;

/// All places of a process.
#[derive(Debug)]
pub struct Pool {
    places: Arc<Semaphore>,
    size: usize,
    per_root: usize,
    roots: AtomicUsize,
    waiting: AtomicUsize,
    budget: Arc<Budget>,
}

impl Pool {
    /// So many places, of which one root has at most so many, with so much memory for all of them.
    pub fn new(size: usize, per_root: usize, memory_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            budget: Budget::new(memory_bytes, size),
            places: Arc::new(Semaphore::new(size)),
            size,
            per_root: per_root.min(size),
            roots: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
        })
    }

    /// What one more root may take.
    pub fn share(self: &Arc<Self>) -> Slots {
        self.roots.fetch_add(1, Ordering::Relaxed);
        Slots {
            own: Arc::new(Semaphore::new(self.per_root)),
            pool: self.clone(),
        }
    }
}

/// What one root may take of a pool.
#[derive(Debug)]
pub struct Slots {
    pool: Arc<Pool>,
    own: Arc<Semaphore>,
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.pool.roots.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A place, for as long as it is held.
#[derive(Debug)]
pub struct Place {
    _pool: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
}

impl Slots {
    /// Whether other roots wait for the same places.
    pub fn is_shared(&self) -> bool {
        self.pool.roots.load(Ordering::Relaxed) > 1
    }

    /// Whether this root has not all that it may have.
    pub fn has_room(&self) -> bool {
        self.own.available_permits() > 0
    }

    /// Waits for a place, in turn; with it come those that nobody else waits for.
    pub async fn take(&self) -> Vec<Place> {
        let own = acquire(self.own.clone()).await;
        let waiting = Waiting::begin(&self.pool.waiting);
        let pool = acquire(self.pool.places.clone()).await;
        drop(waiting);
        let mut places = vec![Place {
            _pool: pool,
            _own: own,
        }];
        while self.pool.waiting.load(Ordering::Relaxed) == 0 && places.len() < self.pool.size {
            match self.try_take() {
                Some(place) => places.push(place),
                None => break,
            }
        }
        places
    }

    /// The memory that so many places may be offered for.
    pub fn lend(&self, places: usize) -> Loan {
        self.pool.budget.lend(places)
    }

    /// What one more place could be offered for now.
    pub fn room(&self) -> Room {
        self.pool.budget.room()
    }

    /// A place, if one is free now.
    pub fn try_take(&self) -> Option<Place> {
        let own = self.own.clone().try_acquire_owned().ok()?;
        let pool = self.pool.places.clone().try_acquire_owned().ok()?;
        Some(Place {
            _pool: pool,
            _own: own,
        })
    }
}

async fn acquire(from: Arc<Semaphore>) -> OwnedSemaphorePermit {
    let acquired = from.acquire_owned().await;
    acquired.expect("these are never closed")
}

/// Counts who waits, also where waiting is given up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_root_alone_takes_all_places_at_once() {
        let pool = Pool::new(4, 4, 1 << 30);
        let only = pool.share();
        assert!(!only.is_shared());
        assert_eq!(only.take().await.len(), 4);
        assert!(only.has_room());
    }

    #[tokio::test]
    async fn no_root_has_more_than_its_share() {
        let pool = Pool::new(4, 3, 1 << 30);
        let (greedy, other) = (pool.share(), pool.share());
        let held = greedy.take().await;
        assert_eq!(held.len(), 3);
        assert!(!greedy.has_room() && other.has_room() && other.is_shared());
        assert!(greedy.take().now_or_never().is_none());
        assert_eq!(other.take().await.len(), 1);
    }

    /// Trap: the root that asks first after a place is freed gets it, and that is always the busy one.
    #[tokio::test(start_paused = true)]
    async fn who_waits_longest_is_next() {
        let pool = Pool::new(1, 1, 1 << 30);
        let busy = pool.share();
        let mut turns = Vec::new();
        let mut held = busy.take().await;
        let (sender, mut said) = tokio::sync::mpsc::unbounded_channel();
        for quiet in 0..3 {
            let (slots, sender) = (pool.share(), sender.clone());
            tokio::spawn(async move {
                let place = slots.take().await;
                sender.send(quiet).unwrap();
                tokio::time::sleep(Duration::from_secs(1)).await;
                drop(place);
            });
            tokio::task::yield_now().await;
        }
        for _ in 0..2 {
            held.clear();
            held = busy.take().await;
            while let Ok(quiet) = said.try_recv() {
                turns.push(quiet);
            }
            turns.push(99);
        }
        assert_eq!(
            turns,
            [0, 1, 2, 99, 99],
            "everybody who waited came before the busy one's next"
        );
    }
}
