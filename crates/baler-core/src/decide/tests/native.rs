//! Where attempts on a native table write, and what of it is a leftover.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::file::FilePath;
use crate::garbage::Leftover;
use crate::ids::Sequence;
use crate::names::Attempt;
use crate::request::{Grace, Request};

fn merging() -> (Story, Attempt, FilePath) {
    let story = given([
        added(NATIVE, ["a", "b"]),
        planned(NATIVE, 0, ["a", "b"]),
        leased(0),
    ]);
    let attempt = story.attempt(0);
    let output = output_of(story.job(0), &attempt, 0);
    (story, attempt, output)
}

fn committed() -> (Story, Attempt, FilePath) {
    let (story, attempt, output) = merging();
    let request = Request::Finish(finish(story.job(0), &attempt));
    (story.after(request), attempt, output)
}

fn leftover(story: &Story) -> Leftover {
    story.state.leftovers.values().next().unwrap().clone()
}

#[test]
fn outputs_of_a_native_table_lie_in_a_folder_of_the_attempts_own() {
    let (story, attempt, output) = committed();
    assert_eq!(output.folder(), format!("tables/{NATIVE}/0-0-{}", attempt.token));
    assert_eq!(story.live(NATIVE), std::slice::from_ref(&output));
    let folders = story.state.leftover_folders(&leftover(&story));
    assert!(folders.iter().any(|folder| folder == output.folder()));
}

#[test]
fn an_attempt_on_a_native_table_may_write_nowhere_else() {
    let (story, attempt, _) = merging();
    let mut elsewhere = finish(story.job(0), &attempt);
    elsewhere.finished.outputs[0].path = attempt.output(JOURNAL, &"".into(), 0);
    story.when(Request::Finish(elsewhere)).not_proved("not a name");
}

#[test]
fn outputs_that_a_finished_range_names_are_never_leftovers() {
    let (story, attempt, output) = committed();
    let found = [output.path.as_ref()];
    let swept = Event::LeftoverSwept { attempt, empty: true };
    let story = story
        .when(sweep(attempt, found))
        .then([swept])
        .only_once()
        .go_on();
    let forgotten = Event::LeftoverForgotten { attempt };
    let story = story
        .later(PAST_GRACE)
        .when(sweep(attempt, found))
        .then([forgotten]);
    assert_eq!(story.go_on().live(NATIVE), [output]);
}

#[test]
fn a_replaced_output_is_no_leftover_of_the_attempt_that_wrote_it() {
    let (story, attempt, output) = committed();
    let story = story.and([planned(NATIVE, 1, [output.path.as_ref()]), leased(1)]);
    let request = Request::Finish(finish(story.job(1), &story.attempt(1)));
    let story = story.after(request);
    let told = story.when(sweep(attempt, [output.path.as_ref()]));
    told.then([Event::LeftoverSwept { attempt, empty: true }]);
}

#[test]
fn what_an_ended_attempt_wrote_and_nobody_named_is_swept() {
    let (story, attempt, output) = merging();
    let cut_off = format!("{}#7", output.path);
    let staged = attempt.staged(3);
    let story = story.after(release(attempt, ReleaseReason::Stalled));
    let found = [staged.path.as_ref(), output.path.as_ref(), cut_off.as_str()];
    let story = story
        .when(sweep(attempt, found))
        .then([due(NATIVE, found)])
        .go_on();
    let journal = Some(JOURNAL);
    assert!(
        found
            .iter()
            .all(|name| leftover(&story).may_hold(journal, &path(name)))
    );
}

#[test]
fn somebody_elses_file_in_an_attempts_folder_is_not_swept() {
    let (story, attempt, output) = merging();
    let foreign = format!("{}/mine.parquet", output.folder());
    let story = story.after(release(attempt, ReleaseReason::Stalled));
    let told = story.when(sweep(attempt, [foreign.as_str()]));
    told.then([Event::LeftoverSwept { attempt, empty: true }]);
}

#[test]
fn a_running_attempts_outputs_are_not_swept() {
    let (story, attempt, output) = merging();
    let request = Request::ReportSweep {
        attempt,
        found: vec![output],
        grace: Grace::Waived,
    };
    story.when(request).nothing();
}

#[test]
fn nobody_adds_an_output_of_an_attempt_by_hand() {
    let (story, _, output) = merging();
    assert!(story.state.sequence > Sequence(1));
    let evidence = story.state.sequence;
    story
        .when(add(NATIVE, evidence, [output.path.as_ref()]))
        .nothing();
}

#[test]
fn a_path_that_another_table_shows_or_deletes_is_not_taken() {
    let (story, ..) = merging();
    let evidence = story.state.sequence;
    let told = story.when(add(KEYED, evidence, ["a", "c"]));
    let told = told.then([added(KEYED, ["c"])]);
    let crate::request::Reply::Added(reply) = &told.decision.reply else {
        panic!("not answered")
    };
    assert_eq!(reply.taken, paths(["a"]));
    let (story, ..) = committed();
    let evidence = story.state.sequence;
    story.when(add(KEYED, evidence, ["a", "a@2"])).nothing();
}
