//! Ranges are granted by estimated memory as well as by slots.

use std::sync::Arc;

use super::fixtures::*;
use super::story::{Story, given};
use crate::admission::memory_estimate;
use crate::event::Event;
use crate::file::File;
use crate::ids::{JobId, Partition};
use crate::job::Why;
use crate::limits::{MEMORY_BASE_BYTES, MEMORY_PER_INPUT};
use crate::request::{Memory, Poll, Reply, Request, Scope};
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
        receipt: true,
    };
    [added, planned]
}

fn jobs(bytes: &[u64]) -> Story {
    given((0..).zip(bytes).flat_map(|(id, bytes)| job(id, *bytes)))
}

/// Somebody with this much for all its slots, none of which is at work.
fn asking(slots: usize, all_bytes: u64) -> Request {
    asking_with(
        slots,
        Memory {
            all_bytes,
            places: slots,
            free_bytes: all_bytes,
        },
    )
}

fn asking_with(slots: usize, memory: Memory) -> Request {
    Request::Poll(Poll {
        memory: Some(memory),
        ..a_poll(CHIEF, slots)
    })
}

fn lent(told: &super::story::Told) -> Vec<u64> {
    match &told.decision.reply {
        Reply::Granted(grants) => grants.iter().map(|grant| grant.memory_bytes / MB).collect(),
        other => panic!("not answered, but {other:?}"),
    }
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
fn a_large_one_merges_with_what_small_ones_beside_it_leave() {
    let story = jobs(&[900 * MB, MB, MB, MB]);
    let told = story.when(asking(4, 1024 * MB));
    assert_eq!(granted(&told), [0, 1, 2, 3]);
    assert_eq!(lent(&told), [640, 68, 68, 68], "not a quarter each");
}

#[test]
fn with_an_even_share_anything_begins() {
    let story = jobs(&[900 * MB, 900 * MB, 900 * MB]);
    let told = story.when(asking(3, 600 * MB));
    assert_eq!(granted(&told), [0, 1, 2]);
    assert_eq!(lent(&told), [200, 200, 200]);
}

#[test]
fn the_share_of_a_slot_that_is_empty_is_not_lent() {
    let told = jobs(&[900 * MB]).when(asking(2, 1024 * MB));
    assert_eq!(lent(&told), [512], "the next one begins at once");
}

#[test]
fn who_lent_more_than_a_share_gives_it_back_when_others_wait_for_theirs() {
    let memory = Memory {
        all_bytes: 1024 * MB,
        places: 2,
        free_bytes: 900 * MB,
    };
    let told = jobs(&[900 * MB, 900 * MB]).when(asking_with(1, memory));
    assert_eq!((granted(&told), lent(&told)), (vec![0], vec![512]));
    let told = jobs(&[900 * MB, MB]).when(asking_with(1, memory));
    assert_eq!(
        (granted(&told), lent(&told)),
        (vec![0], vec![896]),
        "a small one does with less"
    );
}

#[test]
fn who_says_nothing_of_memory_has_room() {
    let told = jobs(&[100 * MB, 900 * MB]).when(poll(CHIEF, 5));
    assert_eq!((granted(&told), lent(&told)), (vec![0, 1], vec![464, 3664]));
}

#[test]
fn what_one_says_that_makes_no_sense_does_no_harm() {
    let memory = Memory {
        all_bytes: u64::MAX,
        places: 0,
        free_bytes: u64::MAX,
    };
    assert_eq!(granted(&jobs(&[MB, MB]).when(asking_with(9, memory))), [0, 1]);
}

/// Another holds all but this much, of which an even share is more.
fn left(free_bytes: u64) -> Memory {
    Memory {
        all_bytes: 2000 * MB,
        places: 4,
        free_bytes,
    }
}

#[test]
fn what_has_no_room_beside_the_rest_waits() {
    let story = jobs(&[100 * MB, 100 * MB, 100 * MB]);
    let (two, three) = (room_for(&story, &[0, 1]), room_for(&story, &[0, 1, 2]));
    let asked = |memory| granted(&story.clone().when(asking_with(3, memory)));
    assert_eq!(asked(left(two)), [0, 1]);
    assert_eq!(asked(left(three - 1)), [0, 1]);
    assert_eq!(asked(left(three)), [0, 1, 2]);
}

#[test]
fn a_smaller_one_passes_what_has_no_room() {
    let story = jobs(&[10 * MB, 900 * MB, 10 * MB]);
    let room = room_for(&story, &[0, 2]);
    assert_eq!(granted(&story.when(asking_with(3, left(room)))), [0, 2]);
}

#[test]
fn what_waits_for_memory_is_passed_by_so_many_and_no_more() {
    let mut story = jobs(&[10 * MB, 900 * MB]);
    let small = left(400 * MB);
    for id in 2..2 * OVERTAKEN_MAX {
        for event in job(id, MB) {
            crate::apply::apply_event(&mut story.state, &event);
        }
    }
    let mut passed = 0;
    loop {
        let decision = crate::decide(&story.state, &asking_with(1, small));
        if decision.events.is_empty() {
            break;
        }
        passed += 1;
        for event in decision.events {
            crate::apply::apply_event(&mut story.state, &event);
        }
    }
    // The first did not pass it: it was there before.
    assert_eq!(passed, OVERTAKEN_MAX + 1);
    let decision = crate::decide(&story.state, &asking_with(1, left(500 * MB)));
    let Reply::Granted(grants) = decision.reply else {
        panic!("not answered")
    };
    assert_eq!(grants[0].job.id, JobId(1), "whoever has room gets what waited");
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
    let mut most = 0;
    for _ in 0..20 {
        story = story.after(asking_with(2, left(MEMORY_BASE_BYTES)));
        most = most.max(free_ranges(&story.state, &Scope::default()).len());
    }
    assert!(story.state.watchers.is_empty(), "nothing has room");
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
    let fixed = MEMORY_BASE_BYTES + MEMORY_PER_INPUT;
    assert_eq!((whole - fixed) / 8, part - fixed);
    let told = story.when(asking_with(9, left(3 * part)));
    assert_eq!(granted(&told).len(), 3);
}
