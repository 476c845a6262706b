//! A committed job is taken back, or not at all.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, Returned};
use crate::file::{FilePath, Identity};
use crate::garbage::{self, Stage};
use crate::ids::JobId;
use crate::job::{CancelReason, JobStatus};
use crate::names;
use crate::request::{Grace, Refusal, Reply, Request, Undo};
use crate::time::Millis;

/// `a` and `b` are replaced by job 0, and its receipt is written.
fn committed(table: &str) -> Story {
    let story = given([added(table, ["a", "b"]), planned(table, 0, ["a", "b"]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let mut story = story.after(request);
    if story.state.jobs.contains_key(&JobId(0)) {
        let token = story.publish_token(0);
        story = story.after(publish(0, token));
    }
    story.after(Request::ReportReceipts(vec![JobId(0)]))
}

fn undo(now: [Option<Identity>; 2]) -> Request {
    Request::Undo(Undo {
        job: JobId(0),
        inputs_now: now.into(),
    })
}

fn all_there() -> Request {
    undo([Some(version("1")), Some(version("1"))])
}

fn put_off<const N: usize>(table: &str, names: [&str; N]) -> Event {
    Event::FilesPutOff {
        table: table.into(),
        paths: paths(names),
        job: JobId(0),
        lasts: None,
        reason: "brought back by an undo: retry lets it be planned again".into(),
    }
}

#[track_caller]
fn refused(story: Story, request: Request, because: &str) {
    let told = story.when(request).nothing();
    match &told.decision.reply {
        Reply::Refused(Refusal::CannotUndo { why, .. }) => assert!(why.contains(because), "{why}"),
        other => panic!("not refused, but {other:?}"),
    }
}

#[test]
fn the_inputs_of_a_native_table_are_live_again_at_once_and_left_alone() {
    let undone = Event::JobUndone { job: JobId(0) };
    let story = committed(NATIVE)
        .when(all_there())
        .then([undone, put_off(NATIVE, ["a", "b"])])
        .only_once()
        .go_on();
    assert_eq!(story.live(NATIVE), paths(["a", "b"]));
    assert_eq!(story.state.garbage.len(), 1, "the output goes");
    let again = story.clone().after(poll(LONER, 1));
    assert!(again.state.jobs.is_empty(), "it was planned again at once");
    let retried = story.after(Request::Retry {
        table: NATIVE.into(),
        paths: vec![],
    });
    assert!(retried.table(NATIVE).put_off.is_empty());
}

/// Trap: an undo after the outputs were merged on doubles their rows.
#[test]
fn what_was_merged_on_cannot_be_undone() {
    let story = committed(NATIVE);
    let output = story.live(NATIVE)[0].clone();
    let story = story.and([
        added(NATIVE, ["c"]),
        planned(NATIVE, 1, [output.path.as_ref(), "c"]),
        leased(1),
    ]);
    let request = Request::Finish(finish(story.job(1), &story.attempt(1)));
    refused(story.after(request), all_there(), "not live any more");
}

#[test]
fn a_job_that_holds_the_outputs_is_cancelled() {
    let story = committed(NATIVE);
    let output = story.live(NATIVE)[0].clone();
    let story = story.and([
        added(NATIVE, ["c"]),
        planned(NATIVE, 1, [output.path.as_ref(), "c"]),
        leased(1),
    ]);
    let story = story.after(all_there());
    assert_eq!(story.live(NATIVE), paths(["a", "b", "c"]));
    let ended = story.state.recent.last().unwrap();
    assert_eq!(ended.status, JobStatus::Cancelled);
    assert_eq!(ended.cancelled, Some(CancelReason::InputsUndone(JobId(0))));
}

/// Trap: what is on a deletion list may be gone at any moment.
#[test]
fn what_is_due_does_not_come_back() {
    for table in [NATIVE, PLACE] {
        let mut story = committed(table);
        if table == PLACE {
            let moved = vec![names::aside(JobId(0), 0), names::aside(JobId(0), 1)];
            story = story.after(Request::ReportAside {
                moved,
                nothing: vec![],
            });
        }
        let story = story.after(Request::DeclareDue { grace: Grace::Waived });
        refused(story, all_there(), "about to be deleted");
    }
}

#[test]
fn an_input_that_nobody_saw_does_not_come_back() {
    for now in [None, Some(version("2"))] {
        let request = undo([Some(version("1")), now]);
        refused(committed(NATIVE), request, "b is not where it was kept");
    }
}

#[test]
fn a_name_that_was_taken_meanwhile_is_in_the_way() {
    let story = committed(NATIVE).and([added(NATIVE, ["a@2"])]);
    refused(story, all_there(), "another file is called a");
}

#[test]
fn a_store_that_deletes_at_once_says_what_would_have_helped() {
    let story = committed(STORE).after(declare_due());
    refused(story.clone(), all_there(), "about to be deleted");
    let gone = story.after(report_deleted(paths(["a", "b"])));
    refused(gone, all_there(), "--keep-inputs");
}

#[test]
fn what_is_not_committed_or_long_forgotten_is_refused() {
    let story = given([added(NATIVE, ["a", "b"]), planned(NATIVE, 0, ["a", "b"])]);
    refused(story.clone(), all_there(), "not committed");
    let request = Request::Undo(Undo {
        job: JobId(9),
        inputs_now: vec![],
    });
    refused(story, request, "not among the committed jobs");
}

/// Files that were set aside are live and held until their copies lie under their own names; a 404 says nothing of them.
#[test]
fn what_was_set_aside_is_held_until_it_is_back() {
    let asides: Vec<FilePath> = (0..2).map(|index| names::aside(JobId(0), index)).collect();
    let story = committed(PLACE).after(Request::ReportAside {
        moved: asides.clone(),
        nothing: vec![],
    });
    let output = story.live(PLACE)[0].clone();
    let story = story
        .when(all_there())
        .then([Event::JobUndone { job: JobId(0) }])
        .only_once()
        .go_on();
    assert_eq!(story.live(PLACE), paths(["a", "b"]));
    let out = &story.state.garbage[&names::undone_aside(JobId(0), 0)];
    assert_eq!(out.original.as_ref().unwrap().path, output);

    let evidence = story.state.sequence;
    let story = story.and([Event::Ticked]);
    let missing = Request::LoseFiles {
        table: PLACE.into(),
        evidence,
        paths: paths(["a", "b"]),
    };
    story.clone().when(missing).nothing();
    let waived = Request::DeclareDue { grace: Grace::Waived };
    story.clone().when(waived).nothing();
    assert!(story.clone().after(poll(LONER, 1)).state.jobs.is_empty());

    let back = |index: usize| Returned {
        aside: asides[index].clone(),
        identity: Some(version("copy")),
    };
    let report = Request::ReportReturned(vec![back(0), back(0)]);
    let returned = Event::InputsReturned { files: vec![back(0)] };
    let story = story
        .when(report)
        .then([returned, put_off(PLACE, ["a"])])
        .only_once()
        .go_on();
    assert_eq!(story.table(PLACE).files[&path("a")].identity, version("copy"));
    assert_eq!(story.state.undoing[&JobId(0)].waiting, 1);
    // Somebody removed the other one: there is nothing to wait for.
    let gone = Returned {
        identity: None,
        ..back(1)
    };
    let lost = story.clone().after(Request::ReportReturned(vec![gone]));
    assert_eq!(lost.live(PLACE), paths(["a"]));
    assert!(lost.state.undoing.is_empty() && lost.table(PLACE).held.is_empty());
    let story = story.after(Request::ReportReturned(vec![back(1)]));
    assert!(story.state.undoing.is_empty());
    assert!(story.table(PLACE).held.is_empty());
    assert_eq!(story.state.garbage[&asides[1]].stage, Stage::Waiting);
}

/// A reader pins `a` and `b`; they are replaced by job 0, brought back, and replaced by job 1.
fn pinned_and_replaced_twice(lifetime: Millis) -> Story {
    let story = given([added(NATIVE, ["a", "b"])]);
    let pin = Request::Pin {
        table: NATIVE.into(),
        owner: "reader".into(),
        lifetime,
        version: None,
    };
    let story = story.after(pin).and([planned(NATIVE, 0, ["a", "b"]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story
        .after(request)
        .after(Request::ReportReceipts(vec![JobId(0)]));
    let story = story.after(all_there());
    let story = story.and([planned(NATIVE, 1, ["a", "b"]), leased(1)]);
    let request = Request::Finish(finish(story.job(1), &story.attempt(1)));
    story.after(request)
}

/// Trap: a reader of the version before the job still reads what came back and was merged again.
#[test]
fn a_pin_from_before_the_job_holds_what_came_back_and_left_again() {
    let story = pinned_and_replaced_twice(Millis(1_000_000));
    let waived = Request::DeclareDue { grace: Grace::Waived };
    let due = story.when(waived).go_on();
    assert_ne!(due.state.garbage[&path("a")].stage, Stage::Due);
}

/// Trap: the state's time stands still on an idle root, so somebody must ask for the present when such a pin ends.
#[test]
fn the_end_of_such_a_pin_is_worth_a_look_at_the_clock() {
    let lifetime = Millis(PAST_GRACE.0 * 3);
    let story = pinned_and_replaced_twice(lifetime).later(PAST_GRACE);
    let ended = story.state.time + lifetime;
    assert!(!garbage::would_be_ripe(&story.state, story.state.time));
    assert!(garbage::would_be_ripe(&story.state, ended));
}
