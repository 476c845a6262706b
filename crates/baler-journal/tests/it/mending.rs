//! A journal that lost pieces: what can be believed of it, and how it goes on.

use std::sync::Arc;

use baler_core::apply::{History, renew};
use baler_core::garbage::{Garbage, Stage};
use baler_core::ids::{JournalId, Sequence};
use baler_core::invariants;
use baler_core::request::Request;
use baler_core::state::State;
use baler_journal::mending::{Survey, begin_anew, close_old, diagnose};
use baler_journal::replica::Settings;
use baler_journal::store::{MemoryStore, Store};
use baler_journal::{Access, JournalError, ObjectLog, Replica, snapshot};
use futures::TryStreamExt;
use proptest::prelude::*;

use crate::world::{all_tables, next_request};

async fn open(store: &Arc<dyn Store>) -> Result<Replica, JournalError> {
    let log = ObjectLog::open(store.clone(), Access::ReadWrite).await?;
    Replica::open(Arc::new(log), Settings::default()).await
}

/// A journal of so many entries that its first block is retired.
async fn long_journal() -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let replica = open(&store).await.unwrap();
    let begin = Request::CreateJournal(JournalId(7));
    replica.submit(begin).await.unwrap();
    for _ in 0..11_100 {
        replica.submit(Request::Tick).await.unwrap();
    }
    replica.close().await;
    store
}

async fn delete_all(store: &Arc<dyn Store>, folder: &str) {
    let listed: Vec<_> = store.list(folder, "").try_collect().await.unwrap();
    assert!(!listed.is_empty(), "{folder}");
    for object in listed {
        store.delete(&object.path).await.unwrap();
    }
}

/// Trap: the entries of a block are gone for good, so that without a snapshot nothing leads to those that are left.
#[tokio::test]
async fn entries_that_are_retired_and_no_snapshot_that_leads_on_are_named() {
    let store = long_journal().await;
    let survey = Survey::take(&store).await.unwrap();
    let before = diagnose(&survey);
    assert_eq!(before.problems, [], "a long journal is whole");
    assert_eq!(survey.boundaries.len(), 1);
    assert_eq!(before.recovery.until, Sequence(11_101));
    delete_all(&store, "_baler/snapshots").await;
    let survey = Survey::take(&store).await.unwrap();
    let diagnosis = diagnose(&survey);
    assert!(diagnosis.stops() && diagnosis.recovery.is_cut, "{diagnosis:?}");
    let says =
        |problem: &baler_journal::mending::Problem| problem.why.contains("no snapshot stands for them");
    assert!(diagnosis.problems.iter().any(says), "{:?}", diagnosis.problems);
    assert_eq!(
        diagnosis.recovery.state,
        State::default(),
        "what is left leads nowhere"
    );
    let log = ObjectLog::open(store.clone(), Access::ReadWrite).await.unwrap();
    let closed = close_old(&log).await.unwrap();
    assert_eq!(closed.next, Sequence(20_000));
    let mut state = diagnosis.recovery.state.clone();
    renew(&mut state, JournalId(8), closed.next, History::Cut);
    begin_anew(&log, state.clone()).await.unwrap();
    let again = begin_anew(&log, state).await;
    assert!(again.is_err(), "two began in one slot");
    let replica = open(&store).await.unwrap();
    assert_eq!(replica.state().journal, Some(JournalId(8)));
    replica.submit(Request::Tick).await.unwrap();
    let survey = Survey::take(&store).await.unwrap();
    assert_eq!(diagnose(&survey).problems, []);
}

/// Trap: an older snapshot is damaged, and the chain is followed from it although entries behind it are retired.
#[tokio::test]
async fn without_the_newest_snapshot_an_older_one_leads_as_far() {
    let store = long_journal().await;
    let survey = Survey::take(&store).await.unwrap();
    let newest = *survey.snapshots.keys().next_back().unwrap();
    store
        .delete(&format!("_baler/snapshots/{:020}", newest.0))
        .await
        .unwrap();
    let survey = Survey::take(&store).await.unwrap();
    let diagnosis = diagnose(&survey);
    assert!(diagnosis.recovery.snapshot < newest);
    assert_eq!(
        (diagnosis.recovery.until, diagnosis.recovery.is_cut),
        (Sequence(11_101), false)
    );
    assert_eq!(diagnosis.problems, [], "an older one is as good");
}

fn random_state(numbers: Vec<u64>) -> State {
    let mut state = State::default();
    state.open_batch(None);
    let requests = [Request::CreateJournal(JournalId(7))];
    for request in requests {
        for event in baler_core::decide(&state, &request).events {
            baler_core::apply::apply_event(&mut state, &event);
        }
    }
    for event in all_tables() {
        baler_core::apply::apply_event(&mut state, &event);
    }
    for number in numbers {
        let request = next_request(&state, number);
        state.open_batch(None);
        for event in baler_core::decide(&state, &request).events {
            baler_core::apply::apply_event(&mut state, &event);
        }
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Trap: a token of the old journal is still good in the new one.
    #[test]
    fn a_renewed_state_is_sound_and_nobody_holds_a_lease(numbers in prop::collection::vec(any::<u64>(), 0..400)) {
        let before = random_state(numbers);
        for history in [History::Whole, History::Cut] {
            let mut state = before.clone();
            renew(&mut state, JournalId(8), Sequence(10_000), history);
            prop_assert!(invariants::broken(&state).is_empty());
            prop_assert!(state.watchers.is_empty());
            prop_assert!(state.jobs.values().all(|job| job.leases().count() == 0));
            let leaves = |garbage: &Garbage| garbage.stage != Stage::Returning;
            prop_assert!(history == History::Whole || !state.garbage.values().any(|garbage| leaves(garbage)));
            let bytes = snapshot::write(&state, Default::default());
            prop_assert_eq!(snapshot::read(state.sequence, &bytes).unwrap().0, state);
        }
    }
}
