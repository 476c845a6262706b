//! What networks and overloaded servers do to requests, at every step of a run: it ends well or with a clear error, and
//! whatever happened, the next run finishes and every row is there once.

use std::collections::BTreeMap;
use std::time::Duration;

use baler_teststores::{Fault, FaultProxy, shared_seaweed};

use super::place::Place;
use super::running::wait_for_name;
use crate::support::{Ended, ended, parquet_of};

const FLAGS: [&str; 6] = ["--sort-by", "key", "--threads", "1", "--lease", "2s"];

/// A bucket behind a proxy, looked at past it.
struct Stage {
    proxy: FaultProxy,
    /// Without faults, for the story's own looks.
    place: Place,
    /// With faults, for Baler.
    faulty: Place,
}

impl Stage {
    async fn new() -> Option<Self> {
        let server = shared_seaweed().await?;
        let bucket = server.new_bucket().await.unwrap();
        let proxy = FaultProxy::start(server.s3()).await.unwrap();
        Some(Self {
            place: Place::in_bucket("SeaweedFS", server.s3(), &bucket),
            faulty: Place::in_bucket("SeaweedFS behind a proxy", proxy.s3(), &bucket),
            proxy,
        })
    }

    /// Every so many requests from now on go wrong.
    fn storm(&self, method: &'static str, path_part: &str, requests: usize, fault: &Fault) {
        for _ in 0..requests {
            self.proxy.plan(method, path_part, 1, fault.clone());
        }
    }

    /// A run with faults, then one without.
    async fn assert_survives(&self, before: &BTreeMap<String, u64>, what: &str) -> Ended {
        let run = self.faulty.compact("data", &FLAGS);
        let clear = run.code == 0 || run.code == 1 && run.stderr.contains("error: ");
        assert!(clear, "{what}: {run:?}");
        self.proxy.late_ones_landed().await;
        self.proxy.clear();
        let next = self.faulty.compact("data", &FLAGS);
        assert_eq!(next.code, 0, "{what}: {next:?} after {run:?}");
        assert_eq!(
            &self.place.rows("data").await,
            before,
            "{what}: {next:?} after {run:?}"
        );
        run
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_at_every_step_loses_and_doubles_nothing() {
    let Some(stage) = Stage::new().await else { return };
    let faults = [
        Fault::LoseResponse,
        Fault::DropRequest,
        Fault::Answer(503),
        Fault::ForwardThenAnswer(500),
        Fault::CutResponse(20),
        Fault::CutBody(10),
        Fault::ApplyLate(500, Duration::from_millis(400)),
        Fault::DelayResponse(Duration::from_millis(700)),
    ];
    let steps = [
        ("GET", "list-type=2"),
        ("GET", "part-0001"),
        ("HEAD", "part-0001"),
        ("PUT", "_baler/staging"),
        ("PUT", "/baler-"),
        ("HEAD", "/baler-"),
        ("DELETE", "part-0001"),
        ("PUT", "_baler/journal"),
        ("GET", "_baler/journal"),
    ];
    let (mut ended_well, mut happened) = (0, 0);
    for (number, fault) in faults.iter().enumerate() {
        let root = format!("data/case={number}");
        stage.place.write_many(&root, 2, 3, 50).await;
        let before = stage.place.rows("data").await;
        for (method, path_part) in steps {
            // The second such request is in the middle of something.
            stage.proxy.plan(method, path_part, 2, fault.clone());
        }
        let run = stage.assert_survives(&before, &format!("{fault:?}")).await;
        ended_well += u32::from(run.code == 0);
        let exchanges = stage.proxy.take_exchanges();
        let met = exchanges.iter().filter(|exchange| exchange.fault.is_some());
        happened += met.count();
    }
    let gc = stage
        .place
        .baler(&["gc", &stage.place.at("data"), "--now", "--full"]);
    assert_eq!(gc.code, 0, "{gc:?}");
    stage.place.assert_no_orphans("data").await;
    assert!(happened >= faults.len() * 6, "only {happened} faults happened");
    println!(
        "figure: {happened} faults at {} steps of a run: {ended_well} of {} runs ended well, the others with a clear \
         error; nothing lost, doubled or orphaned",
        steps.len(),
        faults.len()
    );
}

/// The store has had enough of us for a while, whatever we ask.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_503_is_sat_out() {
    let Some(stage) = Stage::new().await else { return };
    stage.place.write_many("data", 2, 6, 50).await;
    let before = stage.place.rows("data").await;
    for method in ["GET", "PUT", "HEAD", "DELETE"] {
        stage.storm(method, "part-", 12, &Fault::Answer(503));
        stage.storm(method, "baler-", 4, &Fault::Answer(503));
    }
    let run = stage.assert_survives(&before, "a storm").await;
    assert_eq!(run.code, 0, "{run:?}");
}

/// Outputs of more than one part: every request of an upload fails once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_in_parts_whose_answers_are_lost_is_settled_by_looking() {
    let Some(stage) = Stage::new().await else { return };
    for (number, fault) in [
        Fault::LoseResponse,
        Fault::Answer(503),
        Fault::ForwardThenAnswer(500),
    ]
    .into_iter()
    .enumerate()
    {
        for part in 0..2 {
            let path = format!("data/case={number}/part-{part}.parquet");
            stage.place.put(&path, hard_to_compress(part)).await;
        }
        let before = stage.place.rows("data").await;
        stage.proxy.plan("POST", "uploads", 1, fault.clone());
        stage.proxy.plan("PUT", "partNumber=1", 1, fault.clone());
        stage.proxy.plan("POST", "uploadId=", 1, fault.clone());
        stage.assert_survives(&before, &format!("{fault:?}")).await;
        let exchanges = stage.proxy.take_exchanges();
        let completed = exchanges
            .iter()
            .filter(|exchange| exchange.target.contains("uploadId="));
        assert!(completed.count() >= 3, "the output went in parts");
    }
    let gc = stage
        .place
        .baler(&["gc", &stage.place.at("data"), "--now", "--full"]);
    assert_eq!(gc.code, 0, "{gc:?}");
    stage.place.assert_no_orphans("data").await;
}

/// About 5 MB: two of them make more than one part.
fn hard_to_compress(seq: i64) -> Vec<u8> {
    let texts: Vec<String> = (0..40_000)
        .map(|_| {
            rand::random::<[u128; 8]>()
                .map(|number| format!("{number:032x}"))
                .concat()
        })
        .collect();
    let rows = texts.iter().zip(0..).map(|(text, key)| (key, seq, text.as_str()));
    parquet_of(&rows.collect::<Vec<_>>())
}

/// The output is published and the inputs have been looked at for the last time: only the condition on the delete
/// itself stands between a new version and its loss.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_overwritten_after_the_last_look_survives() {
    let Some(stage) = Stage::new().await else { return };
    stage.place.write_many("data", 1, 6, 100).await;
    let before = stage.place.rows("data").await;
    let victim = "data/day=00/part-0003.parquet";
    let old = stage.place.get(victim).await.unwrap();
    let mut newer = old.to_vec();
    let at = newer.windows(9).position(|bytes| bytes == b"some text").unwrap();
    newer[at..at + 9].copy_from_slice(b"same size");
    let pause = Fault::DelayResponse(Duration::from_secs(3));
    stage.proxy.plan("PUT", "day=00/baler-", 1, pause);
    let child = stage.faulty.compact_command("data", &FLAGS).spawn().unwrap();
    wait_for_name(&stage.place, "data", "day=00/baler-").await;
    stage.place.put(victim, newer.clone()).await;
    let run = ended(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.number("jobs")), (0, 1), "{run:?}");
    assert_eq!(
        stage.place.get(victim).await.as_deref(),
        Some(&newer[..]),
        "{run:?}"
    );
    let rows = stage.place.rows("data").await;
    assert_eq!(
        rows.values().sum::<u64>(),
        before.values().sum::<u64>() + 100,
        "{run:?}"
    );
    let next = stage.faulty.compact("data", &FLAGS);
    assert_eq!(next.code, 0, "{next:?}");
    assert_eq!(stage.place.rows("data").await, rows, "{next:?}");
}
