//! The planner looks only at what has changed.

use std::sync::Arc;

use proptest::prelude::*;

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, Rested};
use crate::file::File;
use crate::ids::{JobId, Partition, Sequence};
use crate::limits::REST_WORTH_FILES;
use crate::planner::{self, VERSION};
use crate::request::{Reply, Request};
use crate::state::Table;
use crate::table::{Leveled, Policy, TableSpec};
use crate::time::{Millis, StoreTime};

const HEALTHY: u64 = crate::limits::TARGET_BYTES_DEFAULT;

fn file_in(partition: &str, name: &str, bytes: u64) -> Arc<File> {
    let mut made = File::clone(&file(&format!("{partition}/{name}")));
    made.partition = Partition::from(partition);
    made.identity.bytes = bytes;
    Arc::new(made)
}

/// So many large files in a partition: enough to look at that it is worth writing down.
fn healthy(partition: &str, files: usize) -> Event {
    let files = (0..files).map(|number| file_in(partition, &format!("h{number:04}"), HEALTHY));
    Event::FilesAdded {
        table: NATIVE.into(),
        files: files.collect(),
    }
}

fn rested(partition: &str, until: Option<StoreTime>) -> Event {
    Event::PartitionsRested {
        table: NATIVE.into(),
        planner: VERSION,
        partitions: vec![Rested {
            partition: partition.into(),
            until,
        }],
    }
}

/// What has to be looked at in the native table.
fn open(story: &Story) -> Vec<&str> {
    let table = story.table(NATIVE);
    let open = table.agenda.open(&table.spec, &None, story.state.time);
    open.map(Partition::as_str).collect()
}

#[test]
fn for_a_few_files_nothing_is_written() {
    let story = given([healthy("day=1", REST_WORTH_FILES - 1)]);
    story.when(poll(CHIEF, 1)).nothing();
}

#[test]
fn what_is_at_rest_is_written_down_once_and_not_looked_at_again() {
    let story = given([healthy("day=1", REST_WORTH_FILES)]);
    assert_eq!(open(&story), ["day=1"]);
    let story = story
        .when(poll(CHIEF, 1))
        .then([rested("day=1", None)])
        .only_once()
        .go_on();
    assert_eq!(open(&story), [""; 0]);
}

fn at_rest() -> Story {
    given([healthy("day=1", 3), rested("day=1", None)])
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "stories read better so")]
fn unsettles(story: Story) {
    assert_eq!(open(&story), ["day=1"]);
}

#[test]
fn whatever_changes_a_partition_has_it_looked_at_again() {
    assert_eq!(open(&at_rest()), [""; 0]);
    unsettles(at_rest().and([healthy("day=1", 1)]));
    unsettles(at_rest().after(lose(NATIVE, Sequence(2), ["day=1/h0001"])));
    let marked = at_rest().after(Request::QuarantineFiles {
        table: NATIVE.into(),
        evidence: Sequence(2),
        files: vec![crate::event::Quarantined {
            path: path("day=1/h0001"),
            identity: file_in("day=1", "h0001", HEALTHY).identity.clone(),
            reason: "torn".into(),
        }],
    });
    unsettles(marked.clone());
    let retry = Request::Retry {
        table: NATIVE.into(),
        paths: vec![],
    };
    unsettles(marked.and([rested("day=1", None)]).after(retry));
    let planned = Event::JobPlanned {
        job: JobId(0),
        table: NATIVE.into(),
        partition: "day=1".into(),
        inputs: paths(["day=1/h0000", "day=1/h0001"]),
        output_level: crate::file::Level(1),
        why: crate::job::Why::SmallFiles,
        drops: None,
        alone: false,
        receipt: true,
    };
    let held = at_rest().and([planned]);
    unsettles(held.clone());
    let held = held.and([rested("day=1", None)]);
    unsettles(held.clone().after(Request::Cancel(JobId(0))));
    unsettles(held.clone().and([Event::JobCancelled {
        job: JobId(0),
        why: crate::job::CancelReason::InputsChanged(vec![]),
    }]));
    let running = held.and([leased(0)]);
    let done = Request::Finish(finish(running.job(0), &running.attempt(0)));
    unsettles(running.after(done));
}

#[test]
fn other_settings_have_everything_looked_at_again() {
    let story = at_rest();
    let spec = TableSpec {
        grace: Millis(1),
        ..TableSpec::clone(&story.table(NATIVE).spec)
    };
    unsettles(story.after(Request::AlterTable {
        table: NATIVE.into(),
        spec: spec.into(),
    }));
}

#[test]
fn a_newer_planner_looks_for_itself_and_an_older_one_believes_it() {
    let by = |planner| Event::PartitionsRested {
        table: NATIVE.into(),
        planner,
        partitions: vec![Rested {
            partition: "day=2".into(),
            until: None,
        }],
    };
    let two_days = given([healthy("day=1", 1), healthy("day=2", 1), rested("day=1", None)]);
    let newer = two_days.clone().and([by(VERSION + 1)]);
    assert_eq!(open(&newer), ["day=1"], "the older planner's finding is gone");
    let older = newer.and([rested("day=1", None)]);
    assert_eq!(open(&older), ["day=1"], "and does not come back");
    let same = two_days.and([by(VERSION)]);
    assert_eq!(open(&same), [""; 0]);
}

/// LESSONS: an age trigger evaluated only when the next file arrives leaves an idle partition unflushed.
#[test]
fn an_idle_partition_flushes_when_its_time_has_come() {
    let age = Millis(60_000);
    let story = given([healthy("day=1", REST_WORTH_FILES)]);
    let spec = TableSpec {
        policy: Policy::Leveled(Leveled {
            files_per_level: 3,
            age,
            ..Leveled::default()
        }),
        ..TableSpec::clone(&story.table(NATIVE).spec)
    };
    let story = story.after(Request::AlterTable {
        table: NATIVE.into(),
        spec: spec.into(),
    });
    let modified = story.state.time;
    let young = |name: &str| {
        let mut made = File::clone(&file_in("day=1", name, 10));
        made.identity.modified = modified;
        Arc::new(made)
    };
    let story = story.and([Event::FilesAdded {
        table: NATIVE.into(),
        files: vec![young("a"), young("b")],
    }]);
    let story = story
        .when(poll(CHIEF, 1))
        .then([rested("day=1", Some(modified + age))])
        .go_on();
    story.clone().when(poll(CHIEF, 1)).nothing();
    let story = story.later(age);
    let told = story.when(poll(CHIEF, 1));
    let Reply::Granted(grants) = &told.decision.reply else {
        panic!("nothing granted")
    };
    assert_eq!(grants[0].job.why, crate::job::Why::Age);
}

/// The one thing that must hold: where nothing has to be looked at, there is nothing to do.
fn settled_is_settled(story: &Story) -> Result<(), TestCaseError> {
    let state = &story.state;
    let table: &Table = story.table(NATIVE);
    for (partition, until) in table.agenda.settled() {
        let rests = until.is_none_or(|until| until > state.time);
        let choice = planner::choose(&table.spec, &state.view(table, partition));
        prop_assert!(!rests || choice.jobs.is_empty(), "{partition}: {choice:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_not_looked_at_has_nothing_to_do(steps in prop::collection::vec((0u8..9, 0u8..3, 0u64..4), 1..40)) {
        let mut story = given([healthy("ballast", REST_WORTH_FILES)]);
        for (number, (step, day, size)) in steps.into_iter().enumerate() {
            let day = format!("day={day}");
            let name = format!("{day}/f{}", number / 2);
            story = match step {
                0..=2 => {
                    let bytes = [1, 10, HEALTHY / 3, HEALTHY][size as usize];
                    let mut made = File::clone(&file_in(&day, &format!("f{number}"), bytes));
                    made.identity.modified = story.state.time;
                    story.and([Event::FilesAdded { table: NATIVE.into(), files: vec![made.into()] }])
                }
                3 => story.after(lose(NATIVE, Sequence(2), [&name])),
                4 => match story.state.jobs.get_min().map(|(job, _)| *job) {
                    Some(job) => story.after(Request::Cancel(job)),
                    None => story,
                },
                5 => story.after(Request::Retry { table: NATIVE.into(), paths: vec![] }),
                6 => finish_one(story),
                7 => story.later(Millis(size * 43_200_000)),
                _ => {
                    // Another file in the ballast makes the look worth writing down.
                    let ballast = file_in("ballast", &format!("b{number}"), HEALTHY);
                    let more = Event::FilesAdded { table: NATIVE.into(), files: vec![ballast] };
                    story.and([more]).after(poll(CHIEF, 2))
                }
            };
            settled_is_settled(&story)?;
        }
    }
}

fn finish_one(story: Story) -> Story {
    let mut leased = story
        .state
        .jobs
        .values()
        .filter(|job| job.leases().next().is_some());
    match leased.next().map(|job| job.id.0) {
        Some(job) => {
            let done = Request::Finish(finish(story.job(job), &story.attempt(job)));
            story.after(done)
        }
        None => story,
    }
}
