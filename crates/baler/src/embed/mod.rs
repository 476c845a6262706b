//! Baler inside another program. A builder for each part of a fleet; the shapes of a deployment are what is put together:
//!
//! | shape | in the writer's process | elsewhere |
//! |---|---|---|
//! | all embedded | [`Baler::builder`] with a worker | – |
//! | remote workers | [`Baler::builder`] that listens | [`RemoteWorker::builder`], any number |
//! | standalone | – | [`Baler::builder`] that listens, with a worker |
//! | standalone, remote workers | – | [`Baler::builder`] that listens; [`RemoteWorker::builder`], any number |
//! | bucket only | – | [`Baler::builder`] with a worker, any number |
//!
//! None of them knows of the others, and any number of each may run on one root: the journal decides who was first.
//!
//! The caller's runtime runs it, the caller's clock tells its ages, and the caller's metrics hear of it.

mod builder;
mod files;
mod metrics;
#[cfg(feature = "http")]
mod remote;

pub use builder::Builder;
pub use files::NewFile;
pub use metrics::{Figures, Metrics};
#[cfg(feature = "http")]
pub use remote::{RemoteWorker, RemoteWorkerBuilder};

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use baler_core::ids::TableName;
use baler_core::pressure::{Pressure, pressure};
use baler_core::state::State;
use tokio::task::JoinHandle;

use crate::metrics::Board;
use crate::root::Root;
use crate::station::Station;
use crate::store::Location;
use crate::worker::Tally;

/// Where a root is: by its name, or in a store of the caller's.
#[cfg(feature = "cloud")]
fn located(root: &str, store: Option<&Arc<dyn object_store::ObjectStore>>) -> Result<Location> {
    match store {
        None => Ok(root.parse()?),
        Some(store) => Ok(Location::Bucket(crate::store::BucketUrl::in_own(
            store.clone(),
            root,
        )?)),
    }
}

/// Where a root is, by its name.
#[cfg(not(feature = "cloud"))]
fn located(root: &str) -> Result<Location> {
    Ok(root.parse()?)
}

/// A part of a fleet that runs in this process, until it is stopped.
#[derive(Debug)]
pub struct Baler {
    station: Arc<Station>,
    tally: Arc<Tally>,
    board: Arc<Board>,
    drain: Arc<AtomicBool>,
    address: Option<SocketAddr>,
    running: JoinHandle<Result<()>>,
    metering: Option<JoinHandle<()>>,
}

impl Baler {
    /// Begins to describe one, on the root at this place: a directory, a URL like `s3://bucket/prefix`, or a prefix in a store
    /// that is given with `Builder::store`.
    pub fn builder(root: &str) -> Builder {
        Builder::new(root)
    }

    /// The URL at which it answers workers, if it listens.
    pub fn url(&self) -> Option<String> {
        self.address.map(|address| format!("http://{address}"))
    }

    /// The state as this process knows it.
    pub fn state(&self) -> Arc<State> {
        self.station.root.replica.state()
    }

    /// What the worker of this process has done.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// All figures of this process as Prometheus reads them: for a server of the caller's own.
    pub fn metrics_text(&self) -> String {
        self.board.text()
    }

    /// How far compaction is behind in a table, for a writer that slows down when it is.
    pub fn pressure(&self, table: &str) -> Pressure {
        pressure(&self.state(), &TableName::from(table))
    }

    /// The root, for what has no method here.
    pub fn root(&self) -> &Arc<Root> {
        &self.station.root
    }

    /// Stops: what its worker has not finished is given back, what it has finished is delivered.
    pub async fn stop(self) -> Result<()> {
        self.drain.store(true, Ordering::Relaxed);
        let ended = self.running.await.context("a part of Baler panicked")?;
        if let Some(metering) = self.metering {
            metering.await.context("the metering panicked")?;
        }
        ended
    }
}
