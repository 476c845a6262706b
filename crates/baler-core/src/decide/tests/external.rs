//! Tables whose truth is in a catalog of their owner: what landed there landed, and nothing is given up without proof.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::external::{CatalogVersion, CommitOutcome, History};
use crate::ids::{JobId, RangeId, Token, WatcherId};
use crate::job::JobStatus;
use crate::limits::{SHED_PUT_OFF, STORE_BACKOFF_FIRST};
use crate::request::{BeginCommit, Refusal, Reply, Request};
use crate::scheduler::commits_backed_off_for;
use crate::table::{Catalog, Rule, TableSpec};
use crate::time::Millis;

const EXTERNAL: &str = "external";

fn external() -> Event {
    Event::TableCreated {
        table: EXTERNAL.into(),
        spec: spec(Catalog::External, Rule::KeepAll),
    }
}

/// Two jobs are merged, and their commits are due.
fn merged() -> Story {
    let mut story = given([
        external(),
        added(EXTERNAL, ["a", "b", "c"]),
        planned(EXTERNAL, 0, ["a", "b"]),
        planned(EXTERNAL, 1, ["c"]),
        leased(0),
        leased(1),
    ]);
    for job in [0, 1] {
        let finish = finish(story.job(job), &story.attempt(job));
        story = story.after(Request::Finish(finish));
    }
    story
}

fn begin(job: u64, base: u64, watcher: WatcherId) -> Request {
    Request::BeginCommit(BeginCommit {
        job: JobId(job),
        base: CatalogVersion(base),
        worker: "committer".into(),
        watcher,
        host: None,
    })
}

fn tried_on(bases: &[u64]) -> Story {
    bases
        .iter()
        .fold(merged(), |story, base| story.after(begin(0, *base, CHIEF)))
}

fn report(story: &Story, outcome: CommitOutcome) -> Request {
    reported(story.publish_token(0), outcome)
}

fn reported(token: Token, outcome: CommitOutcome) -> Request {
    Request::ReportCommit {
        job: JobId(0),
        token,
        outcome,
    }
}

fn refused(after: u64, until: u64) -> CommitOutcome {
    CommitOutcome::Refused {
        reason: "the schema has changed".into(),
        history: History {
            after: CatalogVersion(after),
            until: CatalogVersion(until),
        },
    }
}

fn unknown() -> CommitOutcome {
    CommitOutcome::Unknown {
        reason: "timed out".into(),
    }
}

fn history_cut() -> CommitOutcome {
    CommitOutcome::HistoryCut {
        reason: "versions before 9 are gone".into(),
    }
}

#[test]
fn the_last_range_makes_a_commit_due_and_changes_nothing_yet() {
    let story = merged();
    assert_eq!(story.job(0).status, JobStatus::Compacted);
    assert_eq!(story.live(EXTERNAL), paths(["a", "b", "c"]));
    assert_eq!(story.state.commits_due(), [JobId(0), JobId(1)]);
    story.when(poll(CHIEF, 5)).nothing();
}

#[test]
fn each_try_is_written_down_before_it_is_made() {
    let leased = Event::RangeLeased {
        job: JobId(0),
        range: RangeId::Publish,
        worker: "committer".into(),
        watcher: CHIEF,
        embedded: true,
        host: None,
        tenant: None,
        isolates: false,
    };
    let tried = |base| Event::CommitTry {
        job: JobId(0),
        base: CatalogVersion(base),
    };
    let told = merged()
        .when(begin(0, 7, CHIEF))
        .then([leased, tried(7)])
        .only_once();
    let Reply::MayCommit(grant) = told.decision.reply.clone() else {
        panic!("may not")
    };
    let story = told.go_on();
    assert_eq!(grant.token, story.publish_token(0));
    let story = story
        .when(begin(0, 9, CHIEF))
        .then([tried(9)])
        .only_once()
        .go_on();
    assert_eq!(story.publish_token(0), grant.token, "under the same lease");
    let tries = story.job(0).tries.clone().unwrap();
    assert_eq!(
        (tries.oldest, tries.newest, tries.count),
        (CatalogVersion(7), CatalogVersion(9), 2)
    );
}

#[test]
fn nothing_is_reported_that_was_not_begun() {
    let token = Token {
        sequence: merged().state.sequence,
        index: 0,
    };
    let no_lease = Refusal::NoSuchLease {
        job: JobId(0),
        range: RangeId::Publish,
    };
    for outcome in [CommitOutcome::Committed, refused(0, 99), unknown(), history_cut()] {
        merged().when(reported(token, outcome)).refused(no_lease.clone());
    }
}

#[test]
fn commits_of_a_table_are_made_one_at_a_time() {
    let story = tried_on(&[7]);
    let under_way = Refusal::CommitUnderWay { job: JobId(0) };
    story.clone().when(begin(1, 7, CHIEF)).refused(under_way.clone());
    story.clone().when(begin(1, 7, DEPUTY)).refused(under_way.clone());
    story.clone().when(begin(0, 7, DEPUTY)).refused(under_way);
    assert_eq!(story.state.commits_due(), []);
    let done = report(&story, CommitOutcome::Committed);
    let story = story.after(done);
    assert_eq!(story.state.commits_due(), [JobId(1)]);
    assert!(!story.when(begin(1, 8, DEPUTY)).decision.events.is_empty());
}

#[test]
fn what_the_catalog_holds_is_committed() {
    let story = tried_on(&[7]);
    let output = story.job(0).outputs().next().unwrap().path.clone();
    let request = report(&story, CommitOutcome::Committed);
    let told = story
        .when(request.clone())
        .then([Event::JobCommitted { job: JobId(0) }])
        .only_once();
    let reply = told.decision.reply.clone();
    let story = told.go_on();
    assert_eq!(story.live(EXTERNAL), [path("c"), output]);
    assert!(
        story.state.garbage.contains_key(&path("a")),
        "inputs wait for their grace"
    );
    assert!(story.state.watchers.is_empty());
    story.when(request).nothing().replies(reply);
}

#[test]
fn a_refused_commit_fails_the_job_and_gives_the_inputs_back() {
    let story = tried_on(&[7]);
    let output = story.job(0).outputs().next().unwrap().path.clone();
    let request = report(&story, refused(7, 8));
    let told = story
        .when(request)
        .only_once()
        .replies(Reply::JobFailed(JobId(0)));
    let story = told.go_on();
    assert_eq!(story.live(EXTERNAL), paths(["a", "b", "c"]));
    let ended = story.state.recent.back().unwrap();
    assert_eq!(
        (ended.status, ended.failed.as_deref()),
        (JobStatus::Failed, Some("the schema has changed"))
    );
    assert!(
        story.state.garbage.contains_key(&output),
        "its outputs belong to nobody"
    );
    story.clone().when(poll(CHIEF, 1)).nothing();
    assert!(story.state.watchers.is_empty());
    assert!(
        !story
            .clone()
            .later(SHED_PUT_OFF)
            .when(poll(CHIEF, 1))
            .decision
            .events
            .is_empty()
    );
    story
        .when(begin(0, 9, CHIEF))
        .refused(Refusal::NoSuchJob(JobId(0)));
}

/// Or a try that landed, or is still to land, would bring its rows into the catalog a second time.
#[test]
fn a_job_is_given_up_only_on_proof_that_no_try_landed() {
    let story = tried_on(&[5, 7]);
    for (after, until, because) in [
        (6, 99, "begins after"),
        (7, 99, "begins after"),
        (5, 7, "may still land"),
        (0, 6, "may still land"),
    ] {
        let request = report(&story, refused(after, until));
        let told = story.clone().when(request).nothing().not_proved(because);
        assert_eq!(told.go_on().job(0).status, JobStatus::Compacted);
    }
    for (after, until) in [(5, 8), (0, 99)] {
        let request = report(&story, refused(after, until));
        story.clone().when(request).replies(Reply::JobFailed(JobId(0)));
    }
}

#[test]
fn tries_of_dead_processes_count_for_the_proof() {
    let story = tried_on(&[5]);
    let counter = story.state.watchers[&CHIEF].counter;
    let zombie = story.publish_token(0);
    let story = story.after(Request::TakeOver {
        watcher: CHIEF,
        counter,
        by: DEPUTY,
    });
    let story = story.after(begin(0, 9, DEPUTY));
    let request = report(&story, refused(6, 10));
    story.clone().when(request).nothing().not_proved("begins after");
    let no_lease = Refusal::NoSuchLease {
        job: JobId(0),
        range: RangeId::Publish,
    };
    story
        .clone()
        .when(reported(zombie, refused(0, 99)))
        .refused(no_lease.clone());
    story
        .when(reported(zombie, CommitOutcome::Committed))
        .refused(no_lease);
}

#[test]
fn where_history_is_cut_the_job_stays_and_asks_the_operator() {
    let story = tried_on(&[7]);
    let request = report(&story, history_cut());
    let story = story.when(request).only_once().go_on();
    assert_eq!(story.job(0).status, JobStatus::Compacted);
    assert!(story.state.watchers.is_empty());
    story
        .clone()
        .when(begin(0, 12, CHIEF))
        .refused(Refusal::AsksOperator(JobId(0)));
    assert_eq!(story.state.commits_due(), [JobId(1)], "others of the table go on");
    let settle = |landed| Request::SettleCommit {
        job: JobId(0),
        landed,
    };
    let landed = story.clone().when(settle(true)).only_once().go_on();
    assert_eq!(landed.state.recent.back().unwrap().status, JobStatus::Committed);
    let never = story.when(settle(false)).only_once().go_on();
    assert_eq!(never.state.recent.back().unwrap().status, JobStatus::Failed);
    assert_eq!(never.live(EXTERNAL), paths(["a", "b", "c"]));
}

#[test]
fn an_operator_settles_only_what_nobody_else_can() {
    for landed in [true, false] {
        let settle = Request::SettleCommit {
            job: JobId(0),
            landed,
        };
        merged().when(settle.clone()).nothing().not_proved("no try");
        tried_on(&[7])
            .when(settle)
            .refused(Refusal::CommitUnderWay { job: JobId(0) });
    }
}

#[test]
fn an_unknown_outcome_is_looked_at_again_later() {
    let story = tried_on(&[7]);
    let request = report(&story, unknown());
    let story = story.when(request).only_once().go_on();
    assert_eq!(story.state.commits_due(), [JobId(1)], "it rests");
    assert_eq!(commits_backed_off_for(&story.state), Some(STORE_BACKOFF_FIRST));
    let story = story.later(STORE_BACKOFF_FIRST);
    assert_eq!(commits_backed_off_for(&story.state), None);
    assert_eq!(story.state.commits_due(), [JobId(0), JobId(1)]);
    let back = Refusal::BaseGoesBack {
        job: JobId(0),
        base: CatalogVersion(6),
        newest: CatalogVersion(7),
    };
    story.clone().when(begin(0, 6, DEPUTY)).refused(back);
    let story = story.after(begin(0, 7, DEPUTY));
    assert_eq!(story.job(0).tries.as_ref().unwrap().count, 2);
}

#[test]
fn a_job_whose_commit_is_due_is_not_ended_by_anything_else() {
    let story = tried_on(&[7]);
    let seen = story.state.sequence;
    let story = story.and([Event::Ticked]);
    story
        .clone()
        .when(Request::Cancel(JobId(0)))
        .refused(Refusal::TooLate(JobId(0)));
    story.clone().when(lose(EXTERNAL, seen, ["a"])).nothing();
    let table = EXTERNAL.into();
    story
        .clone()
        .when(Request::DropTable(table))
        .refused(Refusal::KeptElsewhere(EXTERNAL.into()));
    let attempt = story.attempt_at(0, RangeId::Publish);
    let story = story.after(release(attempt, ReleaseReason::InputFault("odd".into())));
    assert_eq!(story.job(0).status, JobStatus::Compacted);
}

#[test]
fn what_is_committed_elsewhere_is_not_published() {
    let story = tried_on(&[7]);
    let token = story.publish_token(0);
    story
        .when(publish(0, token))
        .refused(Refusal::NothingToPublish(JobId(0)));
}

#[test]
fn only_tables_with_an_external_catalog_are_committed_there() {
    for table in [NATIVE, PLACE] {
        let story = given([added(table, ["a", "b"]), planned(table, 0, ["a", "b"]), leased(0)]);
        story
            .clone()
            .when(begin(0, 7, CHIEF))
            .refused(Refusal::NothingToCommit(JobId(0)));
        let finish = finish(story.job(0), &story.attempt(0));
        let story = story.after(Request::Finish(finish));
        assert!(story.state.commits_due().is_empty());
        assert!(story.when(begin(0, 7, CHIEF)).decision.events.is_empty());
    }
}

#[test]
fn retention_is_not_for_external_catalogs() {
    let timed = crate::table::MergeSpec {
        row_time: Some("t".into()),
        ..Default::default()
    };
    let spec = TableSpec {
        retention: Some(Millis(1)),
        merge: timed.into(),
        ..TableSpec::clone(&spec(Catalog::External, Rule::KeepAll))
    };
    let request = Request::CreateTable {
        table: "x".into(),
        spec: spec.into(),
    };
    let mut story = given([]);
    story.state.tables.clear();
    let decision = crate::decide(&story.state, &request);
    let Reply::Refused(Refusal::WrongSettings { what, .. }) = decision.reply else {
        panic!("taken")
    };
    assert!(what.contains("native"), "{what}");
}
