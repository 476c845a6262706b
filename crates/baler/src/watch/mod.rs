//! Signs of life. This process answers for the leases that were granted through it: while it has some it raises its
//! counter in the journal, and it watches the counters of others on its own monotonic clock.
//!
//! | file | what |
//! |---|---|
//! | `granting` | work is granted, and a grant is a sign of life |
//! | `others` | watchers that have gone silent are taken over from |
//! | `remote` | workers elsewhere renew here, and silent ones are let go |
//! | `workers` | who has asked here for work, as it was last heard of |

mod granting;
mod others;
mod remote;
mod workers;

pub(crate) use granting::jittered;
pub use remote::{Seen, Verdict};
pub use workers::{WorkerSeen, Workers};

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use baler_core::ids::{Sequence, Token, WatcherId};
use baler_core::lease::HostLock;
use baler_core::request::{Reply, Request};
use baler_core::time::StoreTime;
use baler_journal::{JournalError, host};
use tokio::time::Instant;

use crate::desk::{End, Leases};
use crate::folder::lock::WatcherLock;
use crate::root::Root;
use remote::Remote;

/// An attempt that has moved nothing for this long is given back. Opening a file, a row and a byte are moves.
const STALL: Duration = Duration::from_secs(600);

/// How long an attempt may move nothing.
#[cfg(not(debug_assertions))]
pub fn stall() -> Duration {
    STALL
}

/// How long an attempt may move nothing. Tests need not wait so long.
#[cfg(debug_assertions)]
pub fn stall() -> Duration {
    let asked = std::env::var("BALER_TEST_STALL_MS").ok();
    let asked = asked.and_then(|millis| millis.parse().ok());
    asked.map_or(STALL, Duration::from_millis)
}

/// This process as a watcher.
#[derive(Debug)]
pub struct Watch {
    root: Arc<Root>,
    id: WatcherId,
    lease: Duration,
    lock: Mutex<Option<WatcherLock>>,
    /// When the last sign of life that the journal took was begun.
    renewed: Mutex<Option<Instant>>,
    /// Why the last sign of life was not taken.
    failing: Mutex<Option<String>>,
    /// When the state was last known to be the latest.
    caught_up: Mutex<Instant>,
    /// Attempts of this process.
    leases: Arc<Leases>,
    /// Attempts of workers elsewhere.
    remote: Mutex<Remote>,
    /// Workers that have asked here for work.
    workers: Workers,
    /// Other watchers: the counter last seen, and since when.
    others: Mutex<BTreeMap<WatcherId, (Sequence, Instant)>>,
}

impl Watch {
    /// A watcher with an id of its own, new at each start.
    pub fn new(root: Arc<Root>, lease: Duration) -> Self {
        let id = match baler_core::planted!(WatcherNamedByProcess) {
            true => WatcherId(host::process().into()),
            false => WatcherId(host::wide_chance()),
        };
        Self {
            root,
            id,
            lease,
            lock: Mutex::default(),
            renewed: Mutex::default(),
            failing: Mutex::default(),
            caught_up: Mutex::new(Instant::now()),
            leases: Arc::default(),
            remote: Mutex::default(),
            workers: Workers::default(),
            others: Mutex::default(),
        }
    }

    /// Its id.
    pub fn id(&self) -> WatcherId {
        self.id
    }

    /// How long a silent process keeps its leases.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// The present on the root's wall clock, for estimates.
    pub fn now(&self) -> StoreTime {
        self.root.now()
    }

    /// The attempts of this process.
    pub fn leases(&self) -> &Arc<Leases> {
        &self.leases
    }

    /// Workers that have asked here for work.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// The lock that shows others on this machine that this process lives. Taken with the first lease, so that a run
    /// with nothing to do leaves no trace.
    pub fn host(&self) -> Result<Option<HostLock>> {
        let Some(folder) = self.root.site.root.as_folder() else {
            return Ok(None);
        };
        let mut held = locked(&self.lock);
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
        let held = locked(&self.lock).take();
        Ok(held.map_or(Ok(()), WatcherLock::leave)?)
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
            self.leases.end_stalled(stall());
        }
    }

    /// Where nothing is leased there is nobody to watch, and an idle root costs nothing.
    async fn beat(&self) -> Result<()> {
        if self.root.replica.state().watchers.is_empty() && self.leases.all().is_empty() {
            return Ok(());
        }
        self.catch_up().await?;
        if self.root.replica.state().watchers.contains_key(&self.id) {
            self.submit(Request::Renew(self.id)).await?;
        }
        self.notice_lost_leases();
        self.take_over_silent().await
    }

    /// Reads what others appended until now.
    pub async fn catch_up(&self) -> Result<(), JournalError> {
        let begun = Instant::now();
        self.root.replica.catch_up().await?;
        let mut caught_up = locked(&self.caught_up);
        *caught_up = begun.max(*caught_up);
        Ok(())
    }

    /// Asks for something that is a sign of life of this watcher. It counts from when asking began: that is when
    /// others may have seen it first.
    async fn submit(&self, request: Request) -> Result<Reply, JournalError> {
        let begun = Instant::now();
        let reply = self.root.replica.submit(request).await;
        *locked(&self.failing) = reply.as_ref().err().map(ToString::to_string);
        let reply = reply?;
        if is_sign_of_life(&reply) {
            let mut renewed = locked(&self.renewed);
            *renewed = Some(renewed.map_or(begun, |before| begun.max(before)));
        }
        Ok(reply)
    }

    /// Whether nobody can have taken over from this watcher yet: its last sign of life was begun less than a lease time
    /// ago. Only then may it say yes to those it answers for.
    fn is_sure(&self) -> bool {
        let young = locked(&self.renewed).is_some_and(|begun| begun.elapsed() < self.lease);
        young || baler_core::planted!(WatcherAlwaysSure)
    }

    /// Why the journal does not take what this watcher asks for, if it does not.
    pub fn failing(&self) -> Option<String> {
        locked(&self.failing).clone()
    }

    fn notice_lost_leases(&self) {
        let state = self.root.replica.state();
        let held: Vec<Token> = state
            .jobs
            .values()
            .flat_map(|job| job.leases())
            .map(|(_, lease)| lease.token)
            .collect();
        for lease in self.leases.all() {
            let token = lease.attempt.token;
            // A grant may be newer than the state looked at here.
            if token.sequence <= state.sequence && !held.contains(&token) {
                lease.end(End::Lost);
            }
        }
    }
}

fn is_sign_of_life(reply: &Reply) -> bool {
    match reply {
        Reply::Done => true,
        Reply::Granted(grants) => !grants.is_empty(),
        _ => false,
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
