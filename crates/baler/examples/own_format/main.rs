//! A key-value store with files and a manifest of its own, compacted by a fleet of worker processes.
//!
//! ```text
//! cargo run --example own_format
//! ```
//!
//! The store's process writes, and is the coordinator. Workers are processes of their own, which know the format and nothing
//! else; one of them is killed on the way. `format.rs` says how files are read and written, `manifest.rs` which are
//! live, `store.rs` is the store.

mod format;
mod manifest;
mod store;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use baler::embed::{Baler, RemoteWorker};

use store::{FourByFour, Store, TABLE};

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [] => run().await,
        [word, url] if word == "worker" => work(url).await,
        _ => anyhow::bail!("usage: own_format, or own_format worker URL"),
    }
}

/// A worker: it merges the store's files until it is killed, or its store is gone.
async fn work(url: &str) -> Result<()> {
    let worker = RemoteWorker::builder([url]).format(format::merge());
    worker.start().await?.until_ended().await
}

/// The store, and the coordinator in its process.
async fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut store = Store::open(folder.path())?;
    let baler = Baler::builder(&folder.path().display().to_string())
        .table(TABLE, store::table())
        .policy(TABLE, FourByFour)
        .catalog(TABLE, store.manifests().clone())
        .lease(Duration::from_secs(2))
        .listen("127.0.0.1:0".parse()?)
        .start()
        .await?;
    let url = baler.url().context("it listens")?;
    println!("the store and its coordinator are at {url}");
    let mut workers = Workers(vec![start_worker(&url)?, start_worker(&url)?]);
    println!("two workers are started, as processes of their own");

    for round in 0..64 {
        for number in 0..200 {
            store.add(&format!("counter/{:03}", (round * 200 + number) * 7 % 500), 1);
            store.set(&format!("tmp/{round}/{number}"), "soon forgotten");
        }
        store.flush(&baler).await?;
        // A writer that is far ahead waits.
        while baler.pressure(TABLE).files > 16 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if round == 32 {
            workers.0[0].kill()?;
            workers.0[0].wait()?;
            println!("half of it is written: one worker is killed, and a third one is started");
            workers.0.push(start_worker(&url)?);
        }
    }
    println!("64 files are written, with 12,800 counts");

    let begun = Instant::now();
    let live = || store.manifests().present();
    while live()?.files.len() > 1 {
        ensure!(begun.elapsed() < Duration::from_secs(120), "it takes too long");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (manifest, rows) = (live()?, store.read_all()?);
    let counts = rows
        .values()
        .map(|value| value.parse::<i64>().unwrap_or(0))
        .sum::<i64>();
    println!(
        "{} file is live, at version {} of the manifest: {} keys, {counts} counts",
        manifest.files.len(),
        manifest.version,
        rows.len()
    );
    ensure!(counts == 12_800 && rows.len() == 500, "every count is there once");
    drop(workers);
    baler.stop().await
}

fn start_worker(url: &str) -> Result<Child> {
    let this = std::env::current_exe()?;
    Ok(Command::new(this).args(["worker", url]).spawn()?)
}

/// Workers end with the store.
struct Workers(Vec<Child>);

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            // One of them is dead already.
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}
