//! A version shows what it showed, as long as it can be read; and it says which versions can.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::file::FilePath;
use crate::ids::{Sequence, TableName};
use crate::limits::PINS_MAX;
use crate::request::{Grace, Refusal, Reply, Request};
use crate::time::Millis;

const LIFETIME: Millis = Millis(1_000_000);

fn shown(story: &Story, version: Sequence) -> Vec<FilePath> {
    let files = story.state.files_at(&NATIVE.into(), version).unwrap();
    files.iter().map(|file| file.path.clone()).collect()
}

fn not_readable(story: &Story, version: Sequence) -> String {
    let refusal = story.state.files_at(&NATIVE.into(), version).unwrap_err();
    assert!(matches!(refusal, Refusal::VersionNotReadable { .. }), "{refusal}");
    refusal.to_string()
}

fn pin_at(version: Sequence) -> Request {
    Request::Pin {
        table: NATIVE.into(),
        owner: "reader".into(),
        lifetime: LIFETIME,
        version: Some(version),
    }
}

/// `a` and `b`, then their output, then `c` beside it. Returns the versions.
fn three_versions() -> (Story, [Sequence; 3]) {
    let story = given([
        added(NATIVE, ["a", "b"]),
        planned(NATIVE, 0, ["a", "b"]),
        leased(0),
    ]);
    let first = story.state.sequence;
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story.after(request);
    let second = story.state.sequence;
    let story = story.and([added(NATIVE, ["c"])]);
    let third = story.state.sequence;
    (story, [first, second, third])
}

#[test]
fn each_version_shows_exactly_what_it_showed() {
    let (story, [first, second, third]) = three_versions();
    let output = story.live(NATIVE)[1].clone();
    assert_eq!(shown(&story, first), paths(["a", "b"]));
    assert_eq!(shown(&story, second), std::slice::from_ref(&output));
    assert_eq!(shown(&story, third), [path("c"), output]);
}

#[test]
fn a_version_past_its_grace_is_refused_and_the_readable_ones_are_named() {
    let (story, [first, second, third]) = three_versions();
    let story = story.later(PAST_GRACE);
    let newest = story.state.sequence;
    let refusal = not_readable(&story, first);
    assert!(
        refusal.contains(&format!("versions {second} to {newest} can")),
        "{refusal}"
    );
    assert_eq!(shown(&story, third).len(), 2);
    not_readable(&story, newest.next());
    not_readable(&story, Sequence(u64::MAX));
}

#[test]
fn what_is_declared_due_early_closes_its_versions() {
    let (story, [first, second, _]) = three_versions();
    let story = story.after(Request::DeclareDue { grace: Grace::Waived });
    not_readable(&story, first);
    assert_eq!(shown(&story, second).len(), 1);
    let told = story.when(pin_at(first)).nothing();
    let refused = matches!(
        told.decision.reply,
        Reply::Refused(Refusal::VersionNotReadable { .. })
    );
    assert!(refused);
}

#[test]
fn an_older_version_can_be_pinned_and_is_then_held() {
    let (story, [first, second, _]) = three_versions();
    let story = story.after(pin_at(first)).later(PAST_GRACE).later(PAST_GRACE);
    story.clone().when(declare_due()).nothing();
    let between = not_readable(&story, Sequence(first.0 - 1));
    assert!(
        between.contains(&format!("and {first}, which somebody has pinned")),
        "{between}"
    );
    assert_eq!(shown(&story, first), paths(["a", "b"]));
    // A version that somebody holds can be held by another.
    let story = story.after(pin_at(first));
    let pins: Vec<_> = story.state.pins.keys().copied().collect();
    let story = story.after(Request::Unpin(pins[0]));
    assert_eq!(shown(&story, first), paths(["a", "b"]));
    let story = story.after(Request::Unpin(pins[1]));
    not_readable(&story, first);
    assert_eq!(shown(&story, second).len(), 1);
    story.when(declare_due()).then([due(NATIVE, ["a", "b"])]);
}

#[test]
fn a_version_that_is_yet_to_come_cannot_be_pinned() {
    let (story, _) = three_versions();
    for version in [story.state.sequence.next(), Sequence(u64::MAX)] {
        let told = story.clone().when(pin_at(version)).nothing();
        let refused = matches!(
            told.decision.reply,
            Reply::Refused(Refusal::VersionNotReadable { .. })
        );
        assert!(refused);
    }
    story
        .clone()
        .when(pin_at(story.state.sequence))
        .then([Event::Pinned {
            table: NATIVE.into(),
            owner: "reader".into(),
            lifetime: LIFETIME.between_stamps(),
            version: Some(story.state.sequence),
        }]);
}

#[test]
fn a_pinned_version_shows_a_file_that_was_overwritten_since() {
    let story = given([added(NATIVE, ["a"])]);
    let first = story.state.sequence;
    let story = story.after(pin_at(first));
    let evidence = story.state.sequence;
    let story = story.after(add(NATIVE, evidence, ["a@2"])).later(PAST_GRACE);
    let old = story.state.files_at(&NATIVE.into(), first).unwrap();
    assert_eq!(
        old[0].identity,
        version("1"),
        "so that a reader sees that it holds another"
    );
    let newest = story
        .state
        .files_at(&NATIVE.into(), story.state.sequence)
        .unwrap();
    assert_eq!(newest[0].identity, version("2"));
}

#[test]
fn plain_folders_have_no_versions() {
    let story = given([added(PLACE, ["a"])]);
    let table = TableName::from(PLACE);
    let refusal = story.state.files_at(&table, Sequence(2)).unwrap_err();
    assert_eq!(refusal, Refusal::NoVersions(table));
}

#[test]
fn pins_are_bounded() {
    let pinned = Event::Pinned {
        table: NATIVE.into(),
        owner: "reader".into(),
        lifetime: LIFETIME,
        version: None,
    };
    let story = given([]).and(vec![pinned; PINS_MAX]);
    let told = story.when(pin(NATIVE, LIFETIME));
    told.refused(Refusal::TooManyPins(PINS_MAX));
}

#[test]
fn a_pinned_reader_reads_its_version_through_a_thousand_commits_and_two_collectors() {
    let mut state = given([added(NATIVE, ["a", "b"])])
        .after(pin(NATIVE, LIFETIME))
        .state;
    let version = state.sequence;
    let told = |state: &mut crate::State, events: Vec<Event>| {
        for event in events {
            crate::apply::apply_event(state, &event);
        }
    };
    let wanted = state.files_at(&NATIVE.into(), version).unwrap();
    for job in 0..1_000 {
        let now = crate::time::StoreTime {
            unix_ms: state.time.unix_ms + 100,
        };
        state.open_batch(Some(now));
        let live: Vec<String> = state.tables[&TableName::from(NATIVE)]
            .files
            .keys()
            .map(ToString::to_string)
            .collect();
        let inputs: Vec<&str> = live.iter().map(String::as_str).collect();
        let planned = match inputs[..] {
            [one] => planned(NATIVE, job, [one]),
            [one, two, ..] => planned(NATIVE, job, [one, two]),
            [] => panic!("nothing is live"),
        };
        told(&mut state, vec![planned, leased(job)]);
        let open = state.jobs.values().next().unwrap().clone();
        let (range, lease) = open.leases().next().unwrap();
        let attempt = crate::names::Attempt {
            job: open.id,
            range,
            token: lease.token,
        };
        let events = crate::decide(&state, &Request::Finish(finish(&open, &attempt))).events;
        told(&mut state, events);
        // One collector keeps the grace period, one waives it; one of them often crashes in mid-delete.
        for grace in [Grace::Kept, Grace::Waived] {
            let declared = crate::decide(&state, &Request::DeclareDue { grace });
            told(&mut state, declared.events);
            let Reply::Due(mut gone) = declared.reply else {
                panic!("not answered")
            };
            assert!(!gone.contains(&path("a")) && !gone.contains(&path("b")));
            gone.truncate(gone.len() / (1 + job as usize % 2));
            let events = crate::decide(&state, &report_deleted(gone)).events;
            told(&mut state, events);
        }
    }
    assert_eq!(state.files_at(&NATIVE.into(), version).unwrap(), wanted);
    assert!(
        state.tables[&TableName::from(NATIVE)].history.len() < 10,
        "only what is pinned is kept in mind"
    );
    assert_eq!(crate::invariants::broken(&state).len(), 0);
}
