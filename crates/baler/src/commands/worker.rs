//! `baler worker`: works until it is stopped, for the coordinators of a root or with nothing but its bucket.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use baler_core::ids::WorkerId;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::compact::drain_on_interrupt;
use super::serve::{embedded, show, shown_worker};
use crate::api::{Bearer, WorkerApi};
use crate::cli::WorkerArgs;
use crate::desk::{Desk, Offer, RemoteDesk};
use crate::merge::Merges;
use crate::metrics::Board;
use crate::report::ProgressView;
use crate::root::Root;
use crate::settings::{Place, WorkerSettings};
use crate::site::Site;
use crate::station::Station;
use crate::store::{Location, OutputSettings};
use crate::worker::Hands;
use crate::worker::child::Isolation;

/// Runs it.
pub async fn run(args: &WorkerArgs) -> Result<ExitCode> {
    let settings = WorkerSettings::check(args)?;
    let bearer = args.token_file.as_deref().map(Bearer::read).transpose()?;
    let token = bearer.as_ref().map(|bearer| bearer.token().to_owned());
    let board = Arc::new(Board::default());
    let front = Front::open(settings.listen, bearer, &board).await?;
    match &settings.place {
        Place::Root { root, lease } => on_bucket(root, *lease, &settings, &board).await?,
        Place::Coordinators { urls, root } => {
            through_coordinators(urls, token.as_deref(), root.as_ref(), &settings, &board).await?;
        }
    }
    front.close().await?;
    Ok(ExitCode::SUCCESS)
}

/// Where the worker tells of itself, if it was asked to.
struct Front {
    close: watch::Sender<bool>,
    answering: Option<JoinHandle<Result<()>>>,
}

impl Front {
    async fn open(listen: Option<SocketAddr>, bearer: Option<Bearer>, board: &Arc<Board>) -> Result<Self> {
        let (close, closed) = watch::channel(false);
        let Some(address) = listen else {
            return Ok(Self {
                close,
                answering: None,
            });
        };
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        let api = WorkerApi::new(bearer, board.clone());
        let answering = tokio::spawn(api.serve(listener, closed));
        Ok(Self {
            close,
            answering: Some(answering),
        })
    }

    async fn close(self) -> Result<()> {
        self.close.send_replace(true);
        match self.answering {
            Some(answering) => answering.await?,
            None => Ok(()),
        }
    }
}

/// Without a coordinator: this process answers for its own leases, and looks for new files itself.
async fn on_bucket(
    location: &Location,
    lease: Duration,
    settings: &WorkerSettings,
    board: &Board,
) -> Result<()> {
    let root = Arc::new(Root::open_to_write(location).await?);
    let drain = drain_on_interrupt();
    let station = Arc::new(Station::new(root, lease, settings.rescan.clone(), drain));
    show(board, &station);
    let (scope, outputs) = (settings.scope.clone(), OutputSettings::default());
    let worker = embedded(&station, &settings.merging, scope, outputs, board)?;
    eprintln!("working on {}", station.root.site.root);
    // There is nobody to answer.
    let (close, closed) = oneshot::channel::<()>();
    let front = async move {
        let _ = closed.await;
        Ok(())
    };
    station.run(Some(worker), front, move || drop(close)).await
}

async fn through_coordinators(
    urls: &[String],
    token: Option<&str>,
    root: Option<&Location>,
    settings: &WorkerSettings,
    board: &Board,
) -> Result<()> {
    let merging = &settings.merging;
    let offer = Offer {
        isolates: true,
        scope: settings.scope.clone(),
    };
    let desk = RemoteDesk::connect(urls, token, name(), merging.memory_bytes, offer).await?;
    let desk = Arc::new(desk);
    let site = site_of(&desk, root).await?;
    desk.works_in(site.clone());
    board.put_up(&site.root.to_string(), Arc::new(site.clone()));
    eprintln!("working on {} for {}", site.root, urls.join(", "));
    let isolation = Isolation::with_own_program(desk.hello().outputs.clone())?;
    let hands = Hands {
        desk: desk.clone(),
        site,
        merges: Merges::default(),
        threads: merging.threads,
        memory_bytes: merging.memory_bytes,
        range_bytes: merging.range_bytes,
        isolation: Some(isolation),
        progress: ProgressView::silent(),
        drain: drain_on_interrupt(),
        wasted: Arc::default(),
        next: None,
        cut: Arc::default(),
    };
    let signs_of_life = tokio::spawn(async move { desk.keep_alive().await });
    let worked = shown_worker(hands, merging.workers, board).run().await;
    signs_of_life.abort();
    worked
}

/// Where the files lie, as this machine sees it. In another place a worker would miss every input, and report them as
/// gone: so the journal there must be the coordinator's.
async fn site_of(desk: &RemoteDesk, root: Option<&Location>) -> Result<Site> {
    let hello = desk.hello();
    let location = match root {
        Some(root) => root.clone(),
        None => hello.root.parse()?,
    };
    let root = Root::open_to_merge(&location, hello.outputs.clone()).await?;
    if root.journal()? != desk.journal() {
        bail!(
            "{location} is not the root of this coordinator: its journal is another. Give --root, with the place where this \
             machine finds {}",
            hello.root
        );
    }
    Ok(root.site)
}

/// For people: ownership is proved by token alone.
fn name() -> WorkerId {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let unique = rand::random::<u32>();
    WorkerId(format!("{host}-{}-{unique:08x}", std::process::id()).into())
}
