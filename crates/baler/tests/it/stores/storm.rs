//! The store refuses every second request for a minute, whatever is asked: a fleet at work slows down, nothing fails for
//! good, and once the store is well again everything is finished.

use std::time::Duration;

use baler_teststores::{Fault, FaultProxy, shared_seaweed};
use tokio::time::Instant;

use super::attrition::Mortal;
use super::place::Place;
use crate::ledger::Ledger;
use crate::support::tenth_unless_soaking;

const STORM_SECONDS: u32 = 60;
const WORKERS: usize = 3;

/// Requests a second of each process in the second half of it.
const RATE_MAX: f64 = 40.0;

const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_of_all_requests_refused_for_a_minute_fails_nothing_for_good() {
    let Some(server) = shared_seaweed().await else {
        return;
    };
    let bucket = server.new_bucket().await.unwrap();
    let proxy = FaultProxy::start(server.s3()).await.unwrap();
    let place = Place::in_bucket("SeaweedFS", server.s3(), &bucket);
    let faulty = Place::in_bucket("SeaweedFS behind a proxy", proxy.s3(), &bucket);
    let (folders, files) = (40, 5);
    place.write("data/first.parquet", &[(0, 0, "first")]).await;
    assert_eq!(faulty.compact("data", &["--sort-by", "key"]).code, 0);
    place.write_many("data", folders, files, 200).await;
    let before = place.rows("data").await;

    let root = faulty.at("data");
    let worker = [
        "worker",
        &root,
        "--settle",
        "0s",
        "--rescan",
        "2s",
        "--lease",
        "5s",
        "--workers",
        "1",
        "--threads",
        "1",
    ];
    let mut fleet: Vec<Mortal> = (0..WORKERS).map(|_| Mortal::start(&faulty, &worker)).collect();
    until(&place, "somebody works", |left| left < folders * files).await;

    proxy.storm(50, Fault::Answer(503));
    let storm = tenth_unless_soaking(STORM_SECONDS);
    let half = Duration::from_secs(storm.into()) / 2;
    tokio::time::sleep(half).await;
    // By now everybody has been told to slow down.
    proxy.take_exchanges();
    let began = Instant::now();
    tokio::time::sleep(half).await;
    proxy.clear();
    let requests = proxy.take_exchanges().len();
    let rate = requests as f64 / began.elapsed().as_secs_f64() / WORKERS as f64;

    // A file that a listing missed in the storm came too late for its folder's merge, and waits for company.
    until(&place, "everything is merged", |left| left <= 2 * folders + 1).await;
    let plan = || place.baler(&["plan", &place.at("data"), "--settle", "0s", "--json"]);
    let merged = Instant::now();
    while plan().number("jobs") > 0 {
        assert!(merged.elapsed() < PATIENCE, "there is something to do for ever");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    for process in &mut fleet {
        assert_eq!(process.leave(), Some(0), "{}", process.said());
    }
    // A process that leaves takes replaced files out of sight if that is quickly done. Who was slowed down may leave some to the next.
    assert_eq!(place.baler(&["gc", &place.at("data")]).code, 0);
    assert_eq!(place.rows("data").await, before);
    let status = place.baler(&["status", &place.at("data"), "--json"]).json();
    assert_eq!(status["quarantined"], serde_json::json!([]), "{status}");
    let ledger = Ledger::read(place.journal_store("data")).await;
    println!(
        "figure: half of all requests refused for {storm} s under {WORKERS} workers: {rate:.1} requests a second and process, {} \
         attempts given back, nothing failed for good",
        ledger.released.len()
    );
    assert!(rate < RATE_MAX, "{rate} requests a second and process");
}

/// Waits until so many data files are left.
async fn until(place: &Place, what: &str, so: impl Fn(i64) -> bool) {
    let began = Instant::now();
    loop {
        let left = i64::try_from(place.data_files("data").await.len()).unwrap();
        if so(left) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: {left} files are left");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}
