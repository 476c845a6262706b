//! Policies of a table's owner: they run outside, say what they like, and are held to the state as it is.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::file::{File, Level};
use crate::ids::{JobId, Partition, Sequence};
use crate::job::Why;
use crate::request::{Formats, Propose, Refusal, Reply, Request};
use crate::table::{Catalog, MergeSpec, Policy, Rule, TableSpec};

const OWNED: &str = "owned";

fn owned() -> Event {
    let native = spec(Catalog::Native, Rule::KeepAll);
    Event::TableCreated {
        table: OWNED.into(),
        spec: TableSpec {
            policy: Policy::Owner,
            ..TableSpec::clone(&native)
        }
        .into(),
    }
}

fn holding<const N: usize>(names: [&str; N]) -> Story {
    given([owned(), added(OWNED, names)])
}

fn proposal<const N: usize>(story: &Story, names: [&str; N]) -> Propose {
    Propose {
        table: OWNED.into(),
        evidence: story.state.sequence,
        inputs: paths(names),
        output_level: Level(3),
        reason: "the owner says so".into(),
    }
}

fn refusal_of(story: &Story, proposal: Propose) -> String {
    let told = story.clone().when(Request::Propose(proposal));
    assert_eq!(told.decision.events, []);
    match told.decision.reply {
        Reply::Refused(Refusal::CannotPlan { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_owners_policy_wants_becomes_a_job_and_nothing_else_does() {
    let story = holding(["a", "b", "c"]);
    story.clone().when(poll(CHIEF, 4)).nothing();
    let wanted = proposal(&story, ["b", "a"]);
    let planned = Event::JobPlanned {
        job: JobId(0),
        table: OWNED.into(),
        partition: Partition::from(""),
        inputs: paths(["b", "a"]),
        output_level: Level(3),
        why: Why::Proposed {
            reason: "the owner says so".into(),
        },
        drops: None,
        alone: false,
        receipt: true,
    };
    let story = story.when(Request::Propose(wanted)).then([planned]).go_on();
    let story = story.after(poll(CHIEF, 4));
    assert_eq!(story.job(0).leases().count(), 1);
}

#[test]
fn a_proposal_is_held_to_the_state_as_it_is_now() {
    let story = holding(["a", "b", "c"]);
    let late = proposal(&story, ["a", "b"]);
    let story = story.after(Request::Propose(proposal(&holding(["a", "b", "c"]), ["a", "b"])));
    assert_eq!(refusal_of(&story, late), "a is in a job already");
    let unknown = proposal(&story, ["c", "z"]);
    assert_eq!(refusal_of(&story, unknown), "z is not live");
    let twice = proposal(&story, ["c", "c"]);
    assert_eq!(refusal_of(&story, twice), "c is named twice");
    let nothing = proposal(&story, []);
    assert_eq!(refusal_of(&story, nothing), "no file is named");
    let high = Propose {
        output_level: Level(200),
        ..proposal(&story, ["c"])
    };
    assert_eq!(refusal_of(&story, high), "there is no level above 7");
    let paused = story.after(Request::Pause { table: None });
    let wanted = proposal(&paused, ["c"]);
    assert_eq!(refusal_of(&paused, wanted), "it is paused");
}

#[test]
fn a_file_that_was_overwritten_after_the_policy_looked_is_not_the_one_it_meant() {
    let story = holding(["a", "b"]);
    let before = proposal(&story, ["a", "b"]);
    let story = story.and([added(OWNED, ["c"])]);
    let newer = Propose {
        inputs: paths(["a", "c"]),
        ..before
    };
    assert_eq!(refusal_of(&story, newer), "c came after the policy looked");
}

#[test]
fn files_of_two_partitions_share_no_job_whatever_the_policy_says() {
    let elsewhere = File {
        partition: Partition::from("day=2"),
        ..File::clone(&file("b"))
    };
    let story = given([
        owned(),
        Event::FilesAdded {
            table: OWNED.into(),
            files: vec![file("a"), elsewhere.into()],
        },
    ]);
    let wanted = proposal(&story, ["a", "b"]);
    assert_eq!(refusal_of(&story, wanted), "its files lie in several partitions");
}

#[test]
fn a_table_that_baler_plans_takes_no_proposals() {
    let story = given([added(NATIVE, ["a", "b"])]);
    let wanted = Propose {
        table: NATIVE.into(),
        ..proposal(&story, ["a", "b"])
    };
    assert!(refusal_of(&story, wanted).starts_with("it plans by a policy of Baler's"));
    let unborn = Propose {
        evidence: Sequence(1_000),
        ..proposal(&holding(["a"]), ["a"])
    };
    let told = holding(["a"]).when(Request::Propose(unborn));
    assert_eq!(
        told.decision.reply,
        Reply::Refused(Refusal::EvidenceUnknown(Sequence(1_000)))
    );
}

#[test]
fn only_workers_that_know_a_format_are_granted_its_jobs() {
    let kv = MergeSpec {
        format: Some("kv".into()),
        ..MergeSpec::default()
    };
    let spec = TableSpec {
        merge: kv.into(),
        ..TableSpec::clone(&spec(Catalog::Native, Rule::KeepAll))
    };
    let created = Event::TableCreated {
        table: OWNED.into(),
        spec: spec.into(),
    };
    let story = given([created, added(OWNED, ["a", "b"]), added(NATIVE, ["c", "d"])]);
    let granted = |formats: Formats| {
        let mut asked = poll(CHIEF, 8);
        let Request::Poll(ask) = &mut asked else {
            unreachable!()
        };
        ask.scope.formats = formats;
        let story = story.clone().after(asked);
        let tables = story.state.jobs.values().map(|job| job.table.to_string());
        tables.collect::<Vec<String>>()
    };
    let only = |names: &[&str]| Formats::Only(names.iter().map(|name| (*name).into()).collect());
    assert_eq!(
        granted(Formats::default()),
        [NATIVE],
        "whoever says nothing knows Parquet"
    );
    assert_eq!(granted(only(&["kv"])), [OWNED]);
    assert_eq!(granted(only(&["kv", "parquet"])).len(), 2);
    assert_eq!(granted(Formats::Any).len(), 2);
}
