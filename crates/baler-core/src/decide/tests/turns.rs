//! Tenants take turns, and nothing starves.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::fixtures::*;
use super::story::{Story, given};
use crate::agenda::Tenant;
use crate::event::Event;
use crate::file::{File, Level};
use crate::ids::{JobId, Partition, RangeId};
use crate::job::{CancelReason, Why};
use crate::request::{Poll, Reply, Request, Scope};
use crate::scheduler::{OVERTAKEN_MAX, free_ranges};
use crate::state::State;
use crate::table::{Catalog, Rule, TableSpec};

const TENANTED: &str = "tenanted";

fn tenanted() -> Event {
    let spec = TableSpec::clone(&spec(Catalog::Native, Rule::KeepAll));
    Event::TableCreated {
        table: TENANTED.into(),
        spec: Arc::new(TableSpec {
            tenant: Some("tenant".into()),
            ..spec
        }),
    }
}

fn file_in(partition: &str, name: &str) -> Arc<File> {
    let mut made = File::clone(&file(&format!("{partition}/{name}")));
    made.partition = Partition::from(partition);
    Arc::new(made)
}

/// Two small files, so a job, in each of so many partitions of a tenant.
fn jobs_for(tenant: &str, partitions: usize) -> Event {
    let partitions = (0..partitions).map(|number| format!("tenant={tenant}/n={number:04}"));
    Event::FilesAdded {
        table: TENANTED.into(),
        files: partitions
            .flat_map(|partition| [file_in(&partition, "a"), file_in(&partition, "b")])
            .collect(),
    }
}

/// Whose jobs a poll with so many slots is granted.
fn granted(story: Story, slots: usize) -> (Story, Vec<String>) {
    let told = story.when(poll(CHIEF, slots));
    let Reply::Granted(grants) = told.decision.reply.clone() else {
        panic!("nothing granted")
    };
    let tenants = grants
        .iter()
        .map(|grant| grant.job.partition.value_of("tenant").unwrap_or("-").to_owned());
    let tenants = tenants.collect();
    (told.go_on(), tenants)
}

#[test]
fn a_tenant_with_many_jobs_does_not_delay_one_with_one() {
    let story = given([tenanted(), jobs_for("big", 300)]);
    let (story, _) = granted(story, 50);
    assert!(
        story.state.jobs.len() > 100,
        "the queue is full of one tenant's jobs"
    );
    let story = story.and([jobs_for("small", 1)]);
    let (story, first) = granted(story, 1);
    let (_, second) = granted(story, 1);
    assert!([first, second].concat().contains(&"small".to_owned()));
}

#[test]
fn the_turn_goes_on_where_it_stopped() {
    let mut story = given([
        tenanted(),
        jobs_for("c", 4),
        jobs_for("a", 4),
        jobs_for("b", 4),
        added(NATIVE, ["x", "y"]),
    ]);
    let mut turns = Vec::new();
    for _ in 0..8 {
        let served;
        (story, served) = granted(story, 1);
        turns.extend(served);
    }
    assert_eq!(turns, ["a", "b", "c", "-", "a", "b", "c", "a"]);
}

#[test]
fn a_turn_of_many_slots_goes_round() {
    let story = given([tenanted(), jobs_for("a", 9), jobs_for("b", 1), jobs_for("c", 9)]);
    let (_, turns) = granted(story, 6);
    assert_eq!(turns, ["a", "b", "c", "a", "c", "a"]);
}

#[test]
fn publishing_is_nobodys_turn() {
    let story = given([
        tenanted(),
        jobs_for("a", 2),
        jobs_for("b", 2),
        added(PLACE, ["x", "y"]),
        planned(PLACE, 0, ["x", "y"]),
        leased(0),
    ]);
    let (story, first) = granted(story, 1);
    let finish = finish(story.job(0), &story.attempt(0));
    let story = story.after(Request::Finish(finish));
    assert!(story.job(0).publish.lease().is_some());
    let (_, second) = granted(story, 1);
    assert_eq!([first, second].concat(), ["a", "b"]);
}

#[test]
fn no_more_jobs_are_begun_than_are_left() {
    let limited = |jobs_left| {
        Request::Poll(Poll {
            scope: Scope {
                jobs_left: Some(jobs_left),
                ..Scope::default()
            },
            ..a_poll(CHIEF, 8)
        })
    };
    let story = given([tenanted(), jobs_for("a", 5)]);
    story.clone().when(limited(0)).nothing();
    let story = story.after(limited(2));
    let leased = |story: &Story| {
        story
            .state
            .watchers
            .values()
            .map(|watcher| watcher.leases)
            .sum::<u32>()
    };
    assert_eq!((story.state.jobs.len(), leased(&story)), (2, 2));

    let queued = given([tenanted(), jobs_for("a", 5)]).after(poll(CHIEF, 1));
    let (open, running) = (queued.state.jobs.len(), leased(&queued));
    let queued = queued.after(limited(1));
    assert_eq!(
        (queued.state.jobs.len(), leased(&queued)),
        (open, running + 1),
        "what is queued counts too"
    );
}

#[test]
fn publishing_goes_on_when_no_job_may_be_begun() {
    let story = given([added(PLACE, ["x", "y"]), planned(PLACE, 0, ["x", "y"]), leased(0)]);
    let finish = finish(story.job(0), &story.attempt(0));
    let story = story.after(Request::Finish(finish));
    let attempt = story.attempt_at(0, RangeId::Publish);
    let story = story.after(release(attempt, crate::event::ReleaseReason::Drained));
    let request = Request::Poll(Poll {
        scope: Scope {
            jobs_left: Some(0),
            ..Scope::default()
        },
        ..a_poll(CHIEF, 1)
    });
    story.when(request).then([leased_by(0, RangeId::Publish, CHIEF)]);
}

/// A job that arrives: whose it is, and at which level.
fn arrivals() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((0u8..4, 1u8..4), 1..60)
}

fn arrive(state: &mut State, number: u64, (tenant, level): (u8, u8)) {
    let partition = format!("tenant={tenant}");
    let made = file_in(&partition, &number.to_string());
    let path = made.path.clone();
    let added = Event::FilesAdded {
        table: TENANTED.into(),
        files: vec![made],
    };
    let planned = Event::JobPlanned {
        job: JobId(number),
        table: TENANTED.into(),
        partition: partition.as_str().into(),
        inputs: vec![path],
        output_level: Level(level),
        why: Why::SmallFiles,
        drops: None,
        alone: false,
        receipt: true,
    };
    crate::apply::apply_event(state, &added);
    crate::apply::apply_event(state, &planned);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// After a first crowd, jobs of level 1 keep arriving for every tenant, one for each that is granted.
    #[test]
    fn nothing_starves(crowd in arrivals()) {
        let mut state = given([tenanted()]).state;
        for (number, job) in (0..).zip(&crowd) {
            arrive(&mut state, number, *job);
        }
        let waiting = crowd.len() as u64;
        let mut unserved: BTreeMap<u64, Tenant> =
            state.jobs.iter().map(|(id, job)| (id.0, state.tenant_of(job))).collect();
        let turns_max = 4 * (waiting + 4 * 3 * OVERTAKEN_MAX);
        for turn in 0..turns_max {
            let first = free_ranges(&state, &Scope::default())[0].0;
            let tenant = state.tenant_of(&state.jobs[&first]);
            unserved.remove(&first.0);
            if unserved.is_empty() {
                return Ok(());
            }
            let leased = Event::RangeLeased {
                job: first,
                range: RangeId::Keys(0),
                worker: "w".into(),
                watcher: CHIEF,
                embedded: false,
                host: None,
                tenant,
                isolates: false,
            };
            let ended = Event::JobCancelled { job: first, why: CancelReason::Operator };
            crate::apply::apply_event(&mut state, &leased);
            crate::apply::apply_event(&mut state, &ended);
            arrive(&mut state, waiting + turn, ((turn % 4) as u8, 1));
        }
        prop_assert!(false, "after {} turns still waiting: {:?}", turns_max, unserved);
    }
}
