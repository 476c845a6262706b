//! A store that loses answers, lies, lands writes late, refuses and corrupts.

use std::sync::Arc;
use std::time::Duration;

use baler_core::ids::{PinId, Sequence, TableName};
use baler_core::request::{Refusal, Reply, Request};
use baler_core::time::Millis;
use tokio::time::{sleep, timeout};

use super::{JOURNAL, Site, create_table, pin, settings, tick_proposal};
use crate::error::JournalError;
use crate::journal::Appended;
use crate::limits::{READ_TRIES_MAX, TRIES_MAX};
use crate::object_log::Access;
use crate::replica::{Replica, Settings};
use crate::store::{Fault, Gate, Operation, Store, StoreError};

const SECOND: &str = "journal/00000000000000000002";
/// What the third entry makes.
const PIN: PinId = PinId {
    entry: Sequence(3),
    index: 0,
};
const NO_PIN: PinId = PinId {
    entry: Sequence(1),
    index: 0,
};
const THIRD: &str = "journal/00000000000000000003";

fn killed() -> Fault {
    let (path, reason) = ("?".to_owned(), "connection reset".to_owned());
    Fault::FailBefore(StoreError::Unknown { path, reason })
}

async fn assert_last(site: &Site, replica: &Replica, sequence: u64) {
    assert_eq!(replica.state().sequence, Sequence(sequence));
    assert_eq!(site.replica().await.state(), replica.state());
    assert_eq!(site.faults().faults_left(), 0, "every planned fault happened");
}

/// The pin is made by the third entry, whatever the store says, and only once.
async fn assert_pinned_once(site: &Site, fault: Fault) {
    let replica = site.begun().await;
    assert_eq!(replica.submit(create_table("t", 60)).await, Ok(Reply::Done));
    site.faults().plan(Operation::Create, THIRD, fault);
    assert_eq!(replica.submit(pin()).await, Ok(Reply::Pinned(PIN)));
    assert_eq!(replica.state().pins.len(), 1);
    assert_last(site, &replica, 3).await;
}

/// Trap: the response of a conditional PUT is lost.
pub async fn a_lost_response_is_found_by_reading_back(site: Site) {
    assert_pinned_once(&site, Fault::LoseResponse).await;
}

/// Trap: a retry inside the client meets its own object and reports that it exists.
pub async fn a_client_that_meets_its_own_object_has_won(site: Site) {
    assert_pinned_once(&site, Fault::MeetItself).await;
}

/// Trap: 409 to create-if-absent while no object exists.
pub async fn already_exists_without_an_object_means_try_again(site: Site) {
    let replica = site.begun().await;
    site.faults()
        .plan_times(2, Operation::Create, SECOND, &Fault::FalseExists);
    assert_eq!(replica.submit(create_table("t", 60)).await, Ok(Reply::Done));
    assert_last(&site, &replica, 2).await;
}

/// Trap: a PUT that timed out lands later. Here the same bytes are offered again before, and the late one bounces.
pub async fn a_put_that_lands_late_is_committed_once(site: Site) {
    assert_pinned_once(&site, Fault::ApplyLate).await;
    assert_eq!(site.faults().land_late().await, [false]);
}

/// Somebody else fills the slot before the PUT lands: it never will, and the request is decided anew.
pub async fn a_put_that_lands_too_late_is_decided_anew(site: Site) {
    let (slow, quick) = (site.begun().await, site.replica().await);
    let gate = Gate::default();
    site.faults()
        .plan_times(TRIES_MAX as usize, Operation::Create, SECOND, &Fault::ApplyLate);
    site.faults()
        .plan(Operation::Create, SECOND, Fault::Hold(gate.clone()));
    let request = tokio::spawn({
        let slow = slow.clone();
        async move { slow.submit(create_table("t", 60)).await }
    });
    gate.arrived().await;
    assert_eq!(quick.submit(create_table("t", 99)).await, Ok(Reply::Done));
    gate.open();
    let reply = request.await.expect("no panic");
    assert!(
        matches!(reply, Ok(Reply::Refused(Refusal::TableDiffers { .. }))),
        "{reply:?}"
    );
    let landed = site.faults().land_late().await;
    assert!(landed.iter().all(|landed| !landed), "the slot is taken for good");
    let state = site.replica().await.state();
    assert_eq!(
        state.tables[&TableName::from("t")].spec.grace,
        Millis::from_secs(99)
    );
    assert_last(&site, &slow, 2).await;
}

/// ▲ Answers none of its requests while a slot's outcome is unknown. A batch decided anew meanwhile would be a second
/// one.
pub async fn nobody_is_answered_while_the_outcome_is_unknown(site: Site) {
    let replica = site.begun().await;
    assert_eq!(replica.submit(create_table("t", 60)).await, Ok(Reply::Done));
    // Nothing lands, for more than one round of tries.
    let rounds = 6 * TRIES_MAX as usize;
    site.faults()
        .plan_times(rounds, Operation::Create, THIRD, &Fault::ApplyLate);
    let submit = |request| {
        let replica = replica.clone();
        tokio::spawn(async move { replica.submit(request).await })
    };
    let mut first = submit(pin());
    sleep(Duration::from_millis(20)).await;
    let mut second = submit(Request::Unpin(NO_PIN));
    assert!(
        timeout(Duration::from_millis(80), &mut first).await.is_err(),
        "no answer yet"
    );
    assert!(
        timeout(Duration::from_millis(5), &mut second).await.is_err(),
        "nor to those behind it"
    );
    assert_eq!(replica.state().sequence, Sequence(2));
    assert!(site.faults().faults_left() > 0);
    assert!(site.faults().land_late().await.contains(&true));
    assert_eq!(first.await.expect("no panic"), Ok(Reply::Pinned(PIN)));
    let refused = Ok(Reply::Refused(Refusal::NoSuchPin(NO_PIN)));
    assert_eq!(second.await.expect("no panic"), refused);
    let state = site.replica().await.state();
    assert_eq!(state.pins.len(), 1);
    assert_eq!(state, replica.state());
}

/// ▲ Offers that slot the same bytes and nothing else until some batch is read there.
pub async fn a_slot_of_unknown_outcome_is_offered_the_same_bytes_only(site: Site) {
    let replica = site.begun().await;
    site.faults().plan_times(
        2 * TRIES_MAX as usize,
        Operation::Create,
        SECOND,
        &Fault::ApplyLate,
    );
    let submit = |table: &'static str| {
        let replica = replica.clone();
        tokio::spawn(async move { replica.submit(create_table(table, 60)).await })
    };
    let first = submit("first");
    sleep(Duration::from_millis(20)).await;
    let second = submit("second");
    assert_eq!(first.await.expect("no panic"), Ok(Reply::Done));
    assert_eq!(second.await.expect("no panic"), Ok(Reply::Done));
    assert!(site.faults().land_late().await.iter().all(|landed| !landed));
    let journal = site.journal().await;
    for (slot, table) in [(2, "first"), (3, "second")] {
        let entry = journal
            .read(Sequence(slot))
            .await
            .expect("readable")
            .expect("there");
        let [baler_core::Event::TableCreated { table: created, .. }] = &entry.batch.events[..] else {
            panic!("entry {slot} holds {:?}", entry.batch.events);
        };
        assert_eq!(created.as_str(), table);
    }
    assert_last(&site, &replica, 3).await;
}

/// Trap: a directory shows an entry before it would survive a power cut.
pub async fn an_entry_that_may_not_be_durable_is_not_acknowledged(site: Site) {
    let journal = site.journal().await;
    let first = super::first_proposal(JOURNAL);
    assert!(matches!(
        journal.append(&first).await,
        Ok(Appended::Committed { .. })
    ));
    let proposal = tick_proposal(2, first.checksum);
    site.faults().plan(Operation::Create, SECOND, Fault::LoseResponse);
    site.faults().plan(Operation::Settle, "journal", killed());
    assert_eq!(journal.append(&proposal).await, Ok(Appended::Unknown));
    assert!(matches!(
        journal.append(&proposal).await,
        Ok(Appended::Committed { .. })
    ));
}

/// It can offer nothing else, so it ends, as a crash would end it.
pub async fn a_replica_out_of_patience_stops_for_good(site: Site) {
    site.begun().await.close().await;
    let patience = Duration::ZERO;
    let replica = Replica::open(
        site.journal().await,
        Settings {
            patience,
            ..settings(Access::ReadWrite)
        },
    );
    let replica = replica.await.expect("opens");
    site.faults()
        .plan_times(TRIES_MAX as usize, Operation::Create, SECOND, &Fault::ApplyLate);
    let unknown = Err(JournalError::OutcomeUnknown(Sequence(2)));
    assert_eq!(replica.submit(Request::Tick).await, unknown);
    assert_eq!(replica.submit(Request::Tick).await, Err(JournalError::Stopped));
    assert_eq!(site.replica().await.submit(Request::Tick).await, Ok(Reply::Done));
}

/// A full disk, a read-only store, a missing right: said at once, and over once they are mended.
pub async fn a_refused_write_is_an_error_and_leaves_nothing_pending(site: Site) {
    let replica = site.begun().await;
    let path = || "?".to_owned();
    let refusals = [
        StoreError::Full { path: path() },
        StoreError::ReadOnly { path: path() },
        StoreError::Denied {
            path: path(),
            reason: "403".to_owned(),
        },
    ];
    for refusal in refusals {
        site.faults()
            .plan(Operation::Create, SECOND, Fault::FailBefore(refusal.clone()));
        assert_eq!(
            replica.submit(Request::Tick).await,
            Err(JournalError::Store(refusal))
        );
    }
    assert_eq!(replica.submit(create_table("t", 60)).await, Ok(Reply::Done));
    assert_last(&site, &replica, 2).await;
}

/// Trap: a failed read was taken for an empty object, and the new overwrote the old.
pub async fn a_failed_read_is_not_an_empty_journal(site: Site) {
    site.begun().await.close().await;
    site.grow(3).await;
    site.faults()
        .plan_times(READ_TRIES_MAX as usize, Operation::Get, SECOND, &killed());
    let failed = site.try_replica(Access::ReadWrite).await;
    assert!(
        matches!(failed, Err(JournalError::Store(StoreError::Unknown { .. }))),
        "{failed:?}"
    );
    let denied = StoreError::Denied {
        path: "?".to_owned(),
        reason: "403".to_owned(),
    };
    site.faults()
        .plan(Operation::List, "snapshots", Fault::FailBefore(denied.clone()));
    let failed = site.try_replica(Access::ReadWrite).await;
    assert_eq!(failed.err(), Some(JournalError::Store(denied)));
    assert_eq!(site.replica().await.state().sequence, Sequence(3));
}

/// Trap: one 503 at the start ended a run that had all the time in the world.
pub async fn a_read_without_a_clear_answer_is_asked_again(site: Site) {
    site.begun().await.close().await;
    site.grow(3).await;
    let faults = site.faults();
    faults.plan_times(3, Operation::List, "snapshots", &killed());
    faults.plan_times(3, Operation::Get, "format", &killed());
    faults.plan_times(3, Operation::Get, SECOND, &killed());
    let replica = site.replica().await;
    assert_eq!((replica.state().sequence, faults.faults_left()), (Sequence(3), 0));
}

/// Trap: a short body, or a wrong one after a retry in mid-body.
pub async fn short_and_flipped_reads_are_read_again(site: Site) {
    site.begun().await.close().await;
    let grown = site.grow(7).await;
    site.faults().plan(
        Operation::Get,
        "journal/00000000000000000006",
        Fault::ShortRead(30),
    );
    site.faults().plan(
        Operation::Get,
        "journal/00000000000000000006",
        Fault::ShortRead(0),
    );
    site.faults().plan(
        Operation::Get,
        "journal/00000000000000000007",
        Fault::FlipByte(40),
    );
    site.faults()
        .plan(Operation::Get, "snapshots/", Fault::FlipByte(40));
    assert_eq!(site.replica().await.state(), grown);
    assert_eq!(site.faults().faults_left(), 0);
}

/// Read rights suffice for `plan`, `status` and `files`.
pub async fn a_read_only_open_never_writes(site: Site) {
    let missing = site.try_replica(Access::ReadOnly).await;
    assert_eq!(missing.err(), Some(JournalError::NotCreated));
    site.begun().await.close().await;
    let grown = site.grow(8).await;
    site.faults().take_calls();
    let reader = site.try_replica(Access::ReadOnly).await.expect("opens");
    assert_eq!(reader.catch_up().await, Ok(grown));
    reader.close().await;
    let calls = site.faults().take_calls();
    let harmless = [Operation::Get, Operation::Head, Operation::List];
    assert!(!calls.is_empty());
    assert!(
        calls.iter().all(|call| harmless.contains(&call.operation)),
        "{calls:?}"
    );
}

/// Trap: idle polling cost more than the work.
pub async fn an_idle_replica_asks_nothing(site: Site) {
    let replica = site.begun().await;
    site.faults().take_calls();
    sleep(Duration::from_millis(50)).await;
    assert_eq!(site.faults().take_calls(), []);
    assert_eq!(replica.submit(Request::Tick).await, Ok(Reply::Done));
    let calls = site.faults().take_calls();
    assert!(calls.len() <= 3, "create, boundary and time: {calls:?}");
}

/// A bucket restored in part must not begin a second history.
pub async fn a_store_of_which_only_the_entries_are_lost_is_not_taken_for_new(site: Site) {
    site.begun().await.close().await;
    site.grow(3).await;
    let store: &Arc<_> = site.faults();
    store
        .delete(&format!("_baler/{}", SECOND.replace('2', "1")))
        .await
        .expect("deletes");
    let failed = site.try_replica(Access::ReadWrite).await;
    let Err(JournalError::Damaged { what, .. }) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(what, "journal entry 1");
    let _third_is_still_there = store.get(&format!("_baler/{THIRD}")).await.expect("there");
}
