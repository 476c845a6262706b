//! Ranges are granted by estimated memory as well as by slots.

use std::sync::Arc;

use super::fixtures::*;
use super::story::{Story, given};
use crate::admission::memory_estimate;
use crate::event::{Event, ReleaseReason};
use crate::file::File;
use crate::ids::{JobId, Partition, RangeId};
use crate::job::Why;
use crate::limits::MEMORY_BASE_BYTES;
use crate::request::{Poll, Reply, Request, Scope};
use crate::scheduler::{OVERTAKEN_MAX, free_ranges};

const MB: u64 = 1 << 20;

fn file_of(name: &str, bytes: u64) -> Arc<File> {
    let mut made = File::clone(&file(name));
    made.identity.bytes = bytes;
    Arc::new(made)
}

/// A file of so many bytes, and a job of it alone.
fn job(id: u64, bytes: u64) -> [Event; 2] {
    let name = format!("f{id}");
    let added = Event::FilesAdded {
        table: NATIVE.into(),
        files: vec![file_of(&name, bytes)],
    };
    let planned = Event::JobPlanned {
        job: JobId(id),
        table: NATIVE.into(),
        partition: Partition::from(""),
        inputs: vec![path(&name)],
        output_level: crate::file::Level(1),
        why: Why::SmallFiles,
        drops: None,
        alone: false,
    };
    [added, planned]
}

fn jobs(bytes: &[u64]) -> Story {
    given((0..).zip(bytes).flat_map(|(id, bytes)| job(id, *bytes)))
}

fn asking(slots: usize, memory: u64) -> Request {
    Request::Poll(Poll {
        memory_bytes: Some(memory),
        ..a_poll(CHIEF, slots)
    })
}

fn granted(told: &super::story::Told) -> Vec<u64> {
    match &told.decision.reply {
        Reply::Granted(grants) => grants.iter().map(|grant| grant.job.id.0).collect(),
        other => panic!("not answered, but {other:?}"),
    }
}

fn room_for(story: &Story, jobs: &[u64]) -> u64 {
    jobs.iter().map(|job| memory_estimate(story.job(*job))).sum()
}

#[test]
fn what_does_not_fit_beside_the_rest_waits() {
    let story = jobs(&[100 * MB, 100 * MB, 100 * MB]);
    let (two, three) = (room_for(&story, &[0, 1]), room_for(&story, &[0, 1, 2]));
    assert_eq!(granted(&story.clone().when(asking(5, two))), [0, 1]);
    assert_eq!(granted(&story.clone().when(asking(5, three - 1))), [0, 1]);
    assert_eq!(granted(&story.clone().when(asking(5, three))), [0, 1, 2]);
    assert_eq!(
        granted(&story.when(poll(CHIEF, 5))),
        [0, 1, 2],
        "whoever says nothing has room"
    );
}

#[test]
fn a_smaller_one_passes_what_does_not_fit() {
    let story = jobs(&[10 * MB, 900 * MB, 10 * MB]);
    let room = room_for(&story, &[0, 2]);
    assert_eq!(granted(&story.when(asking(5, room))), [0, 2]);
}

#[test]
fn a_job_larger_than_any_memory_goes_to_who_has_nothing_else_to_do() {
    let story = jobs(&[900 * MB, 10 * MB]);
    let small = room_for(&story, &[1]);
    let told = story.when(asking(5, small));
    assert_eq!(granted(&told), [0], "and it gets nothing beside it");
    let busy = told.go_on();
    let attempt = busy.attempt(0);
    let busy = busy
        .after(asking(5, small))
        .after(release(attempt, ReleaseReason::Drained));
    assert_eq!(
        granted(&busy.when(asking(5, small))),
        [0; 0],
        "it works on the small one now"
    );
}

#[test]
fn what_waits_for_memory_is_passed_by_so_many_and_no_more() {
    let mut story = jobs(&[10 * MB, 900 * MB]);
    let small = MEMORY_BASE_BYTES + 500 * MB;
    // One that runs for ever keeps the worker from having nothing else to do.
    story = story.and([leased_by(0, RangeId::Keys(0), CHIEF)]);
    for id in 2..2 * OVERTAKEN_MAX {
        for event in job(id, MB) {
            crate::apply::apply_event(&mut story.state, &event);
        }
    }
    let mut passed = 0;
    loop {
        let decision = crate::decide(&story.state, &asking(1, small));
        if decision.events.is_empty() {
            break;
        }
        passed += 1;
        for event in decision.events {
            crate::apply::apply_event(&mut story.state, &event);
        }
    }
    assert_eq!(passed, OVERTAKEN_MAX);
    let mut idle = a_poll(DEPUTY, 1);
    idle.worker = "idle".into();
    idle.memory_bytes = Some(small);
    let decision = crate::decide(&story.state, &Request::Poll(idle));
    let Reply::Granted(grants) = decision.reply else {
        panic!("not answered")
    };
    assert_eq!(grants[0].job.id, JobId(1), "whoever is idle gets what waited");
}

#[test]
fn polls_that_cannot_take_it_do_not_fill_the_queue() {
    let pairs = (0..100).map(|number| {
        let made = |name: &str| {
            let mut made = File::clone(&file_of(&format!("{number:03}/{name}"), 200 * MB));
            made.partition = format!("{number:03}").as_str().into();
            Arc::new(made)
        };
        Event::FilesAdded {
            table: NATIVE.into(),
            files: vec![made("a"), made("b")],
        }
    });
    let mut story = given(pairs);
    let small = MEMORY_BASE_BYTES;
    let mut most = 0;
    for _ in 0..20 {
        story = story.after(asking(2, small));
        most = most.max(free_ranges(&story.state, &Scope::default()).len());
    }
    assert_eq!(story.state.watchers[&CHIEF].leases, 1, "one at a time");
    assert!(most <= 10, "{most} jobs wait");
}

#[test]
fn a_range_needs_its_share() {
    let story = jobs(&[640 * MB]).and([leased(0)]);
    let whole = memory_estimate(story.job(0));
    let attempt = story.attempt(0);
    let edges = (1..8).map(|edge| vec![edge]).collect();
    let story = story.after(Request::CutJob { attempt, edges });
    let part = memory_estimate(story.job(0));
    assert_eq!((whole - MEMORY_BASE_BYTES) / 8, part - MEMORY_BASE_BYTES);
    let told = story.when(asking(9, 3 * part));
    assert_eq!(granted(&told).len(), 3);
}
