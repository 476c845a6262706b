//! The shapes of a deployment: whoever is put together how, the same rows come out, and nobody disturbs anybody.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use baler::embed::{Baler, Builder, Figures, Metrics, RemoteWorker};
use baler::settings::Merging;
use baler_core::file::Origin;
use baler_core::ids::TableName;
use baler_core::job::JobStatus;
use baler_core::table::{Catalog, MergeSpec, SortColumn, TableSpec};

use crate::support::{rows_of, write_rows};

const TABLE: &str = "events";
const FILES: i64 = 24;
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn spec() -> TableSpec {
    let sort = SortColumn {
        name: "key".into(),
        descending: false,
        nulls_first: false,
    };
    TableSpec {
        merge: MergeSpec {
            sort: vec![sort],
            ..MergeSpec::default()
        }
        .into(),
        ..TableSpec::of(Catalog::Native)
    }
}

fn merging() -> Merging {
    Merging::new(Some(2), Some(1), 128 << 20, 1 << 30).unwrap()
}

/// A part of a fleet on this root, which it makes one.
fn part(root: &Path) -> Builder {
    let root = root.display().to_string();
    Baler::builder(&root)
        .table(TABLE, spec())
        .lease(Duration::from_secs(2))
}

pub(super) fn run(story: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(story);
    runtime.shutdown_background();
}

/// Writes files and hands them over.
async fn write(writer: &Baler, root: &Path, files: std::ops::Range<i64>) {
    for file in files {
        let name = format!("inbox/{file:03}.parquet");
        std::fs::create_dir_all(root.join("inbox")).unwrap();
        let rows: Vec<(i64, i64, &str)> = (0..50).map(|row| (row * 97 % 50, file, "x")).collect();
        write_rows(&root.join(&name), &rows);
        let added = writer.add_parquet(TABLE, &[&name]).await.unwrap();
        assert!(added.is_clean(), "{added:?}");
    }
}

/// Waits until what was handed over is merged into one file, or into two where two merges of equal size ended side by side; and
/// looks at their rows.
async fn settled(writer: &Baler, root: &Path, files: i64) {
    let begun = Instant::now();
    loop {
        writer.root().replica.catch_up().await.unwrap();
        let state = writer.state();
        let live = &state.tables[&TableName::from(TABLE)].files;
        let merged = live.values().all(|file| file.origin != Origin::Foreign);
        if live.len() <= 2 && merged && state.jobs.is_empty() {
            let mut counted: BTreeMap<String, u64> = BTreeMap::new();
            for row in live.keys().flat_map(|path| rows_of(&root.join(path.to_string()))) {
                *counted.entry(row).or_default() += 1;
            }
            assert_eq!(counted.values().sum::<u64>(), 50 * u64::try_from(files).unwrap());
            assert_eq!(
                counted.len(),
                50 * usize::try_from(files).unwrap(),
                "no row is there twice"
            );
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "left are {live:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn committed(parts: &[&Baler]) -> u64 {
    let tally = |part: &&Baler| part.tally().committed.load(Ordering::Relaxed);
    parts.iter().map(tally).sum()
}

#[test]
fn coordinator_and_worker_are_embedded_in_the_writer() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let writer = part(root.path()).worker(merging()).start().await.unwrap();
        write(&writer, root.path(), 0..FILES).await;
        settled(&writer, root.path(), FILES).await;
        assert!(committed(&[&writer]) > 0);
        assert_eq!(writer.pressure(TABLE).files, 0);
        writer.stop().await.unwrap();
    });
}

#[test]
fn the_writer_coordinates_and_remote_workers_merge() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let writer = part(root.path()).listen(listen).start().await.unwrap();
        let url = writer.url().unwrap();
        let worker = || RemoteWorker::builder([url.as_str()]).merging(merging()).start();
        let workers = [worker().await.unwrap(), worker().await.unwrap()];
        write(&writer, root.path(), 0..FILES).await;
        settled(&writer, root.path(), FILES).await;
        let done = workers
            .iter()
            .map(|worker| worker.tally().committed.load(Ordering::Relaxed));
        assert!(done.sum::<u64>() > 0);
        for worker in workers {
            worker.stop().await.unwrap();
        }
        writer.stop().await.unwrap();
    });
}

#[test]
fn a_standalone_coordinator_merges_for_a_writer_that_only_writes() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let writer = part(root.path()).start().await.unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let standalone = part(root.path()).listen(listen).worker(merging());
        let standalone = standalone.start().await.unwrap();
        write(&writer, root.path(), 0..FILES).await;
        settled(&writer, root.path(), FILES).await;
        assert!(committed(&[&standalone]) > 0);
        standalone.stop().await.unwrap();
        writer.stop().await.unwrap();
    });
}

#[test]
fn a_standalone_coordinator_without_a_worker_grants_to_remote_ones() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let writer = part(root.path()).start().await.unwrap();
        let token = "0123456789abcdef0123456789abcdef";
        let listen = "127.0.0.1:0".parse().unwrap();
        let standalone = part(root.path()).listen(listen).token(token);
        let standalone = standalone.start().await.unwrap();
        let url = standalone.url().unwrap();
        let stranger = RemoteWorker::builder([url.as_str()]).merging(merging());
        let error = stranger.start().await.unwrap_err();
        assert!(error.to_string().contains("token"), "{error:#}");
        let worker = RemoteWorker::builder([url.as_str()])
            .token(token)
            .merging(merging());
        let worker = worker.start().await.unwrap();
        write(&writer, root.path(), 0..FILES).await;
        settled(&writer, root.path(), FILES).await;
        worker.stop().await.unwrap();
        standalone.stop().await.unwrap();
        writer.stop().await.unwrap();
    });
}

#[test]
fn workers_share_a_root_with_nothing_but_its_files_between_them() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let writer = part(root.path()).start().await.unwrap();
        let mut workers = Vec::new();
        for _ in 0..3 {
            workers.push(part(root.path()).worker(merging()).start().await.unwrap());
        }
        write(&writer, root.path(), 0..FILES).await;
        settled(&writer, root.path(), FILES).await;
        for worker in workers {
            worker.stop().await.unwrap();
        }
        writer.stop().await.unwrap();
    });
}

#[test]
fn a_standalone_coordinator_beside_an_embedded_one_disturbs_nobody() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let writer = part(root.path()).worker(merging()).start().await.unwrap();
        for round in 0..4 {
            let listen = "127.0.0.1:0".parse().unwrap();
            let standalone = part(root.path()).listen(listen).worker(merging());
            let standalone = standalone.start().await.unwrap();
            write(&writer, root.path(), round * 6..(round + 1) * 6).await;
            standalone.stop().await.unwrap();
        }
        settled(&writer, root.path(), FILES).await;
        let state = writer.state();
        let ended: Vec<JobStatus> = state.recent.iter().map(|job| job.status).collect();
        assert!(
            ended.iter().all(|status| *status == JobStatus::Committed),
            "no job was taken away: {ended:?}"
        );
        writer.stop().await.unwrap();
    });
}

#[derive(Clone, Debug, Default)]
struct Heard(std::sync::Arc<std::sync::Mutex<Vec<Figures>>>);

impl Metrics for Heard {
    fn record(&self, figures: &Figures) {
        self.0.lock().unwrap().push(figures.clone());
    }
}

#[test]
fn the_callers_runtime_runs_it_and_the_callers_metrics_hear_of_it() {
    let theirs = tokio::runtime::Builder::new_multi_thread();
    let theirs = { theirs }.worker_threads(1).enable_all().build().unwrap();
    let heard = Heard::default();
    run(async {
        let root = tempfile::tempdir().unwrap();
        let writer = part(root.path())
            .worker(merging())
            .runtime(theirs.handle().clone())
            .metrics(heard.clone());
        let writer = writer.start().await.unwrap();
        write(&writer, root.path(), 0..FILES).await;
        settled(&writer, root.path(), FILES).await;
        assert!(theirs.metrics().num_alive_tasks() > 0);
        writer.stop().await.unwrap();
        let last = heard.0.lock().unwrap().last().cloned().unwrap();
        assert!(last.committed > 0 && last.bytes_in > last.bytes_out, "{last:?}");
        assert_eq!((last.running, last.jobs), (0, 0));
    });
    theirs.shutdown_background();
}

#[test]
fn what_cannot_be_started_says_why() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let wide = part(root.path())
            .listen("0.0.0.0:0".parse().unwrap())
            .start()
            .await;
        let error = wide.unwrap_err().to_string();
        assert!(error.contains("Give a token"), "{error}");
        let short = part(root.path()).lease(Duration::from_millis(10)).start().await;
        assert!(short.unwrap_err().to_string().contains("at least 1s"));
        let nowhere = tempfile::tempdir().unwrap();
        let nothing = Baler::builder(&nowhere.path().display().to_string())
            .start()
            .await;
        assert!(nothing.unwrap_err().to_string().contains("not a Baler root"));
    });
}

#[test]
fn an_embedded_worker_merges_in_children() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let writer = part(root.path()).worker(merging());
        let writer = writer.isolate(env!("CARGO_BIN_EXE_baler")).start().await.unwrap();
        write(&writer, root.path(), 0..FILES).await;
        settled(&writer, root.path(), FILES).await;
        assert!(committed(&[&writer]) > 0);
        writer.stop().await.unwrap();
    });
}

#[test]
fn a_remote_worker_merges_in_children() {
    run(async {
        let root = tempfile::tempdir().unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let writer = part(root.path()).listen(listen).start().await.unwrap();
        let url = writer.url().unwrap();
        let worker = RemoteWorker::builder([url.as_str()]).merging(merging());
        let worker = worker.isolate(env!("CARGO_BIN_EXE_baler")).start().await.unwrap();
        write(&writer, root.path(), 0..FILES).await;
        settled(&writer, root.path(), FILES).await;
        assert!(worker.tally().committed.load(Ordering::Relaxed) > 0);
        worker.stop().await.unwrap();
        writer.stop().await.unwrap();
    });
}
