//! A reader of a pinned version never meets a missing file.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::ids::{PinId, Sequence};
use crate::request::{Grace, Refusal, Reply, Request};
use crate::time::Millis;

const LIFETIME: Millis = Millis(50_000);

fn commits(story: Story, job: u64) -> Story {
    let request = Request::Finish(finish(story.job(job), &story.attempt(job)));
    story.after(request)
}

/// `a` is pinned and then replaced.
fn pinned() -> Story {
    let story = given([added(NATIVE, ["a"]), planned(NATIVE, 0, ["a"]), leased(0)]);
    commits(story.after(pin(NATIVE, LIFETIME)), 0)
}

fn the_pin(story: &Story) -> PinId {
    *story.state.pins.keys().next().unwrap()
}

#[test]
fn a_pinned_version_is_not_deleted_even_if_grace_is_waived() {
    let story = pinned().later(PAST_GRACE);
    for grace in [Grace::Kept, Grace::Waived] {
        story.clone().when(Request::DeclareDue { grace }).nothing();
    }
    let pin = the_pin(&story);
    let told = story.when(Request::Unpin(pin)).then([Event::Unpinned { pin }]);
    told.go_on().when(declare_due()).then([due(NATIVE, ["a"])]);
}

#[test]
fn a_pin_ends_after_its_lifetime() {
    // Stamps of whole seconds: part of the last one may still be to come.
    let story = pinned().later(LIFETIME);
    story.clone().when(declare_due()).nothing();
    let story = story.later(Millis(1_000));
    assert!(story.state.pins.is_empty());
    story.when(declare_due()).then([due(NATIVE, ["a"])]);
}

#[test]
fn a_pin_holds_only_what_its_version_shows() {
    let story = given([added(NATIVE, ["a"]), planned(NATIVE, 0, ["a"]), leased(0)]);
    let story = commits(story, 0).after(pin(NATIVE, LIFETIME)).later(PAST_GRACE);
    story.when(declare_due()).then([due(NATIVE, ["a"])]);
}

#[test]
fn a_pin_of_one_table_holds_no_other() {
    let story = given([added(NATIVE, ["a"]), planned(NATIVE, 0, ["a"]), leased(0)]);
    let story = commits(story.after(pin(KEYED, LIFETIME)), 0).later(PAST_GRACE);
    story.when(declare_due()).then([due(NATIVE, ["a"])]);
}

#[test]
fn two_pins_in_one_entry_are_two_promises() {
    let pinned = |table: &str, lifetime| Event::Pinned {
        table: table.into(),
        owner: "reader".into(),
        lifetime,
        version: None,
    };
    let story = given([added(NATIVE, ["a"]), planned(NATIVE, 0, ["a"]), leased(0)]).and([
        pinned(NATIVE, LIFETIME),
        pinned(NATIVE, Millis(0)),
        pinned(KEYED, LIFETIME),
    ]);
    assert_eq!(story.state.pins.len(), 3);
    let story = commits(story, 0).later(PAST_GRACE);
    assert_eq!(story.state.pins.len(), 2);
    story.when(declare_due()).nothing();
}

#[test]
fn a_pin_stays_through_a_thousand_commits() {
    let mut story = given([added(NATIVE, ["a"])]).after(pin(NATIVE, Millis(u64::MAX)));
    let mut state = story.state.clone();
    let mut live = "a".to_owned();
    for job in 0..1_000 {
        story.state = state;
        story.state.open_batch(None);
        for event in [planned(NATIVE, job, [live.as_str()]), leased(job)] {
            crate::apply::apply_event(&mut story.state, &event);
        }
        let result = Request::Finish(finish(story.job(job), &story.attempt(job)));
        for event in crate::decide(&story.state, &result).events {
            crate::apply::apply_event(&mut story.state, &event);
        }
        let waived = crate::decide(&story.state, &Request::DeclareDue { grace: Grace::Waived });
        for event in &waived.events {
            crate::apply::apply_event(&mut story.state, event);
        }
        live = story.live(NATIVE)[0].path.to_string();
        state = story.state.clone();
        assert!(!matches!(waived.reply, Reply::Due(paths) if paths.contains(&path("a"))));
    }
    assert_eq!(crate::invariants::broken(&state).len(), 0);
}

#[test]
fn plain_folders_cannot_be_pinned() {
    for table in [PLACE, OUTPUT] {
        given([])
            .when(pin(table, LIFETIME))
            .refused(Refusal::CannotPin(table.into()));
    }
}

#[test]
fn an_unknown_pin_is_refused() {
    let pin = PinId {
        entry: Sequence(2),
        index: 0,
    };
    given([])
        .when(Request::Unpin(pin))
        .refused(Refusal::NoSuchPin(pin));
}
