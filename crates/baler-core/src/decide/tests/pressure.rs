//! What writers are told about compaction that falls behind.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::ids::{JobId, TableName};
use crate::pressure::{Pressure, pressure};
use crate::request::Request;
use crate::time::Millis;

fn of(story: &Story) -> Pressure {
    pressure(&story.state, &TableName::from(NATIVE))
}

fn files_and_jobs(story: &Story) -> (u64, usize) {
    (of(story).files, of(story).jobs)
}

#[test]
fn files_press_until_what_replaces_them_is_committed() {
    let story = given([added(NATIVE, ["a", "b", "c"]), added(KEYED, ["x"])]);
    assert_eq!((files_and_jobs(&story), of(&story).bytes), ((3, 0), 300));
    let story = story.and([planned(NATIVE, 0, ["a", "b"]), leased(0)]);
    assert_eq!(files_and_jobs(&story), (3, 1));
    let finish = finish(story.job(0), &story.attempt(0));
    let story = story.after(Request::Finish(finish));
    assert_eq!(
        files_and_jobs(&story),
        (1, 0),
        "what was merged is of a higher level"
    );
}

#[test]
fn the_oldest_wait_is_that_of_the_oldest_file() {
    let story = given([added(NATIVE, ["a"])]);
    let story = story
        .later(Millis(5_000))
        .and([added(NATIVE, ["b"])])
        .later(Millis(1_000));
    let wait = of(&story).oldest_wait;
    assert!((6_000..6_100).contains(&wait.0), "{wait:?}");
    let quiet = given([]).later(Millis(5_000));
    assert_eq!(of(&quiet), Pressure::default());
}

/// A writer who waits for them to go would wait for ever.
#[test]
fn what_nobody_will_merge_presses_nobody() {
    let bad = Event::FilesQuarantined {
        table: NATIVE.into(),
        files: vec![mark("a", "torn")],
    };
    let story = given([
        added(NATIVE, ["a", "b", "c"]),
        bad,
        planned(NATIVE, 0, ["b", "c"]),
    ]);
    assert_eq!(files_and_jobs(&story), (2, 1));
    let story = story.after(Request::Cancel(JobId(0)));
    assert_eq!(files_and_jobs(&story), (0, 0), "an operator has put them off");
    let retried = story.after(Request::Retry {
        table: NATIVE.into(),
        paths: vec![],
    });
    assert_eq!(files_and_jobs(&retried), (3, 0));
}

#[test]
fn a_table_that_does_not_exist_has_none() {
    let story = given([added(NATIVE, ["a"])]);
    assert_eq!(
        pressure(&story.state, &TableName::from("nowhere")),
        Pressure::default()
    );
}
