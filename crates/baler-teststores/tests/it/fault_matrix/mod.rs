//! Every kind of lost, late, cut and false answer at every request of an append, on a real server behind a proxy. The
//! outcome is always one: `Committed` or `Conflict`, never both, never twice, and everybody reads the same.

mod replica;
mod world;

use std::sync::Arc;
use std::time::Duration;

use baler_core::ids::Sequence;
use baler_journal::conformance::tick_proposal;
use baler_journal::entry::Proposal;
use baler_journal::limits::TRIES_MAX;
use baler_journal::store::{Store, StoreError};
use baler_journal::{Appended, Journal, ObjectLog};
use baler_teststores::Fault;

use world::{World, entry_name, faults_of_bodies, faults_of_reads, faults_of_writes, is_committed};

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
    // More than it may try: how often it does depends on how long each takes.
    let read_backs = 400;
    for _ in 0..read_backs {
        world.proxy.plan("GET", &entry_name(2), 1, Fault::DropRequest);
    }
    assert_eq!(world.ours.append(&ours).await, Ok(Appended::Unknown));
    let tried = read_backs - world.proxy.faults_left();
    assert!(tried >= TRIES_MAX as usize, "it read back {tried} times");
    world.proxy.clear();
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
