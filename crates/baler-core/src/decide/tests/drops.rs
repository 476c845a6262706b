//! Tombstones and expired rows go only where nothing comes back with them, and by a figure that is frozen.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::{Event, ReleaseReason};
use crate::file::{File, KeyRange};
use crate::job::{AgeCut, Dropped, DropsBefore};
use crate::request::Request;
use crate::table::{Catalog, Expire, MergeSpec, Rule, TableSpec};
use crate::time::{Millis, StoreTime};
use std::sync::Arc;

const LATENESS: Millis = Millis(5_000);

fn keyed() -> MergeSpec {
    MergeSpec {
        rule: Rule::LastWriteWins {
            key: vec!["k".into()],
            version: "v".into(),
        },
        row_time: Some("t".into()),
        deleted: Some("gone".into()),
        expire: Some(Expire {
            column: "t".into(),
            after: Millis(9_000),
        }),
        lateness: Some(LATENESS),
        ..MergeSpec::default()
    }
}

fn altered(table: &str, merge: MergeSpec) -> Event {
    let known = spec(Catalog::Native, merge.rule.clone());
    let spec = TableSpec {
        merge: merge.into(),
        ..TableSpec::clone(&known)
    };
    Event::TableAltered {
        table: table.into(),
        spec: spec.into(),
    }
}

/// A small file with these keys.
fn with_keys(name: &str, min: u8, max: u8) -> Arc<File> {
    let keys = KeyRange {
        min: [min].into(),
        max: [max].into(),
    };
    Arc::new(File {
        keys: Some(keys),
        ..File::clone(&file(name))
    })
}

fn table_of(merge: MergeSpec, files: Vec<Arc<File>>) -> Story {
    let files = Event::FilesAdded {
        table: KEYED.into(),
        files,
    };
    given([altered(KEYED, merge), files])
}

/// The drops of the jobs that a poll plans.
fn planned_drops(story: &Story) -> Vec<Option<DropsBefore>> {
    let events = story.clone().when(poll(LONER, 1)).decision.events;
    let drops = events.iter().filter_map(|event| match event {
        Event::JobPlanned { drops, .. } => Some(drops.clone()),
        _ => None,
    });
    drops.collect()
}

#[track_caller]
fn the_drops(story: &Story) -> Option<DropsBefore> {
    let planned = planned_drops(story);
    assert_eq!(planned.len(), 1, "one job is planned");
    planned[0].clone()
}

fn quarantined(name: &str) -> Event {
    Event::FilesQuarantined {
        table: KEYED.into(),
        files: vec![mark(name, "torn")],
    }
}

fn pair() -> Vec<Arc<File>> {
    vec![with_keys("a", 1, 5), with_keys("b", 3, 6)]
}

#[test]
fn a_job_that_holds_all_drops_what_is_older_than_the_lateness() {
    let drops = the_drops(&table_of(keyed(), pair())).unwrap();
    let story = table_of(keyed(), pair());
    // The poll's own entry carries a millisecond more.
    let now = StoreTime {
        unix_ms: story.state.time.unix_ms + 1,
    };
    let cut = |age| AgeCut {
        column: "t".into(),
        before: now.rows_aged(Millis(age)),
    };
    assert_eq!(drops.deleted, Some(cut(LATENESS.0)));
    assert_eq!(drops.expired, Some(cut(9_000)));
    let hasty = MergeSpec {
        expire: Some(Expire {
            column: "t".into(),
            after: Millis(10),
        }),
        ..keyed()
    };
    let drops = the_drops(&table_of(hasty, pair())).unwrap();
    assert_eq!(drops.expired, Some(cut(LATENESS.0)), "not before the lateness");
}

#[test]
fn a_tombstone_stays_while_a_busy_file_may_hold_its_key() {
    let mut files = pair();
    files.push(with_keys("busy", 5, 9));
    let story = table_of(keyed(), files).and([planned(KEYED, 0, ["busy"]), leased(0)]);
    assert!(planned_drops(&story).iter().all(Option::is_none));
    let mut files = pair();
    files.push(with_keys("busy", 7, 9));
    let story = table_of(keyed(), files).and([planned(KEYED, 0, ["busy"]), leased(0)]);
    assert!(the_drops(&story).is_some(), "its keys are others");
}

#[test]
fn a_tombstone_stays_while_a_quarantined_file_may_hold_its_key() {
    for (keys, dropped) in [((6, 9), false), ((7, 9), true)] {
        let mut files = pair();
        files.push(with_keys("torn", keys.0, keys.1));
        let story = table_of(keyed(), files).and([quarantined("torn")]);
        assert_eq!(the_drops(&story).is_some(), dropped, "{keys:?}");
    }
    let never_read = table_of(keyed(), pair()).and([quarantined("torn")]);
    assert_eq!(the_drops(&never_read), None, "nobody knows what it holds");
}

#[test]
fn a_tombstone_stays_while_a_file_of_unknown_keys_may_hold_its_key() {
    let mut files = pair();
    files.push(file("unknown"));
    let story = table_of(keyed(), files).and([quarantined("unknown")]);
    assert_eq!(the_drops(&story), None);
    // Nor does a job know which keys it holds, if those of one of its own inputs are unknown.
    for (input, dropped) in [(file("b"), false), (with_keys("b", 3, 6), true)] {
        let files = vec![with_keys("a", 1, 5), input, with_keys("torn", 200, 201)];
        let story = table_of(keyed(), files).and([quarantined("torn")]);
        assert_eq!(the_drops(&story).is_some(), dropped);
    }
}

#[test]
fn a_file_of_another_partition_does_not_matter() {
    let mut files = pair();
    files.push(Arc::new(File {
        partition: "day=2".into(),
        ..File::clone(&file("elsewhere"))
    }));
    assert!(planned_drops(&table_of(keyed(), files))[0].is_some());
}

#[test]
fn without_a_key_each_row_expires_by_itself() {
    let merge = MergeSpec {
        expire: keyed().expire,
        ..MergeSpec::default()
    };
    let busy = [planned(NATIVE, 0, ["busy"]), leased(0)];
    let story = given([altered(NATIVE, merge), added(NATIVE, ["a", "b", "busy"])]).and(busy);
    let drops = the_drops(&story).unwrap();
    assert!(drops.deleted.is_none() && drops.expired.is_some());
}

#[test]
fn nothing_is_dropped_unless_the_table_says_so() {
    let silent = MergeSpec {
        deleted: None,
        expire: None,
        ..keyed()
    };
    assert_eq!(the_drops(&table_of(silent, pair())), None);
}

#[test]
fn the_watermark_does_not_move_on_resume() {
    let story = table_of(keyed(), pair()).after(poll(LONER, 1));
    let frozen = story.job(0).drops.clone();
    assert!(frozen.is_some());
    let attempt = story.attempt(0);
    let story = story
        .after(release(attempt, ReleaseReason::Stalled))
        .later(Millis(100_000));
    let lax = MergeSpec {
        lateness: Some(Millis(0)),
        ..keyed()
    };
    let story = story.and([altered(KEYED, lax)]).after(poll(CHIEF, 1));
    assert_ne!(story.attempt(0), attempt, "it was granted again");
    assert_eq!(story.job(0).drops, frozen);
    assert_eq!(story.job(0).merge.lateness, Some(LATENESS));
}

#[test]
fn halves_of_a_failed_job_that_share_keys_drop_nothing() {
    let mut story = table_of(keyed(), pair()).after(poll(LONER, 1));
    for _ in 0..crate::limits::INPUT_FAULTS_MAX {
        let fault = release(story.attempt(0), ReleaseReason::InputFault("torn".into()));
        story = story.after(fault);
        if !story.state.jobs.contains_key(&crate::ids::JobId(0)) {
            break;
        }
        story = story.after(poll(LONER, 1));
    }
    assert_eq!(story.state.jobs.len(), 2);
    assert!(story.state.jobs.values().all(|job| job.drops.is_none()));
}

#[test]
fn a_drop_counts_only_by_a_rule_that_was_frozen() {
    let finish_dropping = |story: &Story, rule: &str| {
        let mut finish = finish(story.job(0), &story.attempt(0));
        let read = finish.finished.reads[1];
        finish.finished.outputs[0].rows -= read.rows;
        finish.finished.outputs[0].digest = finish.finished.reads[0].digest;
        finish.finished.drops = vec![dropped(rule, read.rows, read.digest)];
        Request::Finish(finish)
    };
    let story = table_of(keyed(), pair()).after(poll(LONER, 1));
    for rule in [Dropped::LAST_WRITE_WINS, Dropped::DELETED, Dropped::EXPIRED] {
        let told = story.clone().when(finish_dropping(&story, rule));
        assert_eq!(told.go_on().state.recent[0].rows_dropped, ROWS, "{rule}");
    }
    let mut files = pair();
    files.push(with_keys("torn", 1, 9));
    let story = table_of(keyed(), files)
        .and([quarantined("torn")])
        .after(poll(LONER, 1));
    for rule in [Dropped::DELETED, Dropped::EXPIRED] {
        let told = story.clone().when(finish_dropping(&story, rule));
        told.not_proved("which the job does not have");
    }
}
