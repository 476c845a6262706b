//! The store's clock is the only one, and durations never begin early.

use super::fixtures::*;
use super::story::given;
use crate::event::{Batch, Event};
use crate::ids::Sequence;
use crate::limits::TIME_MARKS_MAX;
use crate::request::Request;
use crate::state::State;
use crate::time::{Millis, StoreTime};

fn at(unix_ms: u64) -> StoreTime {
    StoreTime { unix_ms }
}

/// Entries that carry these times.
fn carried(times: impl IntoIterator<Item = Option<u64>>) -> State {
    let mut state = State::default();
    for time in times {
        let batch = Batch {
            sequence: state.sequence.next(),
            parent_time: time.map(at),
            events: vec![Event::Ticked],
        };
        crate::apply(&mut state, &batch);
    }
    state
}

#[test]
fn a_duration_begins_never_before_its_entry_was_written() {
    // Entry 2 was written at 500, says entry 3.
    let mut state = carried([None, Some(100)]);
    assert_eq!(state.began(Sequence(2)), None, "nobody has said yet when");
    assert!(!state.has_passed(Millis(0), Sequence(2)));
    state.open_batch(Some(at(500)));
    assert_eq!(state.began(Sequence(2)), Some(at(500)));
    state.open_batch(Some(at(599)));
    assert!(!state.has_passed(Millis(100), Sequence(2)));
    state.open_batch(Some(at(600)));
    assert!(state.has_passed(Millis(100), Sequence(2)));
}

#[test]
fn an_entry_whose_time_is_unknown_begins_with_the_next_that_is_known() {
    let state = carried([None, Some(100), None, None, Some(900)]);
    assert_eq!(state.began(Sequence(2)), Some(at(900)));
}

#[test]
fn time_never_goes_back() {
    let state = carried([None, Some(900), Some(100), Some(200)]);
    assert_eq!(state.time, at(900));
    assert_eq!(state.began(Sequence(2)), Some(at(900)));
}

#[test]
fn dropping_time_marks_makes_durations_begin_later_never_earlier() {
    let entries = 3 * TIME_MARKS_MAX as u64;
    let state = carried((0..entries).map(|n| Some(10 * n)));
    assert!(state.marks.len() <= TIME_MARKS_MAX);
    for entry in 1..entries {
        let began = state.began(Sequence(entry)).unwrap();
        assert!(began >= at(10 * entry), "entry {entry}");
    }
}

#[test]
fn whoever_needs_the_present_writes_an_empty_entry() {
    given([]).when(Request::Tick).then([Event::Ticked]);
}

#[test]
fn lengths_of_time_do_not_overflow() {
    let state = carried([None, Some(u64::MAX - 1), Some(u64::MAX - 1)]);
    assert!(!state.has_passed(Millis(u64::MAX), Sequence(1)));
    assert_eq!(at(5).since(at(9)), Millis(0));
}

#[test]
fn what_is_removed_is_remembered_for_one_grace_period() {
    let story = given([added(PLACE, ["a"])]).and([lost(PLACE, ["a"])]);
    let almost = story.clone().later(Millis(GRACE.0 - 10));
    assert!(almost.table(PLACE).removed.contains_key(&path("a")));
    let over = story.later(GRACE);
    assert!(over.table(PLACE).removed.is_empty());
    assert_eq!(over.table(PLACE).remembered_from, Sequence(4));
}
