//! Every kind of lost, late, cut and false answer at every request of an append, on a real server behind a proxy. The
//! outcome is always one: `Committed` or `Conflict`, never both, never twice, and everybody reads the same.

use std::sync::Arc;
use std::time::Duration;

use baler_core::ids::Sequence;
use baler_core::request::{Reply, Request};
use baler_journal::checksum::Checksum;
use baler_journal::conformance::{JOURNAL, create_table, first_proposal, pin, tick_proposal};
use baler_journal::entry::Proposal;
use baler_journal::limits::TRIES_MAX;
use baler_journal::replica::Settings;
use baler_journal::store::{Store, StoreError};
use baler_journal::{Access, Appended, Journal, ObjectLog, Replica};
use baler_teststores::{Fault, FaultProxy, shared_seaweed};

use crate::sites::{s3_store, store};

/// What the client waits for, and what the proxy adds to it.
const TIMEOUT: Duration = Duration::from_millis(600);
const TOO_LATE: Duration = Duration::from_millis(800);

/// The same journal twice: ours goes through the proxy, the rival's does not.
struct World {
    proxy: FaultProxy,
    through: Arc<dyn Store>,
    ours: ObjectLog,
    rival: ObjectLog,
}

impl World {
    async fn new() -> Option<Self> {
        let seaweed = shared_seaweed().await?;
        let bucket = seaweed.new_bucket().await.unwrap();
        let proxy = FaultProxy::start(seaweed.s3()).await.unwrap();
        let direct = s3_store(seaweed.s3(), &bucket);
        let rival = ObjectLog::open(direct, Access::ReadWrite).await.unwrap();
        let through = store("s3", proxy.s3().client_with_timeout(&bucket, TIMEOUT));
        let ours = ObjectLog::open(through.clone(), Access::ReadWrite).await.unwrap();
        Some(Self {
            proxy,
            through,
            ours,
            rival,
        })
    }

    /// With its first entry; the checksum of that.
    async fn begun() -> Option<(Self, Checksum)> {
        let world = Self::new().await?;
        let first = first_proposal(JOURNAL);
        assert!(is_committed(&world.rival.append(&first).await.unwrap()));
        Some((world, first.checksum))
    }

    /// The slot holds this proposal, as seen from outside.
    async fn assert_holds(&self, proposal: &Proposal, case: &str) {
        let entry = self.rival.read(proposal.sequence).await.unwrap();
        assert_eq!(entry.expect(case).nonce, proposal.nonce, "{case}");
    }

    fn assert_faults_happened(&self, case: &str) {
        assert_eq!(
            self.proxy.faults_left(),
            0,
            "{case}: {:?}",
            self.proxy.take_exchanges()
        );
        self.proxy.take_exchanges();
    }
}

fn is_committed(appended: &Appended) -> bool {
    matches!(appended, Appended::Committed { .. })
}

fn faults_of_reads() -> Vec<Fault> {
    vec![
        Fault::DropRequest,
        Fault::LoseResponse,
        Fault::DelayResponse(TOO_LATE),
        Fault::CutResponse(12),
        Fault::Answer(500),
        Fault::Answer(503),
        Fault::Answer(429),
        Fault::ForwardThenAnswer(503),
    ]
}

/// A write may also be answered by "conflict", and happen after its answer.
fn faults_of_writes() -> Vec<Fault> {
    let mut faults = faults_of_reads();
    faults.extend([
        Fault::Answer(409),
        Fault::ForwardThenAnswer(500),
        Fault::ForwardThenAnswer(409),
        Fault::ApplyLate(503, Duration::ZERO),
        Fault::ApplyLate(503, Duration::from_millis(150)),
        Fault::ApplyLate(409, Duration::from_millis(150)),
    ]);
    faults
}

/// A body that ends early. A HEAD has none.
fn faults_of_bodies() -> Vec<Fault> {
    let mut faults = faults_of_reads();
    faults.push(Fault::CutBody(5));
    faults
}

fn entry_name(slot: u64) -> String {
    format!("journal/{slot:020}")
}

#[tokio::test]
async fn every_fault_at_every_request_of_an_append_ends_in_one_outcome() {
    let Some((world, mut parent)) = World::begun().await else {
        return;
    };
    let lost = Fault::LoseResponse;
    let steps: [(&str, &'static str, Vec<Fault>); 4] = [
        ("create", "PUT", faults_of_writes()),
        ("read back", "GET", faults_of_bodies()),
        ("time", "HEAD", faults_of_reads()),
        ("boundary", "GET", faults_of_reads()),
    ];
    let mut slot = 1;
    for (step, method, faults) in steps {
        for fault in faults {
            slot += 1;
            let case = format!("{step}, {fault:?}");
            let part = if step == "boundary" {
                "boundary/".to_owned()
            } else {
                entry_name(slot)
            };
            world.proxy.plan(method, &part, 1, fault);
            if step == "read back" {
                world.proxy.plan("PUT", &part, 1, lost.clone());
            }
            let ours = tick_proposal(slot, parent);
            let outcome = world.ours.append(&ours).await.unwrap();
            assert!(is_committed(&outcome), "{case}: {outcome:?}");
            world.assert_faults_happened(&case);
            world.proxy.late_ones_landed().await;
            let theirs = world.rival.append(&tick_proposal(slot, parent)).await;
            assert_eq!(theirs, Ok(Appended::Conflict), "{case}");
            world.assert_holds(&ours, &case).await;
            parent = ours.checksum;
        }
    }
    println!(
        "figure: {} appends, each with a fault, each committed once",
        slot - 1
    );
}

#[tokio::test]
async fn of_two_who_race_under_faults_one_wins_and_both_know() {
    let Some((world, mut parent)) = World::begun().await else {
        return;
    };
    let head_start = Duration::from_millis(30);
    let heads = [
        (head_start, Duration::ZERO),
        (Duration::ZERO, Duration::ZERO),
        (Duration::ZERO, head_start),
    ];
    let (mut slot, mut won) = (1, 0);
    for (our_wait, their_wait) in heads {
        for fault in faults_of_writes() {
            slot += 1;
            let case = format!("{fault:?}, we wait {our_wait:?}, they {their_wait:?}");
            let (ours, theirs) = (tick_proposal(slot, parent), tick_proposal(slot, parent));
            world.proxy.plan("PUT", &entry_name(slot), 1, fault);
            let outcomes = futures::join!(
                append_after(our_wait, &world.ours, &ours),
                append_after(their_wait, &world.rival, &theirs)
            );
            world.assert_faults_happened(&case);
            world.proxy.late_ones_landed().await;
            let winner = match outcomes {
                (Appended::Committed { .. }, Appended::Conflict) => &ours,
                (Appended::Conflict, Appended::Committed { .. }) => &theirs,
                both => panic!("{case}: {both:?}"),
            };
            won += usize::from(winner == &ours);
            world.assert_holds(winner, &case).await;
            parent = winner.checksum;
        }
    }
    println!(
        "figure: {} races under faults, {won} won by who had the fault",
        slot - 1
    );
    assert!(won > 0, "both ends were seen");
}

async fn append_after(wait: Duration, log: &ObjectLog, proposal: &Proposal) -> Appended {
    tokio::time::sleep(wait).await;
    log.append(proposal).await.unwrap()
}

/// The entry is written, and whoever wrote it can see nothing at all.
#[tokio::test]
async fn a_written_entry_of_unknown_outcome_is_the_same_for_everybody() {
    let Some((world, parent)) = World::begun().await else {
        return;
    };
    let ours = tick_proposal(2, parent);
    world.proxy.plan("PUT", &entry_name(2), 1, Fault::LoseResponse);
    let read_backs = (TRIES_MAX * TRIES_MAX) as usize;
    for _ in 0..read_backs {
        world.proxy.plan("GET", &entry_name(2), 1, Fault::DropRequest);
    }
    assert_eq!(world.ours.append(&ours).await, Ok(Appended::Unknown));
    world.assert_faults_happened("nothing can be read");
    let theirs = tick_proposal(2, parent);
    assert_eq!(world.rival.append(&theirs).await, Ok(Appended::Conflict));
    assert!(is_committed(&world.ours.append(&ours).await.unwrap()));
    world.assert_holds(&ours, "after all").await;
}

/// The entry is not written, and whoever offered it does not know that.
#[tokio::test]
async fn an_unwritten_entry_of_unknown_outcome_is_the_same_for_everybody() {
    let Some((world, parent)) = World::begun().await else {
        return;
    };
    let ours = tick_proposal(2, parent);
    for _ in 0..TRIES_MAX {
        world.proxy.plan("PUT", &entry_name(2), 1, Fault::DropRequest);
    }
    assert_eq!(world.ours.append(&ours).await, Ok(Appended::Unknown));
    let theirs = tick_proposal(2, parent);
    assert!(is_committed(&world.rival.append(&theirs).await.unwrap()));
    assert_eq!(world.ours.append(&ours).await, Ok(Appended::Conflict));
    world.assert_holds(&theirs, "after all").await;
}

/// Each pin is a promise of its own, so one that was decided twice shows. With each entry comes a snapshot, so its
/// requests are met too.
#[tokio::test]
async fn every_fault_at_every_request_of_a_replica_is_decided_once() {
    let Some(world) = World::new().await else {
        return;
    };
    let journal: Arc<dyn Journal> = Arc::new(world.ours);
    let settings = |access| Settings {
        access,
        snapshot_every: 1,
        ..Settings::default()
    };
    let begin = Replica::open(journal.clone(), settings(Access::ReadWrite))
        .await
        .unwrap();
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
            let replica = Replica::open(journal.clone(), settings(Access::ReadWrite))
                .await
                .unwrap();
            let part = part(replica.state().sequence.next().0);
            let case = format!("{method} {part}, {fault:?}");
            world.proxy.plan(method, &part, nth, fault);
            if method == "GET" && part.starts_with("journal/") {
                // Who was told of success does not read back.
                world.proxy.plan("PUT", &part, 1, Fault::LoseResponse);
            }
            let Reply::Pinned(made) = replica.submit(pin()).await.unwrap() else {
                panic!("{case}: no pin");
            };
            assert!(!pins.contains(&made), "{case}: made before");
            pins.push(made);
            let state = replica.state();
            replica.close().await;
            assert_eq!(
                world.proxy.faults_left(),
                0,
                "{case}: {:?}",
                world.proxy.take_exchanges()
            );
            world.proxy.take_exchanges();
            world.proxy.late_ones_landed().await;
            let direct: Arc<dyn Journal> = Arc::new(
                ObjectLog::open(world.rival.store().clone(), Access::ReadOnly)
                    .await
                    .unwrap(),
            );
            let reader = Replica::open(direct, settings(Access::ReadOnly)).await.unwrap();
            assert_eq!(reader.state(), state, "{case}");
            assert!(state.pins.keys().eq(pins.iter()), "{case}: {:?}", state.pins);
        }
    }
    println!(
        "figure: {} requests to a replica, each with a fault, each decided once",
        pins.len()
    );
}

/// What the matrix is there to catch: an append that believes "exists already" without reading back takes its own entry
/// for another's, and its request is decided a second time.
#[tokio::test]
async fn an_append_that_does_not_read_back_is_caught() {
    let Some((world, parent)) = World::begun().await else {
        return;
    };
    let ours = tick_proposal(2, parent);
    world.proxy.plan("PUT", &entry_name(2), 1, Fault::LoseResponse);
    let naive = append_without_reading_back(&world.through, &ours).await;
    assert_eq!(naive, Appended::Conflict, "it believes that another was first");
    world.assert_holds(&ours, "and yet").await;
    assert_eq!(world.rival.read(Sequence(3)).await, Ok(None));
}

async fn append_without_reading_back(store: &Arc<dyn Store>, proposal: &Proposal) -> Appended {
    let path = format!("_baler/{}", entry_name(proposal.sequence.0));
    loop {
        match store.create(&path, proposal.bytes.clone()).await {
            Ok(()) => return Appended::Committed { modified: None },
            Err(StoreError::AlreadyExists { .. }) => return Appended::Conflict,
            Err(_) => {}
        }
    }
}
