//! Files leave their shard at the level that the table says, and are merged with those of the other shards.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::file::{File, FilePath, KeyRange, Level};
use crate::ids::{Partition, Sequence};
use crate::request::{Refusal, Request};
use crate::table::{Catalog, MergeSpec, Rule, TableSpec};
use crate::time::{Millis, RowTime, StoreTime, TimeRange};

const SHARDED: &str = "sharded";

fn sharded(from: u8) -> TableSpec {
    TableSpec {
        tenant: Some("tenant".into()),
        shard: Some("shard".into()),
        cross_shard_from: Some(Level(from)),
        ..TableSpec::clone(&spec(Catalog::Native, Rule::KeepAll))
    }
}

fn file_in(tenant: &str, shard: &str, name: &str, level: u8) -> Arc<File> {
    let partition = format!("tenant={tenant}/shard={shard}/hour=1");
    let mut made = File::clone(&file(&format!("{partition}/{name}")));
    made.partition = Partition::from(partition.as_str());
    made.level = Level(level);
    made.identity.modified = StoreTime { unix_ms: 1_000_000 };
    Arc::new(made)
}

fn table_with(from: u8, files: Vec<Arc<File>>) -> Story {
    table_of(sharded(from), files)
}

fn table_of(spec: TableSpec, files: Vec<Arc<File>>) -> Story {
    let table = Event::TableCreated {
        table: SHARDED.into(),
        spec: spec.into(),
    };
    let added = Event::FilesAdded {
        table: SHARDED.into(),
        files,
    };
    given([table, added])
}

/// The partition and the input names of every job, after a poll with many slots.
fn jobs(story: &Story) -> Vec<(String, Vec<String>)> {
    let jobs = story.state.jobs.values().map(|job| {
        let names = job.inputs.iter().map(|input| input.path.name().to_owned());
        (job.partition.to_string(), names.collect())
    });
    jobs.collect()
}

fn job(partition: &str, inputs: &[&str]) -> (String, Vec<String>) {
    let inputs = inputs.iter().map(|&name| name.to_owned()).collect();
    (partition.to_owned(), inputs)
}

#[test]
fn below_the_level_each_shard_is_by_itself() {
    let story = table_with(
        2,
        vec![
            file_in("a", "1", "x1", 0),
            file_in("a", "1", "x2", 0),
            file_in("a", "2", "y1", 0),
            file_in("a", "2", "y2", 0),
        ],
    );
    let story = story.after(poll(CHIEF, 9));
    assert_eq!(
        jobs(&story),
        [
            job("tenant=a/shard=1/hour=1", &["x1", "x2"]),
            job("tenant=a/shard=2/hour=1", &["y1", "y2"])
        ]
    );
}

#[test]
fn at_the_level_the_shards_of_a_tenant_meet() {
    let story = table_with(
        2,
        vec![
            file_in("a", "1", "x", 1),
            file_in("a", "2", "y", 1),
            file_in("a", "2", "low", 0),
            file_in("b", "1", "z", 1),
        ],
    );
    let story = story.after(poll(CHIEF, 9));
    assert_eq!(jobs(&story), [job("tenant=a/hour=1", &["x", "y"])]);
    let running = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story.after(running);
    let table = story.table(SHARDED);
    let common = Partition::from("tenant=a/hour=1");
    assert_eq!(table.partition_files(&common).count(), 1);
    assert_eq!(table.view(&common, story.state.time).files.len(), 1);
    assert_eq!(table.files.len(), 3);
}

/// A tenant that was on a shard only for a while leaves a file there that finds no company.
#[test]
fn a_file_that_is_alone_in_its_shard_leaves_it_when_it_is_old() {
    let story = table_with(3, vec![file_in("a", "1", "x", 0), file_in("a", "2", "y", 1)]);
    let age = story.table(SHARDED).spec.policy.age();
    let story = story.after(poll(CHIEF, 9));
    assert_eq!(jobs(&story), []);
    let story = story.later(age).after(poll(CHIEF, 9));
    assert_eq!(jobs(&story), [job("tenant=a/hour=1", &["x", "y"])]);
}

#[test]
fn a_change_in_a_shard_unsettles_what_shards_have_in_common() {
    let rested = |partition: &str| crate::event::Rested {
        partition: partition.into(),
        until: None,
    };
    let story = table_with(2, vec![file_in("a", "1", "x", 1)]).and([Event::PartitionsRested {
        table: SHARDED.into(),
        planner: crate::planner::VERSION,
        partitions: vec![rested("tenant=a/shard=1/hour=1"), rested("tenant=a/hour=1")],
    }]);
    assert_eq!(story.table(SHARDED).agenda.settled().count(), 2);
    let story = story.and([Event::FilesAdded {
        table: SHARDED.into(),
        files: vec![file_in("a", "2", "y", 1)],
    }]);
    let settled: Vec<&str> = story
        .table(SHARDED)
        .agenda
        .settled()
        .map(|(partition, _)| partition.as_str())
        .collect();
    assert_eq!(settled, ["tenant=a/shard=1/hour=1"]);
    let story = story.after(poll(CHIEF, 1));
    assert_eq!(jobs(&story), [job("tenant=a/hour=1", &["x", "y"])]);
}

/// Rows of one key may lie in several shards, and their files meet in the end.
fn keyed_table(files: Vec<Arc<File>>) -> Story {
    let rule = Rule::LastWriteWins {
        key: vec!["k".into()],
        version: "v".into(),
    };
    let merge = MergeSpec {
        rule,
        row_time: Some("t".into()),
        deleted: Some("d".into()),
        lateness: Some(Millis(0)),
        ..MergeSpec::default()
    };
    let spec = TableSpec {
        merge: merge.into(),
        retention: Some(Millis(0)),
        ..sharded(2)
    };
    table_of(spec, files).later(Millis(1))
}

fn keys_and_times(file: &Arc<File>, keys: [u8; 2], times: [i64; 2]) -> Arc<File> {
    let time = |unix_ms| RowTime { unix_ms };
    Arc::new(File {
        keys: Some(KeyRange {
            min: [keys[0]].into(),
            max: [keys[1]].into(),
        }),
        times: Some(TimeRange {
            min: time(times[0]),
            max: time(times[1]),
        }),
        ..File::clone(file)
    })
}

#[test]
fn a_tombstone_stays_while_another_shard_may_hold_what_it_hides() {
    let plan = |other_keys: [u8; 2]| {
        let story = keyed_table(vec![
            keys_and_times(&file_in("a", "1", "x1", 0), [0, 5], [0, 1]),
            keys_and_times(&file_in("a", "1", "x2", 0), [3, 9], [0, 1]),
            keys_and_times(&file_in("a", "2", "y", 0), other_keys, [0, 1]),
        ]);
        let story = story.after(poll(CHIEF, 1));
        assert_eq!(jobs(&story), [job("tenant=a/shard=1/hour=1", &["x1", "x2"])]);
        story.job(0).drops.clone()
    };
    assert!(plan([10, 11]).is_some());
    assert_eq!(plan([9, 11]), None);
}

#[test]
fn retention_looks_at_all_shards_of_a_family() {
    let past_and = |times: [i64; 2]| {
        let story = keyed_table(vec![
            keys_and_times(&file_in("a", "1", "past", 0), [0, 5], [10, 20]),
            keys_and_times(&file_in("a", "2", "stays", 0), [0, 5], times),
        ]);
        let story = story.after(Request::ApplyRetention(SHARDED.into()));
        story.table(SHARDED).files.len()
    };
    let now = 10_000_000;
    assert_eq!(past_and([21, now]), 1, "nothing older stays");
    assert_eq!(past_and([15, now]), 2, "a row that stays may have been hidden");
}

#[test]
fn an_empty_family_is_forgotten() {
    let story = table_with(2, vec![file_in("a", "1", "x", 1)]);
    let name = "tenant=a/shard=1/hour=1/x";
    let story = story.after(lose(SHARDED, Sequence(2), [name]));
    assert_eq!(story.table(SHARDED).agenda.all().count(), 0);
}

#[test]
fn where_the_path_tells_readers_the_shard_files_stay_in_it() {
    let alter = |table: &str, spec: TableSpec| Request::AlterTable {
        table: table.into(),
        spec: spec.into(),
    };
    let plain = TableSpec {
        catalog: Catalog::InPlace,
        ..sharded(2)
    };
    let unnamed = TableSpec {
        shard: None,
        ..sharded(2)
    };
    for (table, spec) in [(PLACE, plain), (NATIVE, unnamed)] {
        let told = given([]).when(alter(table, spec)).nothing();
        let refused = matches!(
            told.decision.reply,
            crate::request::Reply::Refused(Refusal::WrongSettings { .. })
        );
        assert!(refused, "{:?}", told.decision.reply);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_is_in_two_views_and_none_is_in_no_view(
        from in 1u8..5,
        files in prop::collection::vec((0u8..2, 0u8..3, 0u8..5, 0u64..200_000_000), 1..30),
        ages in prop::collection::vec(0u64..200_000_000, 1..4),
    ) {
        let files = files.into_iter().enumerate().map(|(number, (tenant, shard, level, modified))| {
            let mut made = File::clone(&file_in(&tenant.to_string(), &shard.to_string(), &number.to_string(), level));
            if shard == 2 {
                made.partition = made.partition.without("shard");
            }
            made.identity.modified = StoreTime { unix_ms: modified };
            Arc::new(made)
        });
        let mut story = table_with(from, files.collect());
        for age in ages {
            story = story.later(Millis(age)).after(poll(CHIEF, 2));
            let table = story.table(SHARDED);
            let views = table.agenda.all().map(|partition| table.view(partition, story.state.time));
            let mut seen: BTreeSet<FilePath> = BTreeSet::new();
            for view in views {
                for file in view.files.iter().chain(&view.busy) {
                    prop_assert!(seen.insert(file.path.clone()), "{} is in two views", file.path);
                }
            }
            prop_assert_eq!(seen.len(), table.files.len());
        }
    }
}
