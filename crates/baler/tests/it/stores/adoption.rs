//! Buckets with far more objects than anybody writes in a test, on a store as slow as a distant one.

use std::process::Child;
use std::time::{Duration, Instant};

use baler_teststores::{BUCKET, Conditions, Objects, Synthetic};
use bytes::Bytes;

use super::place::Place;
use super::running::kill;
use crate::support::{Ended, ended, parquet_of, tenth_unless_soaking};

const LATENCY: Duration = Duration::from_millis(30);
const PLAN_MAX: Duration = Duration::from_secs(5 * 60);
const PEAK_BYTES_MAX: u64 = 1_000_000_000;

/// So many objects of about 20 KB.
async fn store_of(objects: u64, folders: u64, latency: Duration) -> (Synthetic, Place) {
    let bodies = (0..4).map(|body| Bytes::from(about_20_kb(body)));
    let objects = Objects::new(objects, folders, bodies.collect());
    let store = Synthetic::start(objects, latency, Conditions::Kept)
        .await
        .unwrap();
    let place = Place::in_bucket("synthetic store", store.s3(), BUCKET);
    (store, place)
}

fn about_20_kb(seq: i64) -> Vec<u8> {
    let texts: Vec<String> = (0..400)
        .map(|_| format!("{:064x}", rand::random::<u128>()))
        .collect();
    let rows = texts.iter().zip(0..).map(|(text, key)| (key, seq, text.as_str()));
    parquet_of(&rows.collect::<Vec<_>>())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adoption_of_a_large_bucket_is_planned_in_minutes() {
    let objects = u64::from(tenth_unless_soaking(400_000));
    let (store, place) = store_of(objects, objects / 1_000, LATENCY).await;
    let began = Instant::now();
    let root = place.at("data");
    let child = place
        .command(&["plan", &root, "--json"])
        .stdout(std::process::Stdio::null())
        .spawn();
    let (peak, plan) = peak_of(child.unwrap()).await;
    let took = began.elapsed();
    assert_eq!(plan.code, 0, "{plan:?}");
    let counts = store.counts();
    println!(
        "figure: plan of {objects} objects at {} ms latency: {:.0} s, peak {} MB, {} LIST, {} GET, {} HEAD, at most {} at once",
        LATENCY.as_millis(),
        took.as_secs_f64(),
        peak / 1_000_000,
        counts.lists,
        counts.gets,
        counts.heads,
        counts.at_once_max,
    );
    // One read a file, and one that tells a journal above that is not there from a bucket that is not there. Then the first jobs'
    // footers once more, for the ways that their rows will go: never more than this, however large the bucket is.
    let looked_into = 1_000;
    assert_eq!(counts.gets, objects + 1 + looked_into);
    assert!(counts.lists <= objects / 1_000 + 20, "{counts:?}");
    assert_eq!((counts.puts, counts.deletes), (0, 0), "a plan writes nothing");
    assert!(took < PLAN_MAX, "{took:?}");
    assert!(peak < PEAK_BYTES_MAX, "{peak} bytes");
}

/// Waits for it, and looks at its memory meanwhile.
async fn peak_of(mut child: Child) -> (u64, Ended) {
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (peak, ended(child.wait_with_output().unwrap()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adoption_is_merged_before_its_last_footer_is_read() {
    let objects = 12_000;
    let (store, place) = store_of(objects, objects / 500, LATENCY).await;
    let child = place
        .compact_command("data", &["--workers", "1"])
        .spawn()
        .unwrap();
    let began = Instant::now();
    let read = loop {
        let outputs = place.data_files("data/part=00000").await;
        let read = store.counts().gets;
        if outputs.iter().any(|name| name.starts_with("baler-")) {
            break read;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "no output");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    kill(child);
    println!("figure: first output after {read} reads of {objects} files");
    assert!(
        read < objects,
        "all footers were read before the first output: {read}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adoption_killed_half_way_reads_no_footer_twice() {
    let objects = 20_000;
    let (store, place) = store_of(objects, 10, Duration::from_millis(5)).await;
    // Nothing is small enough to be merged, so every read is a footer's.
    let flags = ["--max-bytes", "1B", "--lease", "1s"];
    let child = place.compact_command("data", &flags).spawn().unwrap();
    let began = Instant::now();
    while store.counts().gets < objects / 2 {
        assert!(began.elapsed() < Duration::from_secs(120), "{:?}", store.counts());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(kill(child), "it was under way");
    let before = store.counts().gets;
    let run = place.compact("data", &flags);
    assert_eq!((run.code, run.number("files_after")), (0, objects), "{run:?}");
    let again = store.counts().gets - before;
    println!("figure: adoption of {objects} files killed after {before} reads took {again} more");
    // What was read and not yet in the journal: a few batches of 2,000 under way.
    let twice = (before + again).saturating_sub(objects);
    assert!(twice < objects / 2, "{twice} were read twice");
    assert!(again < objects * 3 / 4, "{again} were read after {before}");
}
