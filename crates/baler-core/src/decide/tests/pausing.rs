//! Pausing: nothing new begins, and what was begun goes on.

use super::fixtures::*;
use super::story::given;
use crate::event::Event;
use crate::ids::RangeId;
use crate::request::{Refusal, Reply, Request};

fn pause(table: Option<&str>) -> Request {
    Request::Pause {
        table: table.map(Into::into),
    }
}

fn resume(table: Option<&str>) -> Request {
    Request::Resume {
        table: table.map(Into::into),
    }
}

#[test]
fn in_a_paused_table_nothing_is_planned_or_granted() {
    let story = given([
        added(NATIVE, ["a", "b"]),
        added(KEYED, ["x"]),
        planned(KEYED, 0, ["x"]),
    ]);
    let paused = Event::Paused {
        table: Some(NATIVE.into()),
    };
    let story = story.when(pause(Some(NATIVE))).then([paused]).only_once().go_on();
    story
        .clone()
        .when(poll(CHIEF, 4))
        .then([leased_by(0, RangeId::Keys(0), CHIEF)]);
    let story = story.after(pause(Some(KEYED)));
    story.clone().when(poll(CHIEF, 4)).nothing();
    let resumed = Event::Resumed {
        table: Some(KEYED.into()),
    };
    let story = story
        .when(resume(Some(KEYED)))
        .then([resumed])
        .only_once()
        .go_on();
    let story = story.after(poll(CHIEF, 4));
    assert_eq!(story.state.jobs.len(), 1, "the other one is still paused");
}

#[test]
fn what_is_leased_finishes_and_publishes_all_the_same() {
    let story = given([added(PLACE, ["a", "b"]), planned(PLACE, 0, ["a", "b"]), leased(0)]);
    let story = story.after(pause(None)).after(pause(Some(PLACE)));
    let story = story.after(Request::Renew(LONER));
    let done = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story.after(done);
    let token = story.publish_token(0);
    let told = story.when(publish(0, token));
    assert!(matches!(told.decision.reply, Reply::Committed(_)));
}

#[test]
fn a_pause_of_everything_and_one_of_a_table_are_lifted_apart() {
    let story = given([added(NATIVE, ["a", "b"])]);
    let story = story.after(pause(None)).after(pause(Some(NATIVE)));
    story.clone().when(poll(CHIEF, 4)).nothing();
    let story = story.after(resume(None));
    assert!(story.state.is_paused(&NATIVE.into()) && !story.state.is_paused(&KEYED.into()));
    story.clone().when(poll(CHIEF, 4)).nothing();
    let story = story.after(resume(Some(NATIVE))).after(poll(CHIEF, 4));
    assert_eq!(story.state.jobs.len(), 1);
}

#[test]
fn an_unknown_table_cannot_be_paused() {
    for request in [pause(Some("other")), resume(Some("other"))] {
        given([])
            .when(request)
            .refused(Refusal::NoSuchTable("other".into()));
    }
}
