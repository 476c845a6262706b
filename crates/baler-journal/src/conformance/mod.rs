//! What every journal must do, as stories that any backend can run. A backend makes a [`Site`] and calls
//! [`journal_conformance!`](crate::journal_conformance); one that keeps its journal in a store also calls
//! [`store_conformance!`](crate::store_conformance), where that store misbehaves.

pub mod faults;
pub mod formats;
pub mod journal;
pub mod retirement;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use baler_core::file::{File, FilePath, Identity};
use baler_core::ids::{JournalId, Partition, Sequence, TableName, WatcherId, WorkerId};
use baler_core::request::{Poll, Reply, Request, Scope};
use baler_core::state::State;
use baler_core::table::{Catalog, TableSpec};
use baler_core::time::{Millis, StoreTime};
use futures::future::BoxFuture;

use crate::checksum::Checksum;
use crate::entry::Proposal;
use crate::error::JournalError;
use crate::journal::Journal;
use crate::object_log::Access;
use crate::replica::{Replica, Settings};
use crate::store::FaultyStore;

/// The size of blocks that a site's journals are opened with.
pub const BLOCK: u64 = 10;

/// How often replicas here write a snapshot.
pub const SNAPSHOT_EVERY: u64 = 5;

/// A story that takes longer waits for something that never comes.
pub const STORY_MAX: Duration = Duration::from_secs(60);

type Open = dyn Fn(Access) -> BoxFuture<'static, Result<Arc<dyn Journal>, JournalError>> + Send + Sync;

/// A place for one journal, empty at first. Each `open` is as another process would open it.
pub struct Site {
    open: Box<Open>,
    faults: Option<Arc<FaultyStore>>,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

impl Site {
    /// Opened by this; with blocks of [`BLOCK`] entries.
    pub fn new(
        open: impl Fn(Access) -> BoxFuture<'static, Result<Arc<dyn Journal>, JournalError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            open: Box::new(open),
            faults: None,
        }
    }

    /// The same, with the store that every journal opened here goes through.
    #[must_use]
    pub fn with_faults(self, faults: Arc<FaultyStore>) -> Self {
        Self {
            faults: Some(faults),
            ..self
        }
    }

    /// Opens the journal.
    pub async fn journal(&self) -> Arc<dyn Journal> {
        (self.open)(Access::ReadWrite).await.expect("the journal opens")
    }

    /// Opens a replica.
    pub async fn replica(&self) -> Replica {
        self.try_replica(Access::ReadWrite)
            .await
            .expect("the replica opens")
    }

    /// Opens a replica, or says why not.
    pub async fn try_replica(&self, access: Access) -> Result<Replica, JournalError> {
        let journal = (self.open)(access).await?;
        Replica::open(journal, settings(access)).await
    }

    /// A replica on a journal that has begun.
    pub async fn begun(&self) -> Replica {
        let replica = self.replica().await;
        let begun = replica.submit(Request::CreateJournal(JOURNAL)).await;
        assert_eq!(begun, Ok(Reply::Done));
        replica
    }

    /// Appends entries until this one is the last, with all the snapshots that belong to it. Returns the state.
    pub async fn grow(&self, until: u64) -> Arc<State> {
        loop {
            let replica = self.replica().await;
            let last = replica.state().sequence.0;
            for _ in last..until.min((last / SNAPSHOT_EVERY + 1) * SNAPSHOT_EVERY) {
                assert_eq!(replica.submit(Request::Tick).await, Ok(Reply::Done));
            }
            let state = replica.state();
            replica.close().await;
            if state.sequence.0 >= until {
                return state;
            }
        }
    }

    /// The faulty store.
    pub fn faults(&self) -> &Arc<FaultyStore> {
        self.faults
            .as_ref()
            .expect("this suite is for journals in a store")
    }
}

/// The id of the journals made here.
pub const JOURNAL: JournalId = JournalId(0x000b_a1e5);

/// As replicas here behave.
pub fn settings(access: Access) -> Settings {
    Settings {
        access,
        snapshot_every: SNAPSHOT_EVERY,
        ..Settings::default()
    }
}

/// A native table.
pub fn spec(grace_secs: u64) -> Arc<TableSpec> {
    Arc::new(TableSpec {
        grace: Millis::from_secs(grace_secs),
        ..TableSpec::of(Catalog::Native)
    })
}

/// Asks for a table.
pub fn create_table(name: &str, grace_secs: u64) -> Request {
    Request::CreateTable {
        table: TableName::from(name),
        spec: spec(grace_secs),
    }
}

/// Offers a file.
pub fn add_file(table: &str, path: &str, evidence: Sequence) -> Request {
    let identity = Identity {
        tag: "1".into(),
        bytes: 100,
        modified: StoreTime { unix_ms: 1 },
    };
    Request::AddFiles {
        table: TableName::from(table),
        evidence,
        files: vec![Arc::new(File {
            partition: Partition::from(""),
            ..File::found(FilePath::in_root(path), identity, 10)
        })],
    }
}

/// Asks for a pin on table `t`. Each pin is a promise of its own, so one that was decided twice shows.
pub fn pin() -> Request {
    Request::Pin {
        table: TableName::from("t"),
        owner: "reader".into(),
        lifetime: Millis::from_secs(60),
        version: None,
    }
}

/// A worker that is its own watcher asks for one range.
pub fn poll(watcher: u128) -> Request {
    Request::Poll(Poll {
        worker: WorkerId::from("worker"),
        watcher: WatcherId(watcher),
        embedded: true,
        host: None,
        slots: 1,
        memory: None,
        isolates: false,
        scope: Scope::default(),
    })
}

/// The first entry of a journal, on offer.
pub fn first_proposal(journal: JournalId) -> Proposal {
    let events = vec![baler_core::Event::JournalCreated { journal }];
    let batch = baler_core::Batch {
        sequence: Sequence(1),
        parent_time: None,
        events,
    };
    Proposal::of_batch(journal, Checksum::default(), &batch).expect("it is small")
}

/// An entry that only ticks, on offer for the slot after the parent.
pub fn tick_proposal(sequence: u64, parent: Checksum) -> Proposal {
    let batch = baler_core::Batch {
        sequence: Sequence(sequence),
        parent_time: None,
        events: vec![baler_core::Event::Ticked],
    };
    Proposal::of_batch(JOURNAL, parent, &batch).expect("it is small")
}

/// Makes a test of each story for any backend: `journal_conformance!(module, expression for a new Site)`.
#[macro_export]
macro_rules! journal_conformance {
    ($module:ident, $site:expr) => {
        $crate::conformance_tests!($module, $site, journal: [
            a_first_append_is_read_as_it_was_written,
            a_filled_slot_refuses_everybody_else,
            the_same_bytes_offered_twice_are_one_entry,
            of_sixteen_racing_appenders_one_wins_each_slot,
            sixteen_racing_replicas_agree,
            of_sixteen_who_plan_from_one_state_one_gets_the_job,
            two_makers_of_a_journal_agree_on_one,
            a_reopened_journal_has_the_same_state,
            requests_that_wait_share_an_append_and_are_decided_in_order,
            requests_without_events_append_nothing,
            what_is_mentioned_goes_with_the_next_entry_and_makes_none,
            a_refusal_is_given_only_on_a_state_caught_up_after_the_request_came,
            writers_who_take_turns_lose_one_append_each_at_most,
            a_lone_writer_reads_nothing_between_its_appends,
            each_batch_carries_the_time_of_its_parent,
            nothing_is_appended_before_the_journal_is_created,
            a_read_only_replica_refuses_to_write,
        ], retirement: [
            a_snapshot_saves_reading_the_entries_before_it,
            another_replica_writes_a_snapshot_that_is_missing,
            retired_entries_are_gone_and_the_state_is_the_same,
            a_replica_that_slept_through_retirement_reloads,
            a_stalled_writer_cannot_fill_a_retired_slot,
        ]);
    };
}

/// Makes a test of each story for a backend over a [`FaultyStore`].
#[macro_export]
macro_rules! store_conformance {
    ($module:ident, $site:expr) => {
        $crate::conformance_tests!($module, $site, faults: [
            a_lost_response_is_found_by_reading_back,
            a_client_that_meets_its_own_object_has_won,
            already_exists_without_an_object_means_try_again,
            a_put_that_lands_late_is_committed_once,
            a_put_that_lands_too_late_is_decided_anew,
            nobody_is_answered_while_the_outcome_is_unknown,
            a_slot_of_unknown_outcome_is_offered_the_same_bytes_only,
            an_entry_that_may_not_be_durable_is_not_acknowledged,
            a_replica_out_of_patience_stops_for_good,
            a_refused_write_is_an_error_and_leaves_nothing_pending,
            a_failed_read_is_not_an_empty_journal,
            a_read_without_a_clear_answer_is_asked_again,
            short_and_flipped_reads_are_read_again,
            a_read_only_open_never_writes,
            an_idle_replica_asks_nothing,
            a_store_of_which_only_the_entries_are_lost_is_not_taken_for_new,
        ], retirement: [
            a_boundary_stands_before_the_first_delete,
            a_retirement_cut_short_is_finished_later,
            a_stalled_create_that_lands_in_a_retired_block_counts_for_nothing,
            a_belated_entry_is_not_believed_by_who_reads_it,
            an_unverified_snapshot_lets_nothing_go,
        ], formats: [
            a_damaged_entry_is_refused_and_named,
            an_entry_that_does_not_belong_is_refused,
            a_missing_entry_is_refused,
            a_damaged_snapshot_is_refused_and_named,
            a_snapshot_of_another_history_is_refused,
            newer_formats_are_refused_with_advice,
        ]);
    };
}

/// The other two macros in common.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($module:ident, $site:expr, $($suite:ident: [$($story:ident,)*]),*) => {
        mod $module {
            use super::*;
            $($(
                #[tokio::test]
                async fn $story() {
                    let story = $crate::conformance::$suite::$story($site);
                    let ended = tokio::time::timeout($crate::conformance::STORY_MAX, story).await;
                    ended.expect("the story comes to an end");
                }
            )*)*
        }
    };
}
