//! The server dies in mid-append, again and again, under several writers: what it acknowledged is there, what it did
//! not is resolved in the same way by everybody.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baler_core::ids::PinId;
use baler_core::request::{Refusal, Reply, Request};
use baler_journal::conformance::{JOURNAL, create_table};
use baler_journal::replica::Settings;
use baler_journal::{Access, JournalError, ObjectLog, Replica};
use baler_teststores::{S3, Seaweed};
use futures::future::join_all;

use crate::sites::{pin, store};

const WRITERS: usize = 3;

fn kills() -> usize {
    if std::env::var_os("BALER_SOAK").is_some() {
        100
    } else {
        10
    }
}

async fn replica(s3: &S3, bucket: &str) -> Replica {
    let client = s3.client_with_timeout(bucket, Duration::from_secs(5));
    let log = ObjectLog::open(store("s3", client), Access::ReadWrite)
        .await
        .unwrap();
    let settings = Settings {
        snapshot_every: 20,
        ..Settings::default()
    };
    Replica::open(Arc::new(log), settings).await.unwrap()
}

/// Pins until told to stop. An error of the store means that nothing was written; every other would be a finding.
async fn write(replica: Replica, writer: usize, stop: Arc<AtomicBool>) -> Vec<PinId> {
    let mut acknowledged = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match replica.submit(pin(&format!("writer {writer}"))).await {
            Ok(Reply::Pinned(made)) => acknowledged.push(made),
            Ok(Reply::Refused(Refusal::TooManyPins(_))) => let_one_go(&replica, &mut acknowledged).await,
            Err(JournalError::Store(_) | JournalError::Contended(_)) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => panic!("a pin was answered by {other:?}"),
        }
    }
    replica.close().await;
    acknowledged
}

async fn let_one_go(replica: &Replica, acknowledged: &mut Vec<PinId>) {
    let Some(pin) = acknowledged.first().copied() else {
        return tokio::time::sleep(Duration::from_millis(20)).await;
    };
    match replica.submit(Request::Unpin(pin)).await {
        Ok(Reply::Done) => drop(acknowledged.remove(0)),
        Err(JournalError::Store(_) | JournalError::Contended(_)) => {}
        other => panic!("letting go of a pin was answered by {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_and_doubles_nothing() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(seaweed) = Seaweed::start(directory.path()).await.unwrap() else {
        return;
    };
    let bucket = seaweed.new_bucket().await.unwrap();
    let first = replica(seaweed.s3(), &bucket).await;
    assert_eq!(
        first.submit(Request::CreateJournal(JOURNAL)).await,
        Ok(Reply::Done)
    );
    assert_eq!(first.submit(create_table("t", 60)).await, Ok(Reply::Done));
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let replica = replica(seaweed.s3(), &bucket).await;
        writers.push(tokio::spawn(write(replica, writer, stop.clone())));
    }
    for _ in 0..kills() {
        tokio::time::sleep(Duration::from_millis(rand::random_range(200..1_500))).await;
        seaweed.kill();
        tokio::time::sleep(Duration::from_millis(rand::random_range(0..500))).await;
        seaweed.restart().await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = BTreeSet::new();
    for writer in join_all(writers).await {
        for made in writer.unwrap() {
            assert!(acknowledged.insert(made), "{made:?} was given twice");
        }
    }
    let state = first.catch_up().await.unwrap();
    let present: BTreeSet<PinId> = state.pins.keys().copied().collect();
    assert_eq!(present, acknowledged, "what is there is what was acknowledged");
    assert_eq!(replica(seaweed.s3(), &bucket).await.state(), state);
    let (kills, pins) = (kills(), present.len());
    assert!(pins > kills, "the writers were at work");
    println!(
        "figure: {kills} kills of the server under {WRITERS} writers, {pins} pins, none lost or doubled"
    );
}
