//! A worker in a process of its own: it keeps nothing, asks a coordinator, and may be killed at any moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::builder::isolation;
#[cfg(feature = "cloud")]
use super::builder::refuse_own_store;
use super::located;
use crate::desk::{RemoteDesk, worker_name};
use crate::merge::{Merge, Merges};
use crate::report::ProgressView;
use crate::settings::Merging;
use crate::worker::{Endless, Hands, Tally};

/// A worker of coordinators that runs in this process, until it is stopped.
#[derive(Debug)]
pub struct RemoteWorker {
    tally: Arc<Tally>,
    drain: Arc<AtomicBool>,
    running: JoinHandle<Result<()>>,
}

impl RemoteWorker {
    /// Begins to describe one, for the coordinators of one root, like `http://host:7070`.
    pub fn builder<'a>(coordinators: impl IntoIterator<Item = &'a str>) -> RemoteWorkerBuilder {
        RemoteWorkerBuilder {
            coordinators: coordinators.into_iter().map(str::to_owned).collect(),
            token: None,
            root: None,
            #[cfg(feature = "cloud")]
            store: None,
            merges: Merges::default(),
            merging: None,
            isolation: None,
            runtime: None,
        }
    }

    /// What it has done.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Stops: what it has not finished is given back, what it has finished is delivered.
    pub async fn stop(self) -> Result<()> {
        self.drain.store(true, Ordering::Relaxed);
        self.until_ended().await
    }

    /// Waits until it ends by itself, which it does only where going on is of no use.
    pub async fn until_ended(self) -> Result<()> {
        self.running.await.context("the worker panicked")?
    }
}

/// A remote worker, to be started.
#[derive(Debug)]
#[must_use = "nothing runs before `start`"]
pub struct RemoteWorkerBuilder {
    coordinators: Vec<String>,
    token: Option<String>,
    root: Option<String>,
    #[cfg(feature = "cloud")]
    store: Option<Arc<dyn object_store::ObjectStore>>,
    merges: Merges,
    merging: Option<Merging>,
    isolation: Option<PathBuf>,
    runtime: Option<Handle>,
}

impl RemoteWorkerBuilder {
    /// The token that its coordinators ask for.
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Where this machine finds the root, if not where the coordinators do.
    pub fn root(mut self, root: &str) -> Self {
        self.root = Some(root.to_owned());
        self
    }

    /// The root is in this store, at the prefix that the coordinators or `root` say.
    #[cfg(feature = "cloud")]
    pub fn store(mut self, store: Arc<dyn object_store::ObjectStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// It knows this format too.
    pub fn format(mut self, merge: impl Merge + 'static) -> Self {
        self.merges = self.merges.with(Arc::new(merge));
        self
    }

    /// How much of the machine it merges with.
    pub fn merging(mut self, merging: Merging) -> Self {
        self.merging = Some(merging);
        self
    }

    /// It merges in child processes with a limit of memory, as [`Builder::isolate`](super::Builder::isolate) says.
    pub fn isolate(mut self, program: impl Into<PathBuf>) -> Self {
        self.isolation = Some(program.into());
        self
    }

    /// It runs on this runtime; where nothing is said, on the one that starts it.
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Finds a coordinator, and begins.
    pub async fn start(self) -> Result<RemoteWorker> {
        let runtime = self.runtime.clone().unwrap_or_else(Handle::current);
        runtime.spawn(self.begin()).await?
    }

    async fn begin(self) -> Result<RemoteWorker> {
        #[cfg(feature = "cloud")]
        refuse_own_store(self.isolation.as_ref(), self.store.is_some())?;
        let merging = match self.merging {
            Some(merging) => merging,
            None => Merging::of_this_machine()?,
        };
        let token = self.token.as_deref();
        let mut offer = self.merges.offer();
        offer.isolates = self.isolation.is_some();
        let desk = RemoteDesk::connect(&self.coordinators, token, worker_name(), offer);
        let desk = Arc::new(desk.await?);
        let location = located(
            self.root.as_deref().unwrap_or(&desk.hello().root),
            #[cfg(feature = "cloud")]
            self.store.as_ref(),
        )?;
        let site = desk.find_site(Some(&location)).await?;
        desk.works_in(site.clone());
        let isolation = isolation(self.isolation.as_ref(), desk.hello().outputs.clone())?;
        let (tally, drain): (Arc<Tally>, Arc<AtomicBool>) = Default::default();
        let hands = Hands {
            desk: desk.clone(),
            site,
            merges: self.merges,
            threads: merging.threads,
            range_bytes: merging.range_bytes,
            isolation,
            reread: false,
            progress: ProgressView::silent(),
            drain: drain.clone(),
            wasted: Arc::default(),
            next: None,
            cut: Arc::default(),
        };
        let worker = Endless::new(hands, merging.workers, merging.memory_bytes, tally.clone());
        let running = tokio::spawn(async move {
            tokio::select! {
                worked = worker.run() => worked,
                () = desk.keep_alive() => Ok(()),
            }
        });
        Ok(RemoteWorker {
            tally,
            drain,
            running,
        })
    }
}
