//! A watcher and the workers that it answers for, on a real journal in a folder.

use baler_core::file::{File, FilePath, Identity};
use baler_core::ids::WorkerId;
use baler_core::names::Attempt;
use baler_core::request::{Poll, Scope};
use tempfile::TempDir;

use super::*;
use crate::desk::Progress;
use crate::report::{Heard, LeaseStatus};
use crate::root::{machine_now, plain_table};
use crate::settings::TableSettings;
use crate::store::Location;

const LEASE: Duration = Duration::from_secs(1);

struct Story {
    _dir: TempDir,
    root: Arc<Root>,
}

impl Story {
    /// A root with two small files, enough for a job.
    async fn begin() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::Local(dir.path().to_owned());
        let root = Root::open_for_compaction(&location, &TableSettings::unsaid())
            .await
            .unwrap();
        let files = ["a.parquet", "b.parquet"].map(small_file).to_vec();
        let evidence = root.replica.state().sequence;
        let table = plain_table();
        let added = Request::AddFiles {
            table,
            evidence,
            files,
        };
        root.replica.submit(added).await.unwrap();
        Self {
            _dir: dir,
            root: Arc::new(root),
        }
    }

    fn watch(&self) -> Arc<Watch> {
        Arc::new(Watch::new(self.root.clone(), LEASE))
    }

    fn is_held(&self, attempt: &Attempt) -> bool {
        self.root.replica.state().lease_held(attempt).is_some()
    }
}

fn small_file(name: &str) -> Arc<File> {
    let identity = Identity {
        tag: "1".into(),
        bytes: 100,
        modified: machine_now(),
    };
    Arc::new(File::found(FilePath::in_root(name), identity, 1))
}

/// A worker elsewhere gets the job through this watcher.
async fn granted(watch: &Watch) -> Attempt {
    let poll = Poll {
        worker: WorkerId::from("elsewhere"),
        watcher: watch.id(),
        embedded: false,
        host: None,
        slots: 1,
        memory: None,
        isolates: false,
        scope: Scope::default(),
    };
    let grants = watch.grant(poll).await.unwrap();
    grants[0].attempt()
}

async fn renewed(watch: &Watch, attempt: Attempt) -> Verdict {
    watch.renew(&[(attempt, Progress::default())]).await[0]
}

/// Trap: a watcher whose own signs of life are not taken any more goes on saying yes, while others take over from it.
#[tokio::test]
async fn a_watcher_says_yes_only_while_its_own_last_sign_of_life_is_young() {
    let story = Story::begin().await;
    let watch = story.watch();
    let attempt = granted(&watch).await;
    assert_eq!(
        renewed(&watch, attempt).await,
        Verdict::Kept,
        "a grant is a sign of life"
    );
    tokio::time::sleep(LEASE + LEASE / 4).await;
    assert_eq!(renewed(&watch, attempt).await, Verdict::Unsure);
    watch.beat().await.unwrap();
    assert_eq!(renewed(&watch, attempt).await, Verdict::Kept);
}

/// Trap: only those are timed who were heard of once, and a grant whose answer was lost is held for ever.
#[tokio::test]
async fn a_lease_is_timed_from_its_grant_even_if_nobody_ever_renews_it() {
    let story = Story::begin().await;
    let watch = story.watch();
    let timing = watch.clone();
    let timing = tokio::spawn(async move { timing.time_leases().await });
    let attempt = granted(&watch).await;
    tokio::time::sleep(LEASE / 2).await;
    assert!(story.is_held(&attempt), "it was let go before its time");
    tokio::time::sleep(LEASE * 2).await;
    assert!(!story.is_held(&attempt), "it is held for ever");
    assert_eq!(renewed(&watch, attempt).await, Verdict::Lost);
    timing.abort();
}

/// Trap: a replica that has stopped answers at once, and whoever waits for it in a loop does nothing else any more.
#[test]
fn a_watcher_whose_replica_has_stopped_does_not_spin() {
    let (done, ended) = std::sync::mpsc::channel();
    // On a thread of its own, which a loop without a pause would never give back.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let story = Story::begin().await;
            let watch = story.watch();
            story.root.replica.clone().close().await;
            let timing = tokio::time::timeout(LEASE / 2, watch.time_leases()).await;
            done.send(timing.is_err()).unwrap();
        });
    });
    assert_eq!(ended.recv_timeout(Duration::from_secs(30)), Ok(true));
}

#[tokio::test]
async fn a_worker_that_renews_keeps_its_lease() {
    let story = Story::begin().await;
    let watch = story.watch();
    let (timing, alive) = (watch.clone(), watch.clone());
    let timing = tokio::spawn(async move { timing.time_leases().await });
    let alive = tokio::spawn(async move { alive.keep_alive().await });
    let attempt = granted(&watch).await;
    for _ in 0..12 {
        tokio::time::sleep(LEASE / 4).await;
        assert_eq!(renewed(&watch, attempt).await, Verdict::Kept);
    }
    timing.abort();
    alive.abort();
}

/// Trap: a coordinator that slept takes its own sleep for the silence of its workers, and robs them all.
#[tokio::test]
async fn a_watcher_that_slept_gives_its_workers_time_to_be_heard() {
    let story = Story::begin().await;
    let watch = story.watch();
    let attempt = granted(&watch).await;
    assert!(watch.silent_workers().is_empty());
    std::thread::sleep(LEASE * 2);
    assert!(watch.silent_workers().is_empty(), "it slept, not the worker");
    for _ in 0..5 {
        std::thread::sleep(LEASE / 4);
        let _ = watch.silent_workers();
    }
    assert_eq!(watch.silent_workers(), [attempt]);
}

/// A worker that lost its watcher shows its token to another, which answers for it from then on.
#[tokio::test]
async fn a_token_that_is_shown_to_another_watcher_passes_to_it() {
    let story = Story::begin().await;
    let (first, second) = (story.watch(), story.watch());
    let attempt = granted(&first).await;
    assert_eq!(renewed(&second, attempt).await, Verdict::Unsure);
    assert_eq!(second.rewatch(&[attempt]).await, [Verdict::Kept]);
    assert_eq!(renewed(&second, attempt).await, Verdict::Kept);
    assert_eq!(
        renewed(&first, attempt).await,
        Verdict::Unsure,
        "it is another's now"
    );
    // The first one heard nothing of it for long, and must leave it alone all the same.
    first.let_go(&[attempt]).await.unwrap();
    assert!(story.is_held(&attempt));
    let unknown = Attempt {
        job: baler_core::ids::JobId(99),
        ..attempt
    };
    assert_eq!(
        second.rewatch(&[unknown, attempt]).await,
        [Verdict::Lost, Verdict::Kept]
    );
}

/// Trap: an attempt ends in a panic, nobody works on its range any more, and its living process holds it for ever.
#[tokio::test]
async fn a_lease_of_this_process_that_nobody_works_on_is_let_go() {
    let story = Story::begin().await;
    let watch = story.watch();
    let (timing, alive) = (watch.clone(), watch.clone());
    let timing = tokio::spawn(async move { timing.time_leases().await });
    let alive = tokio::spawn(async move { alive.keep_alive().await });
    let attempt = granted(&watch).await;
    let holding = watch.leases().take(attempt);
    tokio::time::sleep(LEASE * 3).await;
    assert!(story.is_held(&attempt), "somebody works on it");
    drop(holding);
    tokio::time::sleep(LEASE * 3).await;
    assert!(!story.is_held(&attempt));
    timing.abort();
    alive.abort();
}

/// How far an attempt is stands in no journal: whoever answers for it has heard it, and nobody else has.
#[tokio::test]
async fn how_far_an_attempt_is_is_known_to_its_watcher_alone() {
    let story = Story::begin().await;
    let (watch, other) = (story.watch(), story.watch());
    let attempt = granted(&watch).await;
    assert!(watch.silent_workers().is_empty());
    let said = |done| Progress {
        done,
        total: 1_000,
        ..Progress::default()
    };
    let state = story.root.replica.state();
    let told = |heard: &Heard| LeaseStatus::of_job(&state.jobs[&attempt.job], heard).remove(0);
    assert_eq!(
        told(&Heard::by(&watch)).bytes_done,
        None,
        "it has said nothing yet"
    );
    watch.renew(&[(attempt, said(100))]).await;
    let first = told(&Heard::by(&watch));
    assert_eq!(
        (first.bytes_done, first.seconds_left),
        (Some(100), None),
        "one look is no rate"
    );
    tokio::time::sleep(Duration::from_millis(100)).await;
    watch.renew(&[(attempt, said(300))]).await;
    let second = told(&Heard::by(&watch));
    let (rate, left) = (second.bytes_per_second.unwrap(), second.seconds_left.unwrap());
    assert!(rate > 0.0 && rate <= 2_000.0, "{rate}");
    assert!((left - 700.0 / rate).abs() < 1e-9, "{left}");
    for heard in [Heard::by(&other), Heard::default()] {
        let unheard = told(&heard);
        assert_eq!((unheard.bytes_done, unheard.seconds_left), (None, None));
        assert_eq!(unheard.worker, "elsewhere");
    }
}
