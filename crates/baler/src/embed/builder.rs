//! Describes a part of a fleet, and starts it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, bail};
use baler_core::ids::TableName;
use baler_core::table::TableSpec;
#[cfg(feature = "cloud")]
use object_store::ObjectStore;
use tokio::runtime::Handle;

use super::{Baler, Metrics, located, metrics};
use crate::desk::{Desk, OwnDesk};
use crate::merge::{Merge, Merges};
use crate::metrics::{Board, WorkerFigures};
use crate::owner::{Catalog, Owners, Policy};
use crate::report::ProgressView;
use crate::root::{Clock, Root};
use crate::settings::{Merging, ReplacedSettings, TableSettings};
use crate::station::{RescanSettings, Station};
use crate::store::OutputSettings;
use crate::worker::child::Isolation;
use crate::worker::{Endless, Hands, Tally};

/// How long a silent process keeps its leases, unless it is said otherwise.
const LEASE: Duration = Duration::from_secs(15);

/// Shorter ones would end while a store takes its time.
const LEASE_MIN: Duration = Duration::from_secs(1);

/// A part of a fleet, to be started.
#[derive(Debug)]
#[must_use = "nothing runs before `start`"]
pub struct Builder {
    root: String,
    #[cfg(feature = "cloud")]
    store: Option<Arc<dyn ObjectStore>>,
    tables: Vec<(TableName, TableSpec)>,
    plain: Option<(TableSettings, RescanSettings)>,
    merges: Merges,
    owners: Owners,
    worker: Option<Merging>,
    isolation: Option<PathBuf>,
    lease: Duration,
    listen: Option<SocketAddr>,
    #[cfg(feature = "http")]
    token: Option<String>,
    runtime: Option<Handle>,
    clock: Clock,
    metrics: Option<Arc<dyn Metrics>>,
}

impl Builder {
    pub(super) fn new(root: &str) -> Self {
        Self {
            root: root.to_owned(),
            #[cfg(feature = "cloud")]
            store: None,
            tables: Vec::new(),
            plain: None,
            merges: Merges::default(),
            owners: Owners::default(),
            worker: None,
            isolation: None,
            lease: LEASE,
            listen: None,
            #[cfg(feature = "http")]
            token: None,
            runtime: None,
            clock: Clock::default(),
            metrics: None,
        }
    }

    /// The root is a prefix in this store, whatever it is: everything that is read and written goes through it. It must create
    /// objects only where there are none (`PutMode::Create`), which is found out before the first entry is written.
    #[cfg(feature = "cloud")]
    pub fn store(mut self, store: Arc<dyn ObjectStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// There is to be this table, kept in the journal or in a catalog of its owner; made where it is not there yet, and its
    /// place a root.
    pub fn table(mut self, name: &str, spec: TableSpec) -> Self {
        self.tables.push((TableName::from(name), spec));
        self
    }

    /// The root is a plain folder of Parquet files, which is looked at so often.
    #[cfg(feature = "parquet")]
    pub fn folder(mut self, settings: TableSettings, rescan: RescanSettings) -> Self {
        self.plain = Some((settings, rescan));
        self
    }

    /// Its worker knows this format too.
    pub fn format(mut self, merge: impl Merge + 'static) -> Self {
        self.merges = self.merges.with(Arc::new(merge));
        self
    }

    /// It can commit in the catalog of this table.
    pub fn catalog(mut self, table: &str, catalog: impl Catalog + 'static) -> Self {
        self.owners
            .catalogs
            .insert(TableName::from(table), Arc::new(catalog));
        self
    }

    /// It knows the policy of this table.
    pub fn policy(mut self, table: &str, policy: impl Policy + 'static) -> Self {
        self.owners
            .policies
            .insert(TableName::from(table), Arc::new(policy));
        self
    }

    /// It merges too, with this much of the machine.
    pub fn worker(mut self, merging: Merging) -> Self {
        self.worker = Some(merging);
        self
    }

    /// Its worker merges in child processes with a limit of memory, on Linux: what kills a merge ends a child, and counts against
    /// the inputs. The program is a `baler`; or, for formats of one's own, one that calls
    /// [`child::run`](crate::worker::child::run) with them when its only argument is
    /// [`child::COMMAND`](crate::worker::child::COMMAND).
    pub fn isolate(mut self, program: impl Into<PathBuf>) -> Self {
        self.isolation = Some(program.into());
        self
    }

    /// How long a silent process keeps its leases; 15 s where nothing is said.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// It answers remote workers at this address; with port 0, at one that is free.
    #[cfg(feature = "http")]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = Some(address);
        self
    }

    /// Whoever asks must show this token. Beyond loopback it does not listen without.
    #[cfg(feature = "http")]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// It runs on this runtime; where nothing is said, on the one that starts it.
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Its wall clock, by which it guesses when to ask the store for the time, and for how long new files have lain. Nothing is
    /// decided by it. How new a file in a directory is to its file system is told by that system's clock.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Hears of its figures.
    pub fn metrics(mut self, metrics: impl Metrics + 'static) -> Self {
        self.metrics = Some(Arc::new(metrics));
        self
    }

    /// Opens the root, and begins.
    pub async fn start(self) -> Result<Baler> {
        if self.lease < LEASE_MIN {
            bail!("a lease must be at least 1s long");
        }
        #[cfg(feature = "cloud")]
        refuse_own_store(self.isolation.as_ref(), self.store.is_some())?;
        let runtime = self.runtime.clone().unwrap_or_else(Handle::current);
        // What is opened belongs to the runtime that runs it.
        let opening = runtime.spawn(self.open());
        opening.await?
    }

    async fn open(self) -> Result<Baler> {
        let root = Arc::new(self.open_root().await?.with_clock(self.clock.clone()));
        let drain: Arc<AtomicBool> = Arc::default();
        let rescan = self
            .plain
            .as_ref()
            .map_or_else(RescanSettings::never, |(_, rescan)| rescan.clone());
        let station = Station::new(root, self.lease, rescan, drain.clone());
        let station = Arc::new(station.with_owners(self.owners.clone()));
        let tally: Arc<Tally> = Arc::default();
        let board: Arc<Board> = Arc::default();
        let name = station.root.site.root.to_string();
        board.put_up(&name, station.clone());
        board.put_up(&name, Arc::new(station.root.site.clone()));
        let worker = self
            .worker
            .map(|merging| self.worker_of(&station, &merging, &tally, &board));
        let worker = worker.transpose()?;
        let metering = self.metrics.clone().map(|heard_by| {
            let telling = metrics::tell(station.clone(), tally.clone(), heard_by, drain.clone());
            tokio::spawn(telling)
        });
        let (address, running) = self.run(&station, worker, &board).await?;
        Ok(Baler {
            station,
            tally,
            board,
            drain,
            address,
            running,
            metering,
        })
    }

    async fn open_root(&self) -> Result<Root> {
        let location = located(
            &self.root,
            #[cfg(feature = "cloud")]
            self.store.as_ref(),
        )?;
        if let Some((settings, _)) = &self.plain {
            return Root::open_for_compaction(&location, settings).await;
        }
        let mut root = None;
        for (name, spec) in &self.tables {
            let wanted = ReplacedSettings {
                wanted: None,
                names_once: spec.names_once,
            };
            let spec = |replaced| {
                Ok(TableSpec {
                    replaced,
                    ..spec.clone()
                })
            };
            root = Some(Root::create_table_as(&location, name, &wanted, spec).await?.0);
        }
        match root {
            Some(root) => Ok(root),
            None => Root::open_to_write(&location).await,
        }
    }

    fn worker_of(
        &self,
        station: &Station,
        merging: &Merging,
        tally: &Arc<Tally>,
        board: &Board,
    ) -> Result<Endless> {
        let outputs = self.plain.as_ref().map(|(settings, _)| settings.outputs.clone());
        let isolation = isolation(self.isolation.as_ref(), outputs.unwrap_or_default())?;
        let mut offer = self.merges.offer();
        offer.isolates = isolation.is_some();
        let desk = OwnDesk::new(station.root.clone(), station.watch.clone(), offer)?;
        let desk: Arc<dyn Desk> = Arc::new(desk);
        let root = station.root.site.root.to_string();
        let figures = WorkerFigures {
            root: root.clone(),
            desk: desk.clone(),
            tally: tally.clone(),
        };
        board.put_up(&root, Arc::new(figures));
        let hands = Hands {
            desk,
            site: station.root.site.clone(),
            merges: self.merges.clone(),
            threads: merging.threads,
            range_bytes: merging.range_bytes,
            isolation,
            reread: false,
            progress: ProgressView::silent(),
            drain: station.drain.clone(),
            wasted: Arc::default(),
            next: None,
            cut: Arc::default(),
        };
        Ok(Endless::new(
            hands,
            merging.workers,
            merging.memory_bytes,
            tally.clone(),
        ))
    }

    #[cfg(feature = "http")]
    async fn run(
        &self,
        station: &Arc<Station>,
        worker: Option<Endless>,
        board: &Arc<Board>,
    ) -> Result<(Option<SocketAddr>, tokio::task::JoinHandle<Result<()>>)> {
        use crate::api::{Api, Bearer};
        let Some(listen) = self.listen else {
            return Ok((None, run_alone(station, worker)));
        };
        if !listen.ip().is_loopback() && self.token.is_none() {
            bail!(
                "{listen}: whoever reaches this address could have files replaced. Give a token, or listen on 127.0.0.1"
            );
        }
        let bearer = self.token.as_deref().map(Bearer::new).transpose()?;
        let listener = tokio::net::TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let outputs = self.plain.as_ref().map(|(settings, _)| settings.outputs.clone());
        let outputs: OutputSettings = outputs.unwrap_or_default();
        let api = Arc::new(Api::new(station.clone(), outputs, bearer, board.clone()));
        let (close, closed) = tokio::sync::watch::channel(false);
        let front = api.serve(listener, closed);
        let running = station.clone().run(worker, front, move || {
            close.send_replace(true);
        });
        Ok((Some(address), tokio::spawn(running)))
    }

    #[cfg(not(feature = "http"))]
    async fn run(
        &self,
        station: &Arc<Station>,
        worker: Option<Endless>,
        _board: &Arc<Board>,
    ) -> Result<(Option<SocketAddr>, tokio::task::JoinHandle<Result<()>>)> {
        Ok((self.listen, run_alone(station, worker)))
    }
}

/// A child process cannot reach a store that only this program holds.
#[cfg(feature = "cloud")]
pub(super) fn refuse_own_store(isolation: Option<&PathBuf>, own_store: bool) -> Result<()> {
    match isolation.is_some() && own_store {
        true => bail!(
            "a child process cannot reach a store that this program brought: leave out `isolate`, or give the root's URL"
        ),
        false => Ok(()),
    }
}

/// Every merge in a child that runs this program, if one was named.
pub(super) fn isolation(program: Option<&PathBuf>, outputs: OutputSettings) -> Result<Option<Isolation>> {
    let isolation = program.map(|program| Isolation::with_program(program.clone(), outputs));
    let isolation = isolation.map(|isolation| isolation.of_every_merge(true));
    Ok(isolation.transpose()?)
}

/// There is nobody to answer.
fn run_alone(station: &Arc<Station>, worker: Option<Endless>) -> tokio::task::JoinHandle<Result<()>> {
    let (close, closed) = tokio::sync::oneshot::channel::<()>();
    let front = async move {
        let _ = closed.await;
        Ok(())
    };
    tokio::spawn(station.clone().run(worker, front, move || drop(close)))
}
