//! A process with a replica that goes on until it is asked to stop: it watches, looks for new files, keeps house, and where
//! it is asked to, works and answers others over HTTP. `baler serve` and `baler worker ROOT` are the same but for that.
//!
//! ```text
//!  rescan ──▶ AddFiles ───┐                       ┌─▶ worker of this process
//!  API: files pushed ─────┼─▶ Replica ─▶ grants ──┤
//!  upkeep: time, garbage ─┤      ▲                └─▶ workers elsewhere (api)
//!  owner: policy, catalog ┘      │
//!                                └── watch: signs of life, silent workers let go, silent watchers taken over
//! ```

#[cfg(feature = "parquet")]
mod rescan;
mod upkeep;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use baler_journal::host;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};

use crate::owner::{Committer, Owners, Proposer};
use crate::root::Root;
use crate::watch::Watch;
use crate::worker::{Endless, Works};
use crate::{collector, receipts};

/// How soon it is noticed that the process is to stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// How long the last chores may take before it goes.
const LAST_CHORES: Duration = Duration::from_secs(10);

/// How new files are looked for.
#[derive(Clone, Debug)]
pub struct RescanSettings {
    /// How often; `None` for never.
    pub every: Option<Duration>,
    /// Younger files wait.
    pub settle: Duration,
    /// Files of other journals are ordinary inputs.
    pub adopt_foreign: bool,
}

impl RescanSettings {
    /// Nobody looks: files are handed over.
    pub fn never() -> Self {
        Self {
            every: None,
            settle: Duration::ZERO,
            adopt_foreign: false,
        }
    }
}

/// A process with a replica.
#[derive(Debug)]
pub struct Station {
    /// What it is about.
    pub root: Arc<Root>,
    /// Answers for leases.
    pub watch: Arc<Watch>,
    /// How it looks for new files.
    pub rescan: RescanSettings,
    /// Has it look for new files now.
    pub nudge: Arc<Notify>,
    /// Catalogs and policies of the tables' owners that it can reach.
    pub owners: Owners,
    /// Once set, it ends soon.
    pub drain: Arc<AtomicBool>,
}

impl Station {
    /// A station on this root.
    pub fn new(root: Arc<Root>, lease: Duration, rescan: RescanSettings, drain: Arc<AtomicBool>) -> Self {
        Self {
            watch: Arc::new(Watch::new(root.clone(), lease)),
            root,
            rescan,
            nudge: Arc::default(),
            owners: Owners::default(),
            drain,
        }
    }

    /// With catalogs and policies of the tables' owners.
    #[must_use]
    pub fn with_owners(self, owners: Owners) -> Self {
        Self { owners, ..self }
    }

    /// Goes on until it is asked to stop. The worker ends first, so that what it still has to say is heard; `front`, the
    /// API where there is one, last.
    pub async fn run<W: Works>(
        self: Arc<Self>,
        worker: Option<Endless<W>>,
        front: impl Future<Output = Result<()>> + Send + 'static,
        close_front: impl FnOnce(),
    ) -> Result<()> {
        self.watch.take_over_silent().await?;
        for warning in self.root.site.root.warnings().await {
            tracing::warn!("{warning}");
        }
        let mut life = self.begin_life();
        let mut work = self.begin_work();
        let mut front = host::spawn(front);
        let has_worker = worker.is_some();
        let mut worker = host::spawn(async move {
            match worker {
                Some(worker) => worker.run().await,
                None => Ok(()),
            }
        });
        let ended = tokio::select! {
            biased;
            worked = &mut worker, if has_worker => Some(result_of(worked)),
            served = &mut front => return result_of(served),
            Some(panic) = work.join_next() => Some(Err(anyhow!("the upkeep ended: {panic:?}"))),
            Some(panic) = life.join_next() => Some(Err(anyhow!("the watcher ended: {panic:?}"))),
            () = self.asked_to_stop() => None,
        };
        self.drain.store(true, Ordering::Relaxed);
        work.shutdown().await;
        let ended = match ended {
            Some(ended) => ended,
            None if has_worker => result_of(worker.await),
            None => Ok(()),
        };
        close_front();
        let served = result_of(front.await);
        self.do_last_chores().await;
        life.shutdown().await;
        self.watch.leave()?;
        self.root.replica.clone().close().await;
        ended.and(served)
    }

    fn begin_life(self: &Arc<Self>) -> JoinSet<()> {
        let mut life = JoinSet::new();
        let watch = || self.watch.clone();
        let (alive, timing, following) = (watch(), watch(), watch());
        life.spawn(host::own(async move { alive.keep_alive().await }));
        life.spawn(host::own(async move { timing.time_leases().await }));
        life.spawn(host::own(async move { following.follow().await }));
        life
    }

    fn begin_work(self: &Arc<Self>) -> JoinSet<()> {
        let mut work = JoinSet::new();
        #[cfg(feature = "parquet")]
        let looking = self.clone();
        let (keeping, committing, proposing) = (self.clone(), self.clone(), self.clone());
        #[cfg(feature = "parquet")]
        work.spawn(host::own(async move { looking.look_for_new_files().await }));
        work.spawn(host::own(async move { keeping.keep_house().await }));
        work.spawn(host::own(receipts::keep_writing(
            self.root.clone(),
            self.watch.id(),
        )));
        work.spawn(host::own(async move { Committer::of(&committing).run().await }));
        work.spawn(host::own(async move { Proposer::of(&proposing).run().await }));
        work
    }

    /// Before it goes, what the last jobs replaced is taken out of sight, where readers who list would see rows twice until
    /// somebody else comes, and what they did is written down. If that is quickly done: others can do it as well.
    async fn do_last_chores(&self) {
        let chores = async {
            collector::clear_sight(&self.root).await?;
            receipts::write_due(&self.root).await
        };
        match tokio::time::timeout(LAST_CHORES, chores).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!("the last chores are left to others: {error:#}"),
            Err(_too_long) => tracing::warn!("the last chores take too long, and are left to others"),
        }
    }

    async fn asked_to_stop(&self) {
        while !self.drain.load(Ordering::Relaxed) {
            tokio::time::sleep(host::look_every(STOP_CHECK)).await;
        }
    }
}

fn result_of(ended: Result<Result<()>, JoinError>) -> Result<()> {
    ended.unwrap_or_else(|panic| Err(anyhow!("a part of the process panicked: {panic}")))
}
