//! Signs of life. This process answers for the leases that it took: while it has some it raises its counter in the
//! journal, and it watches the counters of others on its own monotonic clock.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use baler_core::ids::{Sequence, Token, WatcherId};
use baler_core::lease::{HostLock, Watcher};
use baler_core::request::{Reply, Request};

use crate::folder::lock::{self, WatcherLock};
use crate::root::Root;

/// This process as a watcher.
#[derive(Debug)]
pub struct Watch {
    root: Arc<Root>,
    id: WatcherId,
    lease: Duration,
    lock: Mutex<Option<WatcherLock>>,
    /// Attempts of this process, and whether their lease was lost.
    leases: Mutex<BTreeMap<(Sequence, u32), Arc<AtomicBool>>>,
    /// Other watchers: the counter last seen, and since when.
    others: Mutex<BTreeMap<WatcherId, (Sequence, Instant)>>,
}

impl Watch {
    /// A watcher with an id of its own, new at each start.
    pub fn new(root: Arc<Root>, lease: Duration) -> Self {
        let id = WatcherId(rand::random());
        Self {
            root,
            id,
            lease,
            lock: Mutex::default(),
            leases: Mutex::default(),
            others: Mutex::default(),
        }
    }

    /// Its id.
    pub fn id(&self) -> WatcherId {
        self.id
    }

    /// The lock that shows others on this machine that this process lives. Taken with the first lease, so that a run
    /// with nothing to do leaves no trace.
    pub fn host(&self) -> Result<Option<HostLock>> {
        let Some(folder) = self.root.site.root.as_folder() else {
            return Ok(None);
        };
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            *held = Some(WatcherLock::create(folder, self.id)?);
        }
        Ok(held.as_ref().and_then(WatcherLock::host))
    }

    /// Gives the lock back, if nothing is leased any more. Else it stays, as the proof that this process died.
    pub fn leave(&self) -> Result<()> {
        if self.root.replica.state().watchers.contains_key(&self.id) {
            return Ok(());
        }
        let held = self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(held.map_or(Ok(()), WatcherLock::leave)?)
    }

    /// Set once the lease under this token is no longer held.
    pub fn lost_flag(&self, token: Token) -> Arc<AtomicBool> {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases.entry((token.sequence, token.index)).or_default().clone()
    }

    /// Renews and judges at a third of the lease time, for as long as it is polled.
    pub async fn keep_alive(&self) {
        let mut ticker = tokio::time::interval(self.lease / 3);
        ticker.tick().await;
        loop {
            ticker.tick().await;
            if let Err(error) = self.beat().await {
                tracing::warn!("no sign of life could be given: {error:#}");
            }
        }
    }

    async fn beat(&self) -> Result<()> {
        self.root.replica.catch_up().await?;
        if self.root.replica.state().watchers.contains_key(&self.id) {
            self.root.replica.submit(Request::Renew(self.id)).await?;
        }
        self.notice_lost_leases();
        self.take_over_silent().await
    }

    fn notice_lost_leases(&self) {
        let state = self.root.replica.state();
        let held: Vec<Token> = state
            .jobs
            .values()
            .flat_map(|job| job.leases())
            .map(|(_, lease)| lease.token)
            .collect();
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases.retain(|(sequence, index), lost| {
            let token = Token {
                sequence: *sequence,
                index: *index,
            };
            // A grant may be newer than the state looked at here.
            let gone = *sequence <= state.sequence && !held.contains(&token);
            lost.fetch_or(gone, Ordering::Relaxed);
            !gone
        });
    }

    /// Waits for what other processes hold, for as long as it takes to tell the living from the dead, and takes over
    /// from the dead. Answers whether that freed anything.
    pub async fn outwait_silent(&self) -> Result<bool> {
        let began = Instant::now();
        let before = self.others_counters();
        while began.elapsed() <= self.lease + self.lease / 4 {
            self.root.replica.catch_up().await?;
            self.take_over_silent().await?;
            let now = self.others_counters();
            if now.len() < before.len() {
                return Ok(true);
            }
            if now.is_empty() || now.iter().all(|(id, counter)| before.get(id) != Some(counter)) {
                return Ok(false);
            }
            tokio::time::sleep(self.lease / 10).await;
        }
        Ok(false)
    }

    fn others_counters(&self) -> BTreeMap<WatcherId, Sequence> {
        let state = self.root.replica.state();
        let others = state.watchers.iter().filter(|(id, _)| **id != self.id);
        others.map(|(id, watcher)| (*id, watcher.counter)).collect()
    }

    /// Takes over from watchers that are proved dead, or whose counter has stood still for the lease time.
    pub async fn take_over_silent(&self) -> Result<()> {
        for (watcher, counter, host) in self.silent_watchers() {
            let request = Request::TakeOver {
                watcher,
                counter,
                by: self.id,
            };
            if let Reply::Done = self.root.replica.submit(request).await? {
                tracing::info!(%watcher, "took over from a process that ended");
                if let (Some(host), Some(folder)) = (host, self.root.site.root.as_folder()) {
                    lock::remove_dead(folder, &host)?;
                }
            }
        }
        Ok(())
    }

    fn silent_watchers(&self) -> Vec<(WatcherId, Sequence, Option<HostLock>)> {
        let state = self.root.replica.state();
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.retain(|id, _| state.watchers.contains_key(id));
        let mut silent = Vec::new();
        for (id, watcher) in state.watchers.iter().filter(|(id, _)| **id != self.id) {
            let now = Instant::now();
            let seen = others.entry(*id).or_insert((watcher.counter, now));
            if seen.0 != watcher.counter {
                *seen = (watcher.counter, now);
            }
            if self.is_proved_dead(watcher) || seen.1.elapsed() > self.lease {
                silent.push((*id, watcher.counter, watcher.host.clone()));
            }
        }
        silent
    }

    fn is_proved_dead(&self, watcher: &Watcher) -> bool {
        match (&watcher.host, self.root.site.root.as_folder()) {
            (Some(host), Some(folder)) => lock::is_dead(folder, host),
            _ => false,
        }
    }
}
