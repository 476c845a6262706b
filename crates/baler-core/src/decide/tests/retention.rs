//! Retention drops a file only when its newest row is past the limit, and nothing that it dropped comes back.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::file::File;
use crate::ids::{JobId, RangeId, TableName};
use crate::job::CancelReason;
use crate::request::{Added, Expired, Refusal, Reply, Request};
use crate::table::{Catalog, MergeSpec, Rule, TableSpec};
use crate::time::{Millis, RowTime, StoreTime, TimeRange};
use std::sync::Arc;

const RETENTION: Millis = Millis(500_000);

fn keeps(retention: Option<Millis>, row_time: &str) -> Event {
    let spec = spec(Catalog::Native, Rule::KeepAll);
    let merge = MergeSpec {
        row_time: Some(row_time.into()),
        ..MergeSpec::clone(&spec.merge)
    };
    let spec = TableSpec {
        merge: merge.into(),
        retention,
        ..TableSpec::clone(&spec)
    };
    Event::TableAltered {
        table: NATIVE.into(),
        spec: spec.into(),
    }
}

/// Rows of these ages, now being about a million.
fn aged(name: &str, oldest: u64, newest: u64) -> Arc<File> {
    let now = StoreTime { unix_ms: 1_000_000 };
    let times = TimeRange {
        min: now.rows_aged(Millis(oldest)),
        max: now.rows_aged(Millis(newest)),
    };
    Arc::new(File {
        times: Some(times),
        ..File::clone(&file(name))
    })
}

fn table_of(files: Vec<Arc<File>>) -> Story {
    given([
        keeps(Some(RETENTION), "t"),
        Event::FilesAdded {
            table: NATIVE.into(),
            files,
        },
    ])
}

fn apply_retention() -> Request {
    Request::ApplyRetention(TableName::from(NATIVE))
}

fn expired<const N: usize>(story: &Story, names: [&str; N]) -> Event {
    let mut open = story.state.clone();
    open.open_batch(Some(StoreTime {
        unix_ms: open.time.unix_ms + 1,
    }));
    Event::FilesExpired {
        table: NATIVE.into(),
        paths: paths(names),
        before: open.time.rows_aged(RETENTION),
    }
}

#[test]
fn a_file_goes_only_when_its_newest_row_is_past_the_limit() {
    let story = table_of(vec![
        aged("old", 900_000, 600_000),
        aged("overlapping", 900_000, 100_000),
        aged("young", 2, 1),
        file("of unknown times"),
    ]);
    let wanted = expired(&story, ["old"]);
    let told = story.when(apply_retention()).then([wanted]).only_once();
    let reply = Expired {
        files: 1,
        rows: ROWS,
        bytes: 100,
        more: false,
    };
    let story = told.replies(Reply::Expired(reply)).go_on();
    assert_eq!(
        story.live(NATIVE),
        paths(["of unknown times", "overlapping", "young"])
    );
}

#[test]
fn units_of_time_cannot_be_mixed_up() {
    let now = StoreTime { unix_ms: 5 };
    assert_eq!(now.rows_aged(Millis(7)), RowTime { unix_ms: -2 });
    assert_eq!(now.rows_aged(Millis(u64::MAX)), RowTime { unix_ms: i64::MIN });
    let end = StoreTime { unix_ms: u64::MAX };
    assert_eq!(end.rows_aged(Millis(0)), RowTime { unix_ms: i64::MAX });
}

#[test]
fn a_dropped_file_is_deleted_after_its_grace_and_only_in_its_version() {
    let story = table_of(vec![aged("old", 900_000, 600_000)]).after(apply_retention());
    story.clone().when(declare_due()).nothing();
    let story = story
        .later(PAST_GRACE)
        .when(declare_due())
        .then([due(NATIVE, ["old"])])
        .go_on();
    let original = story.state.garbage[&path("old")].original.clone().unwrap();
    assert_eq!(original.identity, version("1"));
}

#[test]
fn a_dropped_file_is_not_added_again() {
    let story = table_of(vec![aged("old", 900_000, 600_000)]).after(apply_retention());
    let known = Reply::Added(Added {
        known: 1,
        ..Added::default()
    });
    let evidence = story.state.sequence;
    let story = story
        .when(add(NATIVE, evidence, ["old"]))
        .nothing()
        .replies(known.clone())
        .go_on();
    let story = story.later(PAST_GRACE).after(declare_due());
    let story = story.after(report_deleted(paths(["old"])));
    let evidence = story.state.sequence;
    story
        .when(add(NATIVE, evidence, ["old"]))
        .nothing()
        .replies(known);
}

#[test]
fn a_source_removed_by_retention_in_mid_job_is_not_resurrected() {
    let story = table_of(vec![aged("old", 900_000, 600_000), aged("young", 2, 1)]);
    let story = story.and([planned(NATIVE, 0, ["old", "young"]), leased(0)]);
    let (attempt, output) = (story.attempt(0), output_of(story.job(0), &story.attempt(0), 0));
    let result = Request::Finish(finish(story.job(0), &attempt));
    let cancelled = Event::JobCancelled {
        job: JobId(0),
        why: CancelReason::InputsExpired(paths(["old"])),
    };
    let wanted = [cancelled, expired(&story, ["old"])];
    let story = story.when(apply_retention()).then(wanted).go_on();
    let refusal = Refusal::NoSuchLease {
        job: JobId(0),
        range: RangeId::Keys(0),
    };
    let story = story.when(result).refused(refusal).go_on();
    assert_eq!(story.live(NATIVE), paths(["young"]));
    let swept = story.when(sweep(attempt, [output.path.as_ref()]));
    swept.then([due(NATIVE, [output.path.as_ref()])]);
}

#[test]
fn a_pinned_version_keeps_what_retention_dropped() {
    let story = table_of(vec![aged("old", 900_000, 600_000)]);
    let story = story.after(pin(NATIVE, Millis(900_000)));
    let pinned = story.state.sequence;
    let story = story.after(apply_retention()).later(PAST_GRACE);
    story.clone().when(declare_due()).nothing();
    assert_eq!(story.state.files_at(&NATIVE.into(), pinned).unwrap().len(), 1);
}

#[test]
fn outputs_know_their_times_even_if_nobody_says_so() {
    let story = table_of(vec![aged("x", 900_000, 600_000), aged("y", 800_000, 550_000)]);
    let story = story.and([planned(NATIVE, 0, ["x", "y"]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story.after(request);
    let output = story.table(NATIVE).files.values().next().unwrap().clone();
    let wanted = aged("x", 900_000, 550_000);
    assert_eq!(output.times, wanted.times);
}

#[test]
fn times_of_another_column_are_forgotten() {
    let story = table_of(vec![aged("old", 900_000, 600_000)]);
    let story = story.and([keeps(Some(RETENTION), "other")]);
    story.when(apply_retention()).nothing();
    // Also those that a job under way reads from the old column.
    let story = table_of(vec![aged("old", 900_000, 600_000)]).and([planned(NATIVE, 0, ["old"]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = story.and([keeps(Some(RETENTION), "other")]).after(request);
    story.when(apply_retention()).nothing();
}

/// The same table with a key.
fn keyed_table_of(files: Vec<Arc<File>>) -> Story {
    let rule = Rule::LastWriteWins {
        key: vec!["k".into()],
        version: "v".into(),
    };
    let spec = spec(Catalog::Native, rule);
    let merge = MergeSpec {
        row_time: Some("t".into()),
        lateness: Some(Millis(1_000)),
        ..MergeSpec::clone(&spec.merge)
    };
    let spec = TableSpec {
        merge: merge.into(),
        retention: Some(RETENTION),
        ..TableSpec::clone(&spec)
    };
    let altered = Event::TableAltered {
        table: NATIVE.into(),
        spec: spec.into(),
    };
    let files = Event::FilesAdded {
        table: NATIVE.into(),
        files,
    };
    given([altered, files])
}

#[test]
fn with_a_key_nothing_that_a_dropped_row_hid_comes_to_light() {
    // The tombstone of a row at 700,000 lies in a file that is past the limit; the row's own file is not.
    let tombstone = || aged("tombstone", 650_000, 600_000);
    let story = keyed_table_of(vec![tombstone(), aged("hidden row", 700_000, 100)]);
    story.when(apply_retention()).nothing();
    // One that stays for that reason keeps another whose rows hide its own.
    let story = keyed_table_of(vec![
        aged("mixed", 640_000, 100),
        aged("stays", 800_000, 630_000),
        aged("hides", 790_000, 780_000),
    ]);
    story.when(apply_retention()).nothing();
    // Where all that stays is newer, or nothing stays, old files go.
    let story = keyed_table_of(vec![tombstone(), aged("newer", 500_000, 100)]);
    let wanted = expired(&story, ["tombstone"]);
    story.when(apply_retention()).then([wanted]);
    let story = keyed_table_of(vec![tombstone(), aged("older", 900_000, 700_000)]);
    let wanted = expired(&story, ["older", "tombstone"]);
    story.when(apply_retention()).then([wanted]);
    // A file that nobody could read may hold anything.
    let unread = Event::FilesQuarantined {
        table: NATIVE.into(),
        files: vec![mark("unread", "torn")],
    };
    let story = keyed_table_of(vec![tombstone()]).and([unread]);
    story.when(apply_retention()).nothing();
}

#[test]
fn retention_is_asked_for_and_for_native_tables_only() {
    for table in [NATIVE, PLACE] {
        let request = Request::ApplyRetention(table.into());
        given([])
            .when(request)
            .refused(Refusal::NoRetention(table.into()));
    }
}
