//! `baler serve`: a coordinator, and a worker beside it.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use baler_core::request::Scope;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::caching;
use super::compact::drain_on_interrupt;
use crate::api::{Api, Bearer};
use crate::cli::ServeArgs;
use crate::desk::{Offer, OwnDesk};
use crate::merge::Merges;
use crate::metrics::{Board, WorkerFigures};
use crate::report::ProgressView;
use crate::root::Root;
use crate::settings::{Merging, ServeSettings, TableSettings};
use crate::station::Station;
use crate::worker::child::Isolation;
use crate::worker::{Endless, Hands, Tally};

/// Runs it.
pub async fn run(args: &ServeArgs) -> Result<ExitCode> {
    let settings = ServeSettings::check(args)?;
    let table = TableSettings::check(&args.plain)?;
    let isolation = Isolation::with_own_program(table.outputs.clone())?;
    let isolation = isolation.of_every_merge(args.merging.isolate)?;
    let bearer = args.token_file.as_deref().map(Bearer::read).transpose()?;
    let listener = TcpListener::bind(settings.listen).await;
    let listener = listener.with_context(|| format!("cannot listen on {}", settings.listen))?;
    let address = listener.local_addr()?;
    let cache = caching::open(&args.merging.cache)?;
    let mut root = Root::open_for_compaction(&args.root, &table).await?;
    root.site.cache.clone_from(&cache);
    let root = Arc::new(root);
    let drain = drain_on_interrupt();
    let station = Arc::new(Station::new(root, settings.lease, settings.rescan, drain));
    let board = Arc::new(Board::default());
    if let Some(cache) = &cache {
        board.put_up("cache", cache.clone());
    }
    let name = station.root.site.root.to_string();
    board.put_up(&name, station.clone());
    board.put_up(&name, Arc::new(station.root.site.clone()));
    let worker = settings
        .merging
        .map(|merging| embedded(&station, &merging, settings.scope, isolation, &board));
    let worker = worker.transpose()?;
    let api = Arc::new(Api::new(station.clone(), table.outputs, bearer, board));
    let (close, closed) = watch::channel(false);
    eprintln!("serving {} on http://{address}", station.root.site.root);
    let front = api.serve(listener, closed);
    let stop_answering = move || {
        close.send_replace(true);
    };
    station.run(worker, front, stop_answering).await?;
    caching::settle(cache).await;
    Ok(ExitCode::SUCCESS)
}

/// The worker of this very process.
fn embedded(
    station: &Station,
    merging: &Merging,
    scope: Scope,
    isolation: Isolation,
    board: &Board,
) -> Result<Endless> {
    let site = station.root.site.clone();
    let offer = Offer {
        isolates: true,
        scope,
    };
    let desk = Arc::new(OwnDesk::new(station.root.clone(), station.watch.clone(), offer)?);
    let tally = Arc::new(Tally::default());
    let figures = WorkerFigures {
        root: site.root.to_string(),
        desk: desk.clone(),
        tally: tally.clone(),
    };
    board.put_up(&figures.root.clone(), Arc::new(figures));
    let hands = Hands {
        desk,
        site,
        merges: Merges::default(),
        threads: merging.threads,
        range_bytes: merging.range_bytes,
        isolation: Some(isolation),
        reread: false,
        progress: ProgressView::silent(),
        drain: station.drain.clone(),
        wasted: Arc::default(),
        next: None,
        cut: Arc::default(),
    };
    Ok(Endless::new(hands, merging.workers, merging.memory_bytes, tally))
}
