//! Deletion follows a durable list, and what is left behind is found.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::garbage::Stage;
use crate::ids::{JobId, JournalId, RangeId, Sequence, Token};
use crate::names::{self, Attempt};
use crate::request::{Added, Grace, Reply, Request};

/// `a` and `b` are replaced, in a native table.
fn replaced() -> Story {
    let story = given([
        added(NATIVE, ["a", "b"]),
        planned(NATIVE, 0, ["a", "b"]),
        leased(0),
    ]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    story.after(request)
}

/// The same in place, published.
fn replaced_in_place() -> Story {
    let story = given([added(PLACE, ["a", "b"]), planned(PLACE, 0, ["a", "b"]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story.after(request);
    let token = story.publish_token(0);
    story.after(publish(0, token))
}

/// An attempt that ended without a word.
fn left_behind() -> (Story, Attempt) {
    let story = given([added(PLACE, ["a"]), planned(PLACE, 0, ["a"]), leased(0)]);
    let attempt = story.attempt(0);
    (story.after(release(attempt, ReleaseReason::Stalled)), attempt)
}

#[test]
fn replaced_files_are_due_after_their_grace_and_not_before() {
    let story = replaced();
    story
        .clone()
        .when(declare_due())
        .nothing()
        .replies(Reply::Due(vec![]));
    // Trap: the store cut its stamps to whole seconds, and part of the last one is still to come.
    story.clone().later(GRACE).when(declare_due()).nothing();
    story
        .later(PAST_GRACE)
        .when(declare_due())
        .then([due(NATIVE, ["a", "b"])])
        .replies(Reply::Due(paths(["a", "b"])))
        .only_once();
}

#[test]
fn grace_can_be_waived() {
    let request = Request::DeclareDue { grace: Grace::Waived };
    replaced().when(request).then([due(NATIVE, ["a", "b"])]);
}

#[test]
fn deletions_stay_listed_until_confirmed() {
    let story = replaced().later(PAST_GRACE).after(declare_due());
    let deleted = |name| Event::Deleted { paths: paths([name]) };
    let story = story
        .when(report_deleted(paths(["a", "never listed", "a"])))
        .then([deleted("a")])
        .only_once()
        .go_on();
    story
        .when(declare_due())
        .nothing()
        .replies(Reply::Due(paths(["b"])));
}

#[test]
fn nobody_reports_as_deleted_what_is_not_on_the_list() {
    let story = replaced();
    story.when(report_deleted(paths(["a", "b"]))).nothing();
}

#[test]
fn due_paths_cannot_be_added_or_pinned() {
    let story = replaced().later(PAST_GRACE).after(declare_due());
    let evidence = story.state.sequence;
    let reply = Reply::Added(Added {
        later: paths(["a"]),
        ..Added::default()
    });
    story
        .clone()
        .when(add(NATIVE, evidence, ["a@2"]))
        .nothing()
        .replies(reply);
    // A pin is of the version that stands, and no version that stands shows what is due.
    let story = story.after(pin(NATIVE, GRACE));
    assert!(!story.live(NATIVE).contains(&path("a")));
    story.when(declare_due()).replies(Reply::Due(paths(["a", "b"])));
}

#[test]
fn a_path_that_is_live_again_is_not_due() {
    let story = replaced();
    let evidence = story.state.sequence;
    let story = story.after(add(NATIVE, evidence, ["a@2"])).later(PAST_GRACE);
    assert!(!story.state.garbage.contains_key(&path("a")));
    story.when(declare_due()).then([due(NATIVE, ["b"])]);
}

#[test]
fn what_was_consumed_is_remembered_with_its_version() {
    let story = replaced().later(PAST_GRACE).after(declare_due());
    let original = story.state.garbage[&path("a")].original.clone().unwrap();
    assert_eq!(original.identity, version("1"), "deleted only in this version");
}

#[test]
fn one_stuck_job_does_not_freeze_collection() {
    let story = given([added(NATIVE, ["stuck"]), planned(NATIVE, 0, ["stuck"]), leased(0)]).and([
        added(NATIVE, ["a", "b"]),
        planned(NATIVE, 1, ["a", "b"]),
        leased(1),
    ]);
    let request = Request::Finish(finish(story.job(1), &story.attempt(1)));
    let story = story.after(request).later(PAST_GRACE);
    story.when(declare_due()).then([due(NATIVE, ["a", "b"])]);
}

#[test]
fn in_place_a_file_is_set_aside_before_its_grace_begins() {
    let story = replaced_in_place();
    let asides = [names::aside(JobId(0), 0), names::aside(JobId(0), 1)];
    let story = story.later(PAST_GRACE).when(declare_due()).nothing().go_on();
    let moved = Request::ReportAside {
        moved: vec![asides[0].clone()],
        nothing: vec![asides[1].clone()],
    };
    let story = story.when(moved).only_once().go_on();
    story.clone().when(declare_due()).nothing();
    story
        .later(PAST_GRACE)
        .when(declare_due())
        .then([due(PLACE, [&asides[0].path])]);
}

#[test]
fn a_leftover_is_forgotten_after_two_empty_sweeps_a_grace_apart() {
    let (story, attempt) = left_behind();
    let swept = Event::LeftoverSwept { attempt, empty: true };
    let story = story.when(sweep(attempt, [])).then([swept]).only_once().go_on();
    let forgotten = Event::LeftoverForgotten { attempt };
    let story = story.later(PAST_GRACE);
    let told = story.when(sweep(attempt, [])).then([forgotten]).only_once();
    assert!(told.go_on().state.leftovers.is_empty());
}

#[test]
fn a_late_put_is_found_by_the_second_sweep() {
    let (story, attempt) = left_behind();
    let story = story.after(sweep(attempt, [])).later(PAST_GRACE);
    let staged = attempt.staged(0);
    let story = story
        .when(sweep(attempt, [&staged.path]))
        .then([
            due(PLACE, [&staged.path]),
            Event::LeftoverSwept {
                attempt,
                empty: false,
            },
        ])
        .only_once()
        .go_on();
    let story = story.after(report_deleted(vec![staged]));
    let story = story.after(sweep(attempt, []));
    story.clone().when(sweep(attempt, [])).nothing();
    let story = story.later(PAST_GRACE).after(sweep(attempt, []));
    assert!(story.state.leftovers.is_empty());
}

#[test]
fn a_sweep_lists_nothing_outside_the_attempts_folder() {
    let (story, attempt) = left_behind();
    let neighbour = format!("{}0/0.staged", attempt.staging_folder());
    let source = format!("src:{}/0.staged", attempt.staging_folder());
    let found = ["a", "b", neighbour.as_str(), source.as_str()];
    let told = story.when(sweep(attempt, found));
    assert!(
        !told
            .decision
            .events
            .iter()
            .any(|e| matches!(e, Event::DeletionDue { .. }))
    );
}

#[test]
fn a_running_attempt_is_not_swept() {
    let story = given([added(PLACE, ["a"]), planned(PLACE, 0, ["a"]), leased(0)]);
    let attempt = story.attempt(0);
    let staged = attempt.staged(0).path;
    story
        .when(sweep(attempt, [&staged]))
        .nothing()
        .replies(Reply::Due(vec![]));
}

#[test]
fn the_outputs_of_a_job_that_does_not_add_up_are_due() {
    let story = given([added(NATIVE, ["a"]), planned(NATIVE, 0, ["a"]), leased(0)]);
    let attempt = story.attempt(0);
    let output = output_of(story.job(0), &attempt, 0);
    let mut wrong = finish(story.job(0), &attempt);
    wrong.finished.reads[0].rows += 1;
    wrong.finished.outputs[0].rows += 1;
    let told = story.when(Request::Finish(wrong)).not_proved("in its footer");
    let garbage = &told.go_on().state.garbage;
    assert_eq!(garbage[&output].stage, Stage::Due);
}

fn late(story: &Story, path: crate::file::FilePath) -> Request {
    Request::ReportLateWrites {
        table: PLACE.into(),
        evidence: story.state.sequence,
        paths: vec![path],
    }
}

#[test]
fn a_late_write_is_deleted_only_if_all_signs_agree() {
    let (story, attempt) = left_behind();
    let output = attempt.output(JOURNAL, &"".into(), 0);
    let unfinished = story.clone().when(late(&story, output.clone()));
    unfinished.nothing();

    let story = story.after(Request::Cancel(JobId(0)));
    let told = story.clone().when(late(&story, output.clone()));
    told.then([due(PLACE, [&output.path])]).only_once();

    let elsewhere = attempt.output(JournalId(0xc), &"".into(), 0);
    let source = path(&format!("src:{}", output.path));
    let unborn = Attempt {
        job: JobId(77),
        ..attempt
    };
    let ungranted = Attempt {
        token: Token {
            sequence: Sequence(999),
            index: 0,
        },
        ..attempt
    };
    for stranger in [
        elsewhere,
        source,
        unborn.output(JOURNAL, &"".into(), 0),
        ungranted.output(JOURNAL, &"".into(), 0),
        path("a"),
    ] {
        story.clone().when(late(&story, stranger)).nothing();
    }
}

/// Trap: an attempt was swept for the last time and forgotten, and only then its PUT lands, where nobody lists.
#[test]
fn what_was_staged_after_its_attempt_was_forgotten_is_deleted_only_if_all_signs_agree() {
    let (story, attempt) = left_behind();
    let story = story.after(sweep(attempt, [])).later(PAST_GRACE);
    let story = story.after(sweep(attempt, []));
    assert!(story.state.leftovers.is_empty());
    let staged = attempt.staged(0);
    story.clone().when(late(&story, staged.clone())).nothing();

    let story = story.after(Request::Cancel(JobId(0)));
    let told = story.clone().when(late(&story, staged.clone()));
    told.then([due(PLACE, [&staged.path])]).only_once();

    let stale = Request::ReportLateWrites {
        table: PLACE.into(),
        evidence: Sequence(1),
        paths: vec![staged.clone()],
    };
    story.clone().when(stale).nothing();
    let unborn = Attempt {
        job: JobId(77),
        ..attempt
    };
    let folder = attempt.staging_folder();
    for stranger in [
        unborn.staged(0),
        path(&format!("src:{}", staged.path)),
        path(&format!("{folder}/mine.staged")),
        path(&format!("{folder}/0.parquet")),
        path(&format!("copy/{}", staged.path)),
    ] {
        story.clone().when(late(&story, stranger)).nothing();
    }
}

#[test]
fn what_a_table_shows_is_no_late_write() {
    let story = replaced_in_place();
    let output = story.live(PLACE)[0].clone();
    story.clone().when(late(&story, output.clone())).nothing();
    let stale = Request::ReportLateWrites {
        table: PLACE.into(),
        evidence: Sequence(2),
        paths: vec![output.clone()],
    };
    let evidence = story.state.sequence;
    let lost = Request::LoseFiles {
        table: PLACE.into(),
        evidence,
        paths: vec![output],
    };
    story.after(lost).when(stale).nothing();
}

#[test]
fn a_late_write_is_never_a_new_file() {
    let (story, attempt) = left_behind();
    let story = story.after(Request::Cancel(JobId(0)));
    let output = attempt.output(JOURNAL, &"".into(), 0).path;
    let evidence = story.state.sequence;
    let foreign = attempt.output(JournalId(0xc), &"".into(), 0).path;
    story.clone().when(add(PLACE, evidence, [&output])).nothing();
    let adopted = story.when(add(PLACE, evidence, [&foreign]));
    adopted.then([added(PLACE, [&foreign])]);
}

#[test]
fn an_attempt_at_publishing_leaves_its_folder_too() {
    let story = given([added(PLACE, ["a"]), planned(PLACE, 0, ["a"]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story.after(request);
    let attempt = story.attempt_at(0, RangeId::Publish);
    let story = story.after(release(attempt, ReleaseReason::Drained));
    assert_eq!(story.state.leftovers.values().next().unwrap().attempt, attempt);
}
