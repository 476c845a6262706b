//! Which range is worked on next.

use std::collections::BTreeSet;

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::file::Level;
use crate::ids::{JobId, Partition, RangeId};
use crate::job::Why;
use crate::request::Scope;
use crate::scheduler::{OVERTAKEN_MAX, free_ranges};

fn planned_at(job: u64, name: &str, level: u8) -> Event {
    Event::JobPlanned {
        job: JobId(job),
        table: NATIVE.into(),
        partition: Partition::from(""),
        inputs: vec![path(name)],
        output_level: Level(level),
        why: Why::SmallFiles,
        drops: None,
        alone: false,
        receipt: true,
    }
}

fn order(story: &Story) -> Vec<u64> {
    let free = free_ranges(&story.state, &Scope::default());
    free.into_iter().map(|(job, _)| job.0).collect()
}

#[test]
fn small_before_large_and_then_the_oldest() {
    let story = given([
        added(NATIVE, ["a", "b", "c"]),
        planned_at(0, "a", 3),
        planned_at(1, "b", 1),
        planned_at(2, "c", 1),
    ]);
    assert_eq!(order(&story), [1, 2, 0]);
}

#[test]
fn small_first_does_not_starve_the_large() {
    let mut story = given([added(NATIVE, ["large"]), planned_at(0, "large", 2)]);
    for job in 1..=OVERTAKEN_MAX + 1 {
        let name = format!("small{job}");
        story.state.open_batch(None);
        for event in [added(NATIVE, [&name]), planned_at(job, &name, 1)] {
            crate::apply::apply_event(&mut story.state, &event);
        }
        let first = free_ranges(&story.state, &Scope::default())[0].0;
        crate::apply::apply_event(&mut story.state, &leased_by(first.0, RangeId::Keys(0), CHIEF));
        if first == JobId(0) {
            return;
        }
    }
    panic!("never its turn");
}

#[test]
fn a_failing_job_lets_others_pass_but_not_for_ever() {
    let mut state = given([added(NATIVE, ["bad"]), planned_at(0, "bad", 1)]).state;
    let faulty = std::sync::Arc::make_mut(state.jobs.get_mut(&JobId(0)).unwrap());
    faulty.input_faults = 1;
    for job in 1..=OVERTAKEN_MAX + 1 {
        let name = format!("f{job}");
        for event in [added(NATIVE, [&name]), planned_at(job, &name, 1)] {
            crate::apply::apply_event(&mut state, &event);
        }
    }
    let order: Vec<u64> = free_ranges(&state, &Scope::default())
        .iter()
        .map(|f| f.0.0)
        .collect();
    let place = order.iter().position(|job| *job == 0).unwrap() as u64;
    assert!(place > 0 && place <= OVERTAKEN_MAX);
}

#[test]
fn a_live_lease_hides_nothing_behind_it() {
    let story = given([
        added(NATIVE, ["a", "b", "c"]),
        planned_at(0, "a", 1),
        planned_at(1, "b", 1),
        planned_at(2, "c", 1),
        leased(0),
        leased(1),
    ]);
    assert_eq!(order(&story), [2]);
}

#[test]
fn a_worker_gets_only_what_lies_in_its_scope() {
    let story = given([added(NATIVE, ["a"]), planned_at(0, "a", 1)]);
    let elsewhere = Scope {
        partitions: Some(BTreeSet::from([Partition::from("day=1")])),
        ..Scope::default()
    };
    let other_table = Scope {
        table: Some(PLACE.into()),
        ..Scope::default()
    };
    for scope in [elsewhere, other_table] {
        assert_eq!(free_ranges(&story.state, &scope), []);
    }
}

#[test]
fn a_poll_with_any_number_of_slots_is_answered() {
    given([]).when(poll(LONER, usize::MAX)).nothing();
}

#[test]
fn a_poll_without_slots_grants_nothing() {
    let story = given([added(NATIVE, ["a"]), planned_at(0, "a", 1)]);
    story.when(poll(LONER, 0)).nothing();
}

#[test]
fn a_resumed_job_is_what_was_frozen_when_it_was_planned() {
    let story = given([added(NATIVE, ["a"]), planned_at(0, "a", 1)]);
    let spec = spec(crate::table::Catalog::Native, crate::table::Rule::KeepAll);
    let mut merge = crate::table::MergeSpec::clone(&spec.merge);
    merge.target_bytes = 1;
    let altered = crate::table::TableSpec {
        merge: merge.into(),
        ..crate::table::TableSpec::clone(&spec)
    };
    let before = story.job(0).clone();
    let story = story.after(crate::request::Request::AlterTable {
        table: NATIVE.into(),
        spec: altered.into(),
    });
    assert_eq!(*story.job(0), before);
}

#[test]
fn planning_goes_round_the_partitions() {
    let in_day = |(day, name): (&str, &str)| {
        let mut file = crate::file::File::clone(&file(&format!("{day}/{name}")));
        file.partition = Partition::from(day);
        std::sync::Arc::new(file)
    };
    let days = ["1", "2", "3"]
        .into_iter()
        .flat_map(|day| [(day, "a"), (day, "b")]);
    let mut story = given([Event::FilesAdded {
        table: NATIVE.into(),
        files: days.map(in_day).collect(),
    }]);
    let one_at_a_time = crate::request::Request::Poll(crate::request::Poll {
        scope: Scope {
            jobs_left: Some(1),
            ..Scope::default()
        },
        ..a_poll(CHIEF, 1)
    });
    let mut turns = Vec::new();
    for _ in 0..3 {
        story = story.after(one_at_a_time.clone());
        turns.push(story.state.jobs.get_max().unwrap().1.partition.to_string());
        // The first partition keeps asking for more.
        let more = format!("1/more{}", turns.len());
        let more = [
            in_day(("1", &more[2..])),
            in_day(("1", &format!("x{}", turns.len()))),
        ];
        story = story.and([Event::FilesAdded {
            table: NATIVE.into(),
            files: more.to_vec(),
        }]);
    }
    assert_eq!(turns, ["1", "2", "3"]);
}
