//! Snapshots, and letting go of what they replace.

use baler_core::ids::{JobId, Sequence};
use baler_core::request::{Refusal, Reply, Request};

use super::{BLOCK, SNAPSHOT_EVERY, Site, tick_proposal};
use crate::error::JournalError;
use crate::journal::Appended;
use crate::store::{Fault, Gate, Operation, Store, StoreError};

/// A cold start reads one snapshot and the few entries after it.
pub async fn a_snapshot_saves_reading_the_entries_before_it(site: Site) {
    site.begun().await.close().await;
    let grown = site.grow(8).await;
    let journal = site.journal().await;
    assert_eq!(journal.snapshots().await, Ok(vec![Sequence(SNAPSHOT_EVERY)]));
    let replica = site.replica().await;
    assert_eq!(replica.state(), grown);
    assert_eq!(replica.submit(Request::Tick).await, Ok(Reply::Done));
    let entry = journal.read(Sequence(9)).await.expect("readable").expect("there");
    assert!(
        entry.batch.parent_time.is_some(),
        "asked of the store, as no read told it"
    );
}

/// The one whose turn it was may have died.
pub async fn another_replica_writes_a_snapshot_that_is_missing(site: Site) {
    let (busy, other) = (site.begun().await, site.replica().await);
    let journal = site.journal().await;
    let mut parent = journal
        .read(Sequence(1))
        .await
        .expect("readable")
        .expect("there")
        .checksum;
    // Entries by somebody who never writes a snapshot.
    for slot in 2..=2 * SNAPSHOT_EVERY {
        let proposal = tick_proposal(slot, parent);
        assert!(matches!(
            journal.append(&proposal).await,
            Ok(Appended::Committed { .. })
        ));
        parent = proposal.checksum;
    }
    assert_eq!(journal.snapshots().await, Ok(vec![]));
    assert_eq!(other.submit(Request::Tick).await, Ok(Reply::Done));
    other.close().await;
    assert_eq!(journal.snapshots().await, Ok(vec![Sequence(11)]));
    busy.close().await;
}

/// Growth is bounded.
pub async fn retired_entries_are_gone_and_the_state_is_the_same(site: Site) {
    site.begun().await.close().await;
    let grown = site.grow(4 * BLOCK).await;
    let journal = site.journal().await;
    assert_eq!(journal.is_retired(Sequence(3 * BLOCK - 1)).await, Ok(true));
    assert_eq!(
        journal.is_retired(Sequence(3 * BLOCK)).await,
        Ok(false),
        "past the last but one snapshot"
    );
    for slot in 1..3 * BLOCK {
        assert_eq!(journal.read(Sequence(slot)).await, Ok(None));
    }
    assert!(journal.snapshots().await.expect("lists").len() <= 3);
    assert_eq!(site.replica().await.state(), grown);
}

/// ▲ An empty slot may be a deleted one: a refusal on that state would be as old as the replica.
pub async fn a_replica_that_slept_through_retirement_reloads(site: Site) {
    let (refusing, appending) = (site.begun().await, site.replica().await);
    let grown = site.grow(4 * BLOCK).await;
    let refused = refusing.submit(Request::Cancel(JobId(7))).await;
    assert_eq!(refused, Ok(Reply::Refused(Refusal::NoSuchJob(JobId(7)))));
    assert_eq!(refusing.state(), grown);
    assert_eq!(appending.submit(Request::Tick).await, Ok(Reply::Done));
    assert_eq!(appending.state().sequence, Sequence(4 * BLOCK + 1));
}

/// Trap: create-if-absent forgets deleted numbers.
pub async fn a_stalled_writer_cannot_fill_a_retired_slot(site: Site) {
    site.begun().await.close().await;
    site.grow(2).await;
    let stalled_journal = site.journal().await;
    let parent = stalled_journal
        .read(Sequence(2))
        .await
        .expect("readable")
        .expect("there")
        .checksum;
    let stalled = tick_proposal(3, parent);
    let grown = site.grow(3 * BLOCK).await;
    let outcome = stalled_journal.append(&stalled).await;
    assert_eq!(outcome, Ok(Appended::Retired { maybe_ours: false }));
    assert_eq!(site.replica().await.state(), grown);
}

/// The boundary is what makes a deleted slot known as such: it comes first.
pub async fn a_boundary_stands_before_the_first_delete(site: Site) {
    site.begun().await.close().await;
    site.faults().take_calls();
    site.grow(3 * BLOCK).await;
    let calls = site.faults().take_calls();
    let at = |operation, part: &str| {
        calls
            .iter()
            .position(|call| call.operation == operation && call.path.contains(part))
    };
    let boundary = at(Operation::Create, "boundary/").expect("a boundary is created");
    let delete = at(Operation::Delete, "journal/").expect("entries are deleted");
    assert!(boundary < delete);
}

/// A crash in mid-delete leaves entries behind a boundary; the next block takes them along.
pub async fn a_retirement_cut_short_is_finished_later(site: Site) {
    site.begun().await.close().await;
    let fault = Fault::FailBefore(StoreError::Unknown {
        path: "?".into(),
        reason: "killed".into(),
    });
    site.faults()
        .plan(Operation::Delete, "journal/00000000000000000004", fault);
    site.grow(2 * BLOCK).await;
    let journal = site.journal().await;
    assert!(
        journal.read(Sequence(4)).await.expect("readable").is_some(),
        "left behind"
    );
    assert_eq!(journal.is_retired(Sequence(4)).await, Ok(true));
    let grown = site.grow(4 * BLOCK).await;
    assert_eq!(journal.read(Sequence(4)).await, Ok(None));
    assert_eq!(site.replica().await.state(), grown);
}

/// ▲ The PUT of a paused process lands after clean-up deleted its number, and the store says yes.
pub async fn a_stalled_create_that_lands_in_a_retired_block_counts_for_nothing(site: Site) {
    let stalled = site.begun().await;
    let gate = Gate::default();
    site.faults().plan(
        Operation::Create,
        "journal/00000000000000000002",
        Fault::Hold(gate.clone()),
    );
    let request = tokio::spawn({
        let stalled = stalled.clone();
        async move { stalled.submit(super::create_table("t", 60)).await }
    });
    gate.arrived().await;
    let grown = site.grow(3 * BLOCK).await;
    gate.open();
    assert_eq!(
        request.await.expect("no panic"),
        Ok(Reply::Done),
        "decided anew, on the state of now"
    );
    assert_eq!(stalled.state().sequence, grown.sequence.next());
    assert_eq!(site.replica().await.state(), stalled.state());
    let journal = site.journal().await;
    assert_eq!(
        journal.read(Sequence(2)).await,
        Ok(None),
        "the belated entry is swept"
    );
}

/// ▲ A belated entry fits the old state of a replica that slept; only the boundary tells.
pub async fn a_belated_entry_is_not_believed_by_who_reads_it(site: Site) {
    let asleep = site.begun().await;
    let journal = site.journal().await;
    let parent = journal
        .read(Sequence(1))
        .await
        .expect("readable")
        .expect("there")
        .checksum;
    let grown = site.grow(3 * BLOCK).await;
    let belated = tick_proposal(2, parent);
    let path = "_baler/journal/00000000000000000002";
    site.faults()
        .create(path, belated.bytes)
        .await
        .expect("the number is free again");
    let caught_up = asleep.catch_up().await;
    assert_eq!(caught_up, Ok(grown));
}

/// A snapshot counts once it was read back.
pub async fn an_unverified_snapshot_lets_nothing_go(site: Site) {
    site.begun().await.close().await;
    site.grow(BLOCK + SNAPSHOT_EVERY - 1).await;
    // The third snapshot would retire the first block; each read of it, and of it again, comes back changed.
    site.faults().plan_times(
        4,
        Operation::Get,
        "snapshots/00000000000000000015",
        &Fault::FlipByte(20),
    );
    let replica = site.replica().await;
    assert_eq!(replica.submit(Request::Tick).await, Ok(Reply::Done));
    let journal = replica.journal().clone();
    replica.close().await;
    assert_eq!(journal.counters().snapshots_failed.get(), 1);
    assert_eq!(journal.is_retired(Sequence(1)).await, Ok(false));
    assert!(journal.read(Sequence(1)).await.expect("readable").is_some());
    let failed: Result<_, JournalError> = site.try_replica(crate::Access::ReadOnly).await;
    assert!(matches!(failed, Err(JournalError::Damaged { .. })));
}
