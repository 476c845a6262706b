//! Slots and replicas on a store that behaves.

use std::time::Duration;

use baler_core::ids::{JobId, JournalId, Sequence, TableName};
use baler_core::request::{Refusal, Reply, Request};
use baler_core::state::State;
use futures::future::join_all;

use super::{JOURNAL, Site, add_file, create_table, first_proposal, pin, poll, tick_proposal};
use crate::error::JournalError;
use crate::journal::Appended;
use crate::object_log::Access;

fn committed(appended: &Result<Appended, JournalError>) -> bool {
    matches!(appended, Ok(Appended::Committed { .. }))
}

/// What is read is what was offered.
pub async fn a_first_append_is_read_as_it_was_written(site: Site) {
    let journal = site.journal().await;
    assert_eq!(journal.read(Sequence(1)).await, Ok(None));
    assert_eq!(journal.last_listed(Sequence(0)).await, Ok(None));
    let first = first_proposal(JOURNAL);
    assert!(committed(&journal.append(&first).await));
    let entry = site
        .journal()
        .await
        .read(Sequence(1))
        .await
        .expect("readable")
        .expect("there");
    assert_eq!(
        (entry.nonce, entry.checksum, entry.journal),
        (first.nonce, first.checksum, JOURNAL)
    );
    assert_eq!(journal.modified(Sequence(1)).await, Ok(entry.modified));
    assert_eq!(journal.read(Sequence(2)).await, Ok(None));
    assert_eq!(journal.last_listed(Sequence(0)).await, Ok(Some(Sequence(1))));
    assert_eq!(journal.last_listed(Sequence(1)).await, Ok(None));
}

/// A slot is filled once.
pub async fn a_filled_slot_refuses_everybody_else(site: Site) {
    let journal = site.journal().await;
    let (ours, theirs) = (first_proposal(JOURNAL), first_proposal(JournalId(2)));
    assert!(committed(&journal.append(&ours).await));
    assert_eq!(site.journal().await.append(&theirs).await, Ok(Appended::Conflict));
    let entry = journal.read(Sequence(1)).await.expect("readable").expect("there");
    assert_eq!(entry.nonce, ours.nonce);
}

/// Offering again, as after an unknown outcome, is safe.
pub async fn the_same_bytes_offered_twice_are_one_entry(site: Site) {
    let journal = site.journal().await;
    let first = first_proposal(JOURNAL);
    assert!(committed(&journal.append(&first).await));
    assert!(committed(&journal.append(&first).await));
    assert_eq!(journal.read(Sequence(2)).await, Ok(None));
}

/// Trap: two committers both believe that they won.
pub async fn of_sixteen_racing_appenders_one_wins_each_slot(site: Site) {
    let journal = site.journal().await;
    let first = first_proposal(JOURNAL);
    assert!(committed(&journal.append(&first).await));
    let mut parent = first.checksum;
    for slot in 2..8 {
        let proposals: Vec<_> = (0..16).map(|_| tick_proposal(slot, parent)).collect();
        let racers = proposals.iter().cloned().map(|proposal| {
            let journal = journal.clone();
            tokio::spawn(async move { journal.append(&proposal).await })
        });
        let mut winners = Vec::new();
        for (outcome, proposal) in join_all(racers).await.into_iter().zip(&proposals) {
            match outcome.expect("no panic").expect("no error") {
                Appended::Committed { .. } => winners.push(proposal.clone()),
                Appended::Conflict => {}
                other => panic!("a race ended with {other:?}"),
            }
        }
        assert_eq!(winners.len(), 1, "one winner for slot {slot}");
        let entry = site
            .journal()
            .await
            .read(Sequence(slot))
            .await
            .expect("readable")
            .expect("there");
        assert_eq!(entry.nonce, winners[0].nonce);
        parent = entry.checksum;
    }
}

/// All requests are in, each once, and every replica tells the same story.
pub async fn sixteen_racing_replicas_agree(site: Site) {
    site.begun().await.close().await;
    let mut replicas = Vec::new();
    for _ in 0..16 {
        replicas.push(site.replica().await);
    }
    let racers = replicas.iter().enumerate().map(|(racer, replica)| {
        let replica = replica.clone();
        tokio::spawn(async move {
            for table in 0..2 {
                let reply = replica.submit(create_table(&format!("{racer}-{table}"), 1)).await;
                assert_eq!(reply, Ok(Reply::Done));
            }
        })
    });
    for racer in join_all(racers).await {
        racer.expect("no panic");
    }
    let mut states = Vec::new();
    for replica in replicas {
        states.push(replica.catch_up().await.expect("reads"));
        replica.close().await;
    }
    assert_eq!(states[0].tables.len(), 32);
    assert!(states.iter().all(|state| *state == states[0]));
    assert_eq!(site.replica().await.state(), states[0]);
}

/// Trap: planning from a cached catalog compacts the same files twice. Each plans on what it knows, and commits only
/// what still holds.
pub async fn of_sixteen_who_plan_from_one_state_one_gets_the_job(site: Site) {
    let replica = site.begun().await;
    assert_eq!(replica.submit(create_table("t", 60)).await, Ok(Reply::Done));
    for file in ["a", "b", "c", "d"] {
        let evidence = replica.state().sequence;
        let added = replica.submit(add_file("t", file, evidence)).await;
        assert!(matches!(added, Ok(Reply::Added(added)) if added.added == 1));
    }
    let mut pollers = Vec::new();
    for _ in 0..16 {
        pollers.push(site.replica().await);
    }
    let polls = pollers.iter().zip(1..).map(|(poller, watcher)| {
        let poller = poller.clone();
        tokio::spawn(async move { poller.submit(poll(watcher)).await })
    });
    let mut granted = 0;
    for polled in join_all(polls).await {
        match polled.expect("no panic") {
            Ok(Reply::Granted(grants)) => granted += grants.len(),
            other => panic!("a poll was answered {other:?}"),
        }
    }
    assert_eq!(granted, 1);
    let state = replica.catch_up().await.expect("reads");
    assert_eq!((state.jobs.len(), state.watchers.len()), (1, 1));
}

/// The journal's id is the first entry's.
pub async fn two_makers_of_a_journal_agree_on_one(site: Site) {
    let (one, two) = (site.replica().await, site.replica().await);
    assert_eq!(one.submit(Request::CreateJournal(JOURNAL)).await, Ok(Reply::Done));
    let late = two.submit(Request::CreateJournal(JournalId(2))).await;
    assert_eq!(late, Ok(Reply::Refused(Refusal::JournalExists)));
    assert_eq!(two.state().journal, Some(JOURNAL));
}

/// An acknowledged commit is never lost.
pub async fn a_reopened_journal_has_the_same_state(site: Site) {
    let replica = site.begun().await;
    assert_eq!(replica.submit(create_table("t", 60)).await, Ok(Reply::Done));
    let evidence = replica.state().sequence;
    let added = replica.submit(add_file("t", "a.parquet", evidence)).await;
    assert!(matches!(added, Ok(Reply::Added(added)) if added.added == 1));
    let before = replica.state();
    drop(replica);
    let after = site.replica().await.state();
    assert_eq!(after, before);
    assert_eq!(after.tables[&TableName::from("t")].files.len(), 1);
}

/// ▲ Decided one after another, each on the state after those before it.
pub async fn requests_that_wait_share_an_append_and_are_decided_in_order(site: Site) {
    let replica = site.begun().await;
    let evidence = replica.state().sequence;
    let replies = join_all([
        replica.submit(create_table("t", 60)),
        replica.submit(add_file("t", "a.parquet", evidence)),
        replica.submit(add_file("u", "b.parquet", evidence)),
        replica.submit(create_table("t", 99)),
        replica.submit(create_table("t", 60)),
    ])
    .await;
    assert_eq!(replies[0], Ok(Reply::Done));
    assert!(
        matches!(&replies[1], Ok(Reply::Added(added)) if added.added == 1),
        "{:?}",
        replies[1]
    );
    assert!(
        matches!(&replies[2], Ok(Reply::Refused(Refusal::NoSuchTable(_)))),
        "{:?}",
        replies[2]
    );
    assert!(
        matches!(&replies[3], Ok(Reply::Refused(Refusal::TableDiffers { .. }))),
        "{:?}",
        replies[3]
    );
    assert_eq!(replies[4], Ok(Reply::Done));
    assert_eq!(replica.state().sequence, Sequence(2), "one append for all");
    assert_eq!(site.replica().await.state(), replica.state());
}

/// Polls that find nothing must not fill the journal.
pub async fn requests_without_events_append_nothing(site: Site) {
    let replica = site.begun().await;
    let offers = replica.journal().counters().offers.get();
    let refused = replica.submit(Request::Cancel(JobId(7))).await;
    assert_eq!(refused, Ok(Reply::Refused(Refusal::NoSuchJob(JobId(7)))));
    assert_eq!(replica.journal().counters().offers.get(), offers);
    assert_eq!(replica.state().sequence, Sequence(1));
}

/// Also when that entry had to be decided anew, because another came first.
pub async fn what_is_mentioned_goes_with_the_next_entry_and_makes_none(site: Site) {
    let (ours, other) = (site.begun().await, site.replica().await);
    let mentioned = ours.mention(create_table("mentioned", 1)).await;
    assert_eq!(mentioned, Ok(()));
    let refused = Request::DropTable(TableName::from("none"));
    assert!(matches!(ours.submit(refused).await, Ok(Reply::Refused(_))));
    assert_eq!(ours.catch_up().await.expect("reads").sequence, Sequence(1));
    assert_eq!(other.submit(create_table("theirs", 1)).await, Ok(Reply::Done));
    assert_eq!(ours.submit(create_table("ours", 1)).await, Ok(Reply::Done));
    let state = other.catch_up().await.expect("reads");
    assert_eq!((state.sequence, state.tables.len()), (Sequence(3), 3));
    assert_eq!(ours.submit(Request::Tick).await, Ok(Reply::Done));
    assert_eq!(ours.state().tables.len(), 3, "it is done once");
}

/// ▲ "No such pin" on an old state would be a lie.
pub async fn a_refusal_is_given_only_on_a_state_caught_up_after_the_request_came(site: Site) {
    let (busy, stale) = (site.begun().await, site.replica().await);
    assert_eq!(busy.submit(create_table("t", 60)).await, Ok(Reply::Done));
    let Ok(Reply::Pinned(pin)) = busy.submit(pin()).await else {
        panic!("the table can be pinned");
    };
    assert!(
        stale.state().sequence < pin.entry,
        "the other replica has not heard of it"
    );
    assert_eq!(stale.submit(Request::Unpin(pin)).await, Ok(Reply::Done));
    assert_eq!(
        busy.submit(Request::Unpin(pin)).await,
        Ok(Reply::Refused(Refusal::NoSuchPin(pin)))
    );
}

/// Who writes now and then beside others looks first: an append on a stale state is a write for nothing.
pub async fn writers_who_take_turns_lose_one_append_each_at_most(site: Site) {
    let turns = [site.begun().await, site.replica().await];
    for _ in 0..6 {
        for replica in &turns {
            tokio::time::sleep(Duration::from_millis(30)).await;
            assert_eq!(replica.submit(Request::Tick).await, Ok(Reply::Done));
        }
    }
    for replica in &turns {
        // Some journals count for both.
        let counters = replica.journal().counters();
        assert!(counters.conflicts.get() <= turns.len() as u64, "{counters:?}");
    }
}

/// Who writes alone does not look: a look is a request.
pub async fn a_lone_writer_reads_nothing_between_its_appends(site: Site) {
    let replica = site.begun().await;
    let reads = replica.journal().counters().reads.get();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(replica.submit(Request::Tick).await, Ok(Reply::Done));
    }
    assert_eq!(replica.journal().counters().reads.get(), reads);
}

/// Durations run on the store's clock, which the batches carry.
pub async fn each_batch_carries_the_time_of_its_parent(site: Site) {
    let replica = site.begun().await;
    for _ in 0..3 {
        assert_eq!(replica.submit(Request::Tick).await, Ok(Reply::Done));
    }
    // Also by a replica that did not write the parent, and by one that was just opened.
    assert_eq!(site.replica().await.submit(Request::Tick).await, Ok(Reply::Done));
    assert_eq!(replica.submit(Request::Tick).await, Ok(Reply::Done));
    let journal = site.journal().await;
    let mut parent_time = None;
    for slot in 1..=6 {
        let entry = journal
            .read(Sequence(slot))
            .await
            .expect("readable")
            .expect("there");
        assert_eq!(entry.batch.parent_time, parent_time, "entry {slot}");
        parent_time = entry.modified;
        assert!(parent_time.is_some());
    }
}

/// The first entry makes the journal, and its id.
pub async fn nothing_is_appended_before_the_journal_is_created(site: Site) {
    let replica = site.replica().await;
    assert_eq!(replica.submit(Request::Tick).await, Err(JournalError::NotCreated));
    assert_eq!(*replica.state(), State::default());
    assert_eq!(site.journal().await.last_listed(Sequence(0)).await, Ok(None));
}

/// For `plan`, `status` and `files`.
pub async fn a_read_only_replica_refuses_to_write(site: Site) {
    let writer = site.begun().await;
    let reader = site.try_replica(Access::ReadOnly).await.expect("opens");
    assert_eq!(reader.submit(Request::Tick).await, Err(JournalError::ReadOnly));
    assert_eq!(writer.submit(Request::Tick).await, Ok(Reply::Done));
    let seen = reader.catch_up().await.expect("reads");
    assert_eq!(seen, writer.state());
}
