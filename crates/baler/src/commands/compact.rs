//! `baler compact`: adopt what is there, merge until nothing is left to do.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use baler_core::state::Table;
use baler_core::table::Catalog;

use super::{caching, exit_code, print_json};
use crate::cli::CompactArgs;
use crate::report::ProgressView;
use crate::root::Root;
use crate::run;
use crate::settings::{RunSettings, TableSettings};
use crate::worker::child::Isolation;

/// Runs it.
pub async fn run(args: &CompactArgs) -> Result<ExitCode> {
    let mut settings = RunSettings::check(args)?;
    let table = TableSettings::check(&args.plain)?;
    let isolation = Isolation::with_own_program(table.outputs.clone())?;
    settings.isolation = Some(isolation.of_every_merge(args.isolate)?);
    let progress = if args.json {
        ProgressView::silent()
    } else {
        ProgressView::on_terminal()
    };
    let cache = caching::open(&args.cache)?;
    let mut root = Root::open_for_compaction(&args.root, &table).await?;
    root.site.cache.clone_from(&cache);
    let root = Arc::new(root);
    root.tables(settings.scope.table.as_ref())?;
    warn_before_first_deletion(&root, &progress);
    let drain = drain_on_interrupt();
    let report = run::compact(root, &settings, &table, &progress, drain).await?;
    caching::settle(cache).await;
    match args.json {
        true => print_json(&report)?,
        false => print!("{report}"),
    }
    if let Some(error) = &report.error {
        eprintln!("error: {error}");
    }
    Ok(exit_code(report.is_clean()))
}

/// Readers who list a folder can meet old and new files at once; they should hear of it before it happens.
fn warn_before_first_deletion(root: &Root, progress: &ProgressView) {
    let state = root.replica.state();
    let untouched = |table: &Table| {
        table.files.is_empty() && table.consumed.is_empty() && table.spec.catalog == Catalog::InPlace
    };
    if state.recent.is_empty() && state.tables.values().any(untouched) {
        progress.say(
            "Compacting in place: whoever lists this folder while it runs may for a moment see a file and its \
             replacement, or miss one. With --output the folder stays as it is.",
        );
    }
}

/// The first Ctrl-C (or SIGTERM) ends the run cleanly; a second one ends it at once, which is just as safe.
pub(super) fn drain_on_interrupt() -> Arc<AtomicBool> {
    let drain = Arc::new(AtomicBool::new(false));
    let flag = drain.clone();
    tokio::spawn(async move {
        interrupted().await;
        flag.store(true, Ordering::Relaxed);
        interrupted().await;
        std::process::exit(130);
    });
    drain
}

async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
