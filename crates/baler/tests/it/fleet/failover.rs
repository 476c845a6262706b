//! What a dead worker held is running elsewhere soon: within its lease time and a poll, as the journal's own times say.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use baler_core::event::Event;
use baler_core::ids::{RangeId, Sequence};
use baler_core::time::StoreTime;
use baler_journal::store::LocalStore;
use baler_journal::{Access, Journal, ObjectLog};

use super::Fleet;
use super::fencing::{at_rest, is_of, long, tidy};
use super::processes::wait_until;

const LEASE: Duration = Duration::from_secs(3);

/// The journal is followed every second, and a loaded machine takes a while to say so.
const POLL_MAX: Duration = Duration::from_millis(1_100 + 2_400);

/// A range that was granted: to whom, and when the store took the grant.
struct Leased {
    worker: String,
    at: StoreTime,
}

/// All grants of ranges of keys, in order.
async fn leased(fleet: &Fleet) -> Vec<Leased> {
    let store = LocalStore::open(fleet.scene.path("data")).unwrap();
    let log = ObjectLog::open(Arc::new(store), Access::ReadOnly).await.unwrap();
    let mut leased = Vec::new();
    for sequence in (1..).map(Sequence) {
        let Some(entry) = log.read(sequence).await.unwrap() else {
            break;
        };
        for event in &entry.batch.events {
            if let Event::RangeLeased {
                worker,
                range: RangeId::Keys(_),
                ..
            } = event
            {
                leased.push(Leased {
                    worker: worker.to_string(),
                    at: entry.modified.unwrap(),
                });
            }
        }
    }
    leased
}

/// One of two workers is killed in the middle of the only job.
async fn assert_failed_over(fleet: &Fleet, places: &[&str], args: &[&str]) {
    let before = fleet.scene.rows("data");
    let args = [&["--threads", "1"], args].concat();
    let mut workers = [fleet.worker(places, &args), fleet.worker(places, &args)];
    let holder = fleet.wait_for_lease();
    fleet.wait_for_attempt();
    let victim = workers.iter_mut().find(|worker| is_of(&holder, worker)).unwrap();
    let died = SystemTime::now();
    victim.kill();
    at_rest(fleet, &before);
    let leased = leased(fleet).await;
    let next: Vec<&Leased> = leased.iter().filter(|lease| lease.worker != holder).collect();
    assert_eq!(
        (leased.len(), next.len()),
        (2, 1),
        "it was granted twice, and once to the heir"
    );
    let died = died.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let took = Duration::from_millis(next[0].at.unix_ms).saturating_sub(died);
    println!(
        "figure: what a dead worker held was running elsewhere after {took:?}, with leases of {LEASE:?}"
    );
    assert!(took <= LEASE + POLL_MAX, "it took {took:?}");
}

/// Trap: a death is noticed only when somebody happens to look, or after several lease times.
#[tokio::test]
async fn a_killed_workers_range_is_running_elsewhere_within_its_lease_time_and_a_poll() {
    let fleet = long();
    let serve = fleet.serve(&["--no-worker", "--lease", "3s"]);
    assert_failed_over(&fleet, &[&serve.url], &[]).await;
    drop(serve);
    tidy(&fleet);
}

#[tokio::test]
async fn the_same_with_nothing_but_the_folder() {
    let fleet = long();
    // Somebody has found the files, and is gone.
    let mut finder = fleet.serve(&["--no-worker"]);
    let files = fleet.scene.data_files("data").len();
    wait_until("all files are known", || fleet.status()["live"]["files"] == files);
    assert_eq!(finder.stop(), Some(0));
    let args = ["--lease", "3s", "--settle", "0s", "--rescan", "never"];
    assert_failed_over(&fleet, &["data"], &args).await;
    tidy(&fleet);
}
