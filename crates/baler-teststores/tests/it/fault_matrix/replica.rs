//! The same for everything that a replica asks of the store for one request, snapshots included.

use std::sync::Arc;

use baler_core::request::{Reply, Request};
use baler_journal::conformance::{JOURNAL, create_table};
use baler_journal::replica::Settings;
use baler_journal::{Access, Journal, ObjectLog, Replica};
use baler_teststores::Fault;

use crate::sites::pin;

use super::world::{World, entry_name, faults_of_bodies, faults_of_reads, faults_of_writes};

/// Each pin is a promise of its own, so one that was decided twice shows. With each entry comes a snapshot, so its
/// requests are met too.
#[tokio::test]
async fn every_fault_at_every_request_of_a_replica_is_decided_once() {
    let Some(world) = World::new().await else {
        return;
    };
    let journal: Arc<dyn Journal> = Arc::new(world.ours);
    let begin = open(&journal, Access::ReadWrite).await;
    assert_eq!(
        begin.submit(Request::CreateJournal(JOURNAL)).await,
        Ok(Reply::Done)
    );
    assert_eq!(begin.submit(create_table("t", 60)).await, Ok(Reply::Done));
    begin.close().await;
    let snapshot = |slot: u64| format!("snapshots/{slot:020}");
    let boundary = |_| "boundary/".to_owned();
    let listing = |_| "prefix=_baler%2Fsnapshots".to_owned();
    type Part<'a> = &'a dyn Fn(u64) -> String;
    let steps: [(&'static str, Part<'_>, usize, Vec<Fault>); 8] = [
        ("GET", &entry_name, 1, faults_of_bodies()),
        ("PUT", &entry_name, 1, faults_of_writes()),
        ("HEAD", &entry_name, 1, faults_of_reads()),
        ("GET", &boundary, 1, faults_of_reads()),
        ("GET", &boundary, 2, faults_of_reads()),
        ("PUT", &snapshot, 1, faults_of_writes()),
        ("GET", &snapshot, 1, faults_of_bodies()),
        ("GET", &listing, 1, faults_of_bodies()),
    ];
    let mut pins = Vec::new();
    for (method, part, nth, faults) in steps {
        for fault in faults {
            let replica = open(&journal, Access::ReadWrite).await;
            let part = part(replica.state().sequence.next().0);
            let case = format!("{method} {part}, {fault:?}");
            world.proxy.plan(method, &part, nth, fault);
            if method == "GET" && part.starts_with("journal/") {
                // Who was told of success does not read back.
                world.proxy.plan("PUT", &part, 1, Fault::LoseResponse);
            }
            let Reply::Pinned(made) = replica.submit(pin("reader")).await.unwrap() else {
                panic!("{case}: no pin");
            };
            assert!(!pins.contains(&made), "{case}: made before");
            pins.push(made);
            let state = replica.state();
            replica.close().await;
            let left = world.proxy.faults_left();
            assert_eq!(left, 0, "{case}: {:?}", world.proxy.take_exchanges());
            world.proxy.take_exchanges();
            world.proxy.late_ones_landed().await;
            let direct = ObjectLog::open(world.rival.store().clone(), Access::ReadOnly).await;
            let direct: Arc<dyn Journal> = Arc::new(direct.unwrap());
            let reader = open(&direct, Access::ReadOnly).await;
            assert_eq!(reader.state(), state, "{case}");
            assert!(state.pins.keys().eq(pins.iter()), "{case}: {:?}", state.pins);
        }
    }
    println!(
        "figure: {} requests to a replica, each with a fault, each decided once",
        pins.len()
    );
}

async fn open(journal: &Arc<dyn Journal>, access: Access) -> Replica {
    let settings = Settings {
        access,
        snapshot_every: 1,
        ..Settings::default()
    };
    Replica::open(journal.clone(), settings).await.unwrap()
}
