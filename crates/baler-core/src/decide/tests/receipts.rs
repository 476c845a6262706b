//! Receipts are due until somebody has written them, and what is remembered for them is bounded.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::ids::JobId;
use crate::limits::{
    COMMITTED_JOBS_MAX, RECEIPTS_DUE_MAX, RECEIPTS_KEPT, RECEIPTS_RETIRED_AT_ONCE, TRIED_MAX,
};
use crate::receipt::Effort;
use crate::request::Request;

fn committed() -> Story {
    let story = given([
        added(NATIVE, ["a", "b"]),
        planned(NATIVE, 0, ["a", "b"]),
        leased(0),
    ]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    story.after(request)
}

fn report(jobs: &[u64]) -> Request {
    Request::ReportReceipts(jobs.iter().copied().map(JobId).collect())
}

fn due(story: &Story) -> Vec<u64> {
    story.state.receipts_due().map(|kept| kept.job.id.0).collect()
}

/// Trap: whoever commits may die before the receipt is written.
#[test]
fn a_receipt_is_due_until_it_is_reported_written() {
    let story = committed();
    assert_eq!(due(&story), [0]);
    let kept = &story.state.committed[&JobId(0)];
    assert_eq!(kept.job.inputs.len(), 2);
    assert_eq!(kept.outputs.len(), 1, "with what the table says of them");
    let story = story
        .when(report(&[0, 7]))
        .then([Event::ReceiptsWritten { jobs: vec![JobId(0)] }])
        .only_once()
        .go_on();
    assert_eq!(due(&story), [0u64; 0]);
}

#[test]
fn attempts_are_remembered_with_how_they_ended() {
    let story = given([added(NATIVE, ["a", "b"]), planned(NATIVE, 0, ["a", "b"])]);
    let mut story = story;
    for _ in 0..TRIED_MAX + 2 {
        story = story.after(poll(LONER, 1));
        let attempt = story.attempt(0);
        story = story.after(release(attempt, ReleaseReason::Drained));
    }
    let story = story.after(poll(LONER, 1));
    let attempt = story.attempt(0);
    let mut finish = finish(story.job(0), &attempt);
    finish.finished.effort = Some(Effort {
        requests: 5,
        ..Effort::default()
    });
    let story = story.after(Request::Finish(finish));
    let job = &story.state.committed[&JobId(0)].job;
    assert_eq!(job.ranges[0].tried.len(), TRIED_MAX);
    let last = job.ranges[0].tried.last().unwrap();
    assert_eq!((last.token, &last.released), (attempt.token, &None));
    let before = &job.ranges[0].tried[TRIED_MAX - 2];
    assert_eq!(before.released, Some(ReleaseReason::Drained));
    let summary = &story.state.recent[0];
    assert_eq!(summary.attempts as usize, TRIED_MAX + 3);
    assert_eq!(summary.effort.map(|effort| effort.requests), Some(5));
}

/// Trap: history that grows for ever. Those whose receipts are written go first.
#[test]
fn what_is_remembered_of_committed_jobs_is_bounded() {
    let mut state = committed().state;
    let one = state.committed[&JobId(0)].clone();
    let mut commit = |number: u64, receipted: bool| {
        let mut kept = crate::receipt::Committed::clone(&one);
        std::sync::Arc::make_mut(&mut kept.job).id = JobId(number);
        kept.receipted = receipted;
        state.committed.insert(JobId(number), kept.into());
        crate::apply::apply_event(&mut state, &Event::ReceiptsWritten { jobs: vec![] });
        state.committed.len()
    };
    for number in 1..3 * COMMITTED_JOBS_MAX as u64 {
        assert!(commit(number, true) <= COMMITTED_JOBS_MAX);
    }
    let first_due = 10 * RECEIPTS_DUE_MAX as u64;
    for number in 0..2 * RECEIPTS_DUE_MAX as u64 {
        assert!(commit(first_due + number, false) <= RECEIPTS_DUE_MAX);
    }
    assert_eq!(state.receipts_due().count(), RECEIPTS_DUE_MAX);
}

#[test]
fn old_receipts_are_retired_before_they_are_deleted() {
    let mut story = committed();
    story.state.next_job = JobId(RECEIPTS_KEPT + RECEIPTS_RETIRED_AT_ONCE);
    let decide = |state: &crate::State, request: Request| {
        let mut open = state.clone();
        open.open_batch(None);
        crate::decide(&open, &request).events
    };
    let before = JobId(RECEIPTS_RETIRED_AT_ONCE);
    let early = Request::ReportReceiptsDeleted { before };
    assert_eq!(decide(&story.state, early.clone()), [], "nobody has retired them");
    assert_eq!(
        decide(&story.state, report(&[])),
        [Event::ReceiptsRetired { before }]
    );
    story.state.old_receipts.retired = before;
    assert_eq!(decide(&story.state, report(&[])), [], "once");
    assert_eq!(decide(&story.state, early), [Event::ReceiptsDeleted { before }]);
}

/// The name of a dropped table is free again only when its receipts are gone too.
#[test]
fn receipts_of_a_dropped_table_are_asked_for() {
    let story = committed();
    let asked = Request::ReportTableReceiptsDeleted(NATIVE.into());
    story.clone().when(asked.clone()).nothing();
    let story = story.after(Request::DropTable(NATIVE.into()));
    assert_eq!(due(&story), [0u64; 0], "nobody writes receipts for it any more");
    let gone = Event::TableReceiptsDeleted { table: NATIVE.into() };
    story.when(asked).then([gone]).only_once();
}
