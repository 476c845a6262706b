//! `baler worker`: works until it is stopped, for coordinators or with nothing but buckets, for one root or for many.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::caching;
use super::compact::drain_on_interrupt;
use crate::api::{Bearer, WorkerApi};
use crate::cli::{VerifyArg, WorkerArgs};
use crate::crew::{Crew, Urls};
use crate::metrics::Board;
use crate::settings::{Place, WorkerSettings};
use crate::worker::{Pool, child};

/// Runs it.
pub async fn run(args: &WorkerArgs) -> Result<ExitCode> {
    let settings = WorkerSettings::check(args)?;
    child::check_can_isolate(args.merging.isolate)?;
    let bearer = args.token_file.as_deref().map(Bearer::read).transpose()?;
    let token = bearer.as_ref().map(|bearer| bearer.token().to_owned());
    let board = Arc::new(Board::default());
    let front = Front::open(settings.listen, bearer, &board).await?;
    let drain = drain_on_interrupt();
    let merging = settings.merging;
    let cache = caching::open(&args.merging.cache)?;
    if let Some(cache) = &cache {
        board.put_up("cache", cache.clone());
    }
    let crew = Arc::new(Crew {
        cache: cache.clone(),
        pool: Pool::new(merging.workers, settings.workers_per_root, merging.memory_bytes),
        merging,
        isolate: args.merging.isolate,
        reread: args.verify == Some(VerifyArg::Reread),
        scope: settings.scope,
        rescan: settings.rescan,
        lease: match &settings.place {
            Place::Roots { lease, .. } => *lease,
            // Theirs counts.
            Place::Coordinators { .. } => Duration::ZERO,
        },
        board,
        drain,
    });
    match settings.place {
        Place::Roots { roots, .. } => crew.work_on(&roots).await?,
        Place::Coordinators { urls, root } => crew.work_through(&Urls { urls, token, root }).await?,
    }
    caching::settle(cache).await;
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
