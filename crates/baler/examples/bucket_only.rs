//! No coordinator at all: workers that have nothing but the root in common, and agree through its journal.
//!
//! ```text
//! cargo run --example bucket_only
//! ```

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use baler::embed::Baler;
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
    println!("300 files lie there");
    let rescan = RescanSettings {
        every: Some(Duration::from_millis(500)),
        settle: Duration::ZERO,
        adopt_foreign: false,
    };
    let merging = Merging::new(Some(1), Some(1), 128 << 20, 1 << 30)?;
    let mut workers = Vec::new();
    for _ in 0..3 {
        let worker = Baler::builder(&folder.path().display().to_string())
            .folder(TableSettings::unsaid(), rescan.clone())
            .worker(merging);
        workers.push(worker.start().await?);
    }
    let is_done = |worker: &Baler| {
        let state = worker.state();
        let files: usize = state.tables.values().map(|table| table.files.len()).sum();
        files == 6 && state.jobs.is_empty()
    };
    while !workers.iter().all(is_done) {
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
    Ok(())
}
