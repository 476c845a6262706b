//! A worker gets what it is willing to take, and what it leaves is left to others. What is planned follows what the fleet
//! says it can do.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::file::{File, Level};
use crate::ids::{RangeId, TableName};
use crate::limits::JOBS_PLANNED_PER_SLOT;
use crate::request::{Poll, Reply, Request, Scope};
use crate::scheduler::free_ranges;

/// A pair of files that want to be a job, of this level and each of so many bytes.
fn pair(table: &str, partition: &str, level: u8, bytes: u64) -> Event {
    let made = |name: &str| {
        let mut made = File::clone(&file(&format!("{table}/{partition}/{name}")));
        made.partition = partition.into();
        made.level = Level(level);
        made.identity.bytes = bytes;
        Arc::new(made)
    };
    Event::FilesAdded {
        table: table.into(),
        files: vec![made("a"), made("b")],
    }
}

fn asking(slots: usize, scope: Scope) -> Request {
    Request::Poll(Poll {
        scope,
        ..a_poll(CHIEF, slots)
    })
}

/// The partitions of the jobs that this scope is granted.
fn granted(story: &Story, scope: Scope) -> Vec<String> {
    let told = story.clone().when(asking(9, scope));
    let Reply::Granted(grants) = told.decision.reply else {
        panic!("not answered")
    };
    grants
        .iter()
        .map(|grant| grant.job.partition.to_string())
        .collect()
}

/// Whether the jobs are planned by the asker or were there before.
fn both_ways(events: impl IntoIterator<Item = Event>) -> [Story; 2] {
    let fresh = given(events);
    let mut queued = fresh.clone().after(poll(DEPUTY, 9));
    for (job, range) in queued
        .state
        .jobs
        .keys()
        .map(|job| (job.0, RangeId::Keys(0)))
        .collect::<Vec<_>>()
    {
        let attempt = queued.attempt_at(job, range);
        queued = queued.after(release(attempt, ReleaseReason::Drained));
    }
    [fresh, queued]
}

#[test]
fn a_worker_for_some_levels_gets_no_others() {
    for story in both_ways([
        pair(NATIVE, "low", 0, 100),
        pair(NATIVE, "mid", 1, 100),
        pair(NATIVE, "top", 2, 100),
    ]) {
        let levels = |from, to| Scope {
            levels: Some(Level(from)..=Level(to)),
            ..Scope::default()
        };
        assert_eq!(granted(&story, levels(0, 0)), ["low"]);
        assert_eq!(granted(&story, levels(1, 2)), ["mid", "top"]);
        assert_eq!(granted(&story, levels(3, 7)), [""; 0]);
    }
}

#[test]
fn a_worker_for_small_jobs_leaves_the_large_to_others() {
    for story in both_ways([pair(NATIVE, "large", 0, 5_000), pair(NATIVE, "small", 0, 50)]) {
        let up_to = |bytes| Scope {
            max_job_bytes: Some(bytes),
            ..Scope::default()
        };
        assert_eq!(granted(&story, up_to(100)), ["small"]);
        assert_eq!(granted(&story, up_to(10_000)), ["large", "small"]);
    }
}

#[test]
fn a_worker_for_some_tables_gets_no_others() {
    let tables = [
        pair(NATIVE, "n", 0, 100),
        pair(KEYED, "k", 0, 100),
        pair(PLACE, "p", 0, 100),
    ];
    for story in both_ways(tables) {
        let only = |names: &[&str]| Scope {
            tables: Some(
                names
                    .iter()
                    .map(|name| TableName::from(*name))
                    .collect::<BTreeSet<_>>(),
            ),
            ..Scope::default()
        };
        assert_eq!(granted(&story, only(&[KEYED])), ["k"]);
        let mut two = granted(&story, only(&[PLACE, NATIVE]));
        two.sort();
        assert_eq!(two, ["n", "p"]);
        assert_eq!(granted(&story, only(&[])), [""; 0]);
    }
}

#[test]
fn publishing_is_for_anybody() {
    let story = given([added(PLACE, ["a", "b"]), planned(PLACE, 0, ["a", "b"]), leased(0)]);
    let finish = finish(story.job(0), &story.attempt(0));
    let story = story.after(Request::Finish(finish));
    let attempt = story.attempt_at(0, RangeId::Publish);
    let story = story.after(release(attempt, ReleaseReason::Drained));
    let picky = Scope {
        levels: Some(Level(5)..=Level(6)),
        max_job_bytes: Some(1),
        ..Scope::default()
    };
    story
        .when(asking(1, picky))
        .then([leased_by(0, RangeId::Publish, CHIEF)]);
}

/// Every poll is evidence of its own capacity: the queue stays short, and nobody goes away with nothing.
#[test]
fn the_queue_follows_the_capacity_of_all_who_ask() {
    let mut story = given((0..200).map(|number| pair(NATIVE, &format!("{number:03}"), 0, 100)));
    for (round, slots) in [1, 1, 4, 1, 2, 8, 1, 1, 3]
        .into_iter()
        .cycle()
        .take(30)
        .enumerate()
    {
        let told = story.when(poll(CHIEF, slots));
        let Reply::Granted(grants) = &told.decision.reply else {
            panic!("not answered")
        };
        let got = grants.len();
        story = told.go_on();
        let waiting = free_ranges(&story.state, &Scope::default()).len();
        assert_eq!(got, slots, "in round {round}");
        assert!(waiting <= 8 * JOBS_PLANNED_PER_SLOT, "{waiting} jobs wait");
    }
}
