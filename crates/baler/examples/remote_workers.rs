//! The coordinator is in the writer's process, and workers are elsewhere: as many as are started, on any machine.
//!
//! ```text
//! cargo run --example remote_workers
//! ```
//!
//! `baler worker URL` would do as well: these are workers of a program's own, which know a format of its own too.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use baler::embed::{Baler, RemoteWorker};
use baler::settings::{Merging, TableSettings};
use baler::station::RescanSettings;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for day in 0..6 {
        let day = folder.path().join(format!("day={day}"));
        std::fs::create_dir(&day)?;
        baler::demo_data::write(&day, 50, || {})?;
    }
    println!("300 files are written");
    let rescan = RescanSettings {
        every: Some(Duration::from_millis(200)),
        settle: Duration::ZERO,
        adopt_foreign: false,
    };
    let writer = Baler::builder(&folder.path().display().to_string())
        .folder(TableSettings::unsaid(), rescan)
        .listen("127.0.0.1:0".parse()?)
        .start()
        .await?;
    let url = writer.url().context("it listens")?;
    println!("the writer coordinates at {url}");

    let merging = Merging::new(Some(1), Some(1), 128 << 20, 1 << 30)?;
    let mut workers = Vec::new();
    for _ in 0..3 {
        let worker = RemoteWorker::builder([url.as_str()]).merging(merging);
        workers.push(worker.start().await?);
    }
    let files = || {
        let state = writer.state();
        state
            .tables
            .values()
            .map(|table| table.files.len())
            .sum::<usize>()
    };
    while files() != 6 || !writer.state().jobs.is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for (number, worker) in workers.iter().enumerate() {
        let done = worker.tally().committed.load(Ordering::Relaxed);
        println!("worker {number} has done {done} jobs");
    }
    println!("one file is left of each day");
    for worker in workers {
        worker.stop().await?;
    }
    writer.stop().await
}
