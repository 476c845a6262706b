//! Tables begin, change and go.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::ids::{JobId, TableName};
use crate::job::CancelReason;
use crate::request::{Refusal, Reply, Request};
use crate::state::State;
use crate::table::{Catalog, Expire, MergeSpec, Policy, Replaced, Rule, TableSpec};
use crate::time::Millis;
use std::sync::Arc;

fn create(name: &str, spec: TableSpec) -> Request {
    Request::CreateTable {
        table: name.into(),
        spec: spec.into(),
    }
}

fn native(change: impl FnOnce(&mut TableSpec, &mut MergeSpec)) -> TableSpec {
    let mut spec = TableSpec::clone(&spec(Catalog::Native, Rule::KeepAll));
    let mut merge = MergeSpec::clone(&spec.merge);
    change(&mut spec, &mut merge);
    spec.merge = Arc::new(merge);
    spec
}

fn by_key() -> Rule {
    Rule::LastWriteWins {
        key: vec!["k".into()],
        version: "v".into(),
    }
}

/// A journal without tables.
fn empty() -> State {
    let mut state = State::default();
    state.open_batch(None);
    crate::apply::apply_event(&mut state, &Event::JournalCreated { journal: JOURNAL });
    state
}

#[track_caller]
fn refused(spec: TableSpec, because: &str) {
    let reply = crate::decide(&empty(), &create("t", spec)).reply;
    match reply {
        Reply::Refused(Refusal::WrongSettings { what, .. }) => assert!(what.contains(because), "{what}"),
        other => panic!("not refused, but {other:?}"),
    }
}

#[test]
fn settings_that_cannot_be_are_refused_with_the_reason() {
    refused(native(|spec, _| spec.retention = Some(Millis(1))), "rows' time");
    let plain = TableSpec {
        catalog: Catalog::InPlace,
        ..native(|spec, merge| {
            spec.retention = Some(Millis(1));
            merge.row_time = Some("t".into());
        })
    };
    refused(plain, "native tables");
    refused(native(|_, merge| merge.deleted = Some("d".into())), "needs a key");
    let no_time = |_: &mut TableSpec, merge: &mut MergeSpec| {
        merge.rule = by_key();
        merge.deleted = Some("d".into());
    };
    refused(native(no_time), "rows' time");
    let not_late = |_: &mut TableSpec, merge: &mut MergeSpec| {
        merge.rule = by_key();
        merge.deleted = Some("d".into());
        merge.row_time = Some("t".into());
    };
    refused(native(not_late), "how late");
    let other_column = |_: &mut TableSpec, merge: &mut MergeSpec| {
        merge.rule = by_key();
        merge.lateness = Some(Millis(1));
        merge.row_time = Some("t".into());
        merge.expire = Some(Expire {
            column: "other".into(),
            after: Millis(1),
        });
    };
    refused(native(other_column), "with a key");
    refused(native(|_, merge| merge.row_time = Some("".into())), "no name");
    let long: Arc<str> = "x".repeat(2_000).into();
    refused(native(|_, merge| merge.row_time = Some(long)), "1,000 bytes");
    for prefix in ["kept", "day=1/kept", "_baler/kept"] {
        let keep = Replaced::Keep {
            prefix: prefix.into(),
        };
        refused(native(|spec, _| spec.replaced = keep), "begins with");
    }
    for prefix in ["_kept", "a/.kept", "s3://other/kept"] {
        let keep = Replaced::Keep {
            prefix: prefix.into(),
        };
        let request = create("t", native(|spec, _| spec.replaced = keep));
        assert_eq!(crate::decide(&empty(), &request).reply, Reply::Done);
    }
}

#[test]
fn a_name_that_cannot_be_part_of_a_path_is_refused() {
    for name in ["", "a/b", "..", "_baler", "a b"] {
        let reply = crate::decide(&empty(), &create(name, native(|_, _| {}))).reply;
        assert!(
            matches!(reply, Reply::Refused(Refusal::WrongSettings { .. })),
            "{name}"
        );
    }
}

#[test]
fn plain_and_native_tables_do_not_share_a_root() {
    for (first, second) in [
        (Catalog::Native, Catalog::InPlace),
        (Catalog::InPlace, Catalog::Native),
    ] {
        let mut state = empty();
        let table = TableName::from("first");
        let spec = |catalog: &Catalog| TableSpec::clone(&spec(catalog.clone(), Rule::KeepAll));
        let created = Event::TableCreated {
            table,
            spec: spec(&first).into(),
        };
        crate::apply::apply_event(&mut state, &created);
        let same = crate::decide(&state, &create("second", spec(&first))).reply;
        assert_eq!(same, Reply::Done);
        let other = crate::decide(&state, &create("second", spec(&second))).reply;
        assert_eq!(other, Reply::Refused(Refusal::MixedRoot("second".into())));
    }
}

#[test]
fn a_table_with_files_keeps_its_order_and_key_but_not_its_times() {
    let story = given([added(KEYED, ["a"])]);
    let alter = |merge: MergeSpec| {
        let spec = TableSpec {
            merge: merge.into(),
            retention: Some(Millis(5)),
            ..TableSpec::clone(&spec(Catalog::Native, by_key()))
        };
        Request::AlterTable {
            table: KEYED.into(),
            spec: spec.into(),
        }
    };
    let timed = MergeSpec {
        rule: by_key(),
        row_time: Some("t".into()),
        lateness: Some(Millis(1)),
        deleted: Some("d".into()),
        ..MergeSpec::default()
    };
    story.clone().when(alter(timed.clone())).replies(Reply::Done);
    let unkeyed = MergeSpec {
        rule: Rule::KeepAll,
        deleted: None,
        ..timed
    };
    let told = story.when(alter(unkeyed)).nothing();
    let refused = matches!(told.decision.reply, Reply::Refused(Refusal::TableDiffers { .. }));
    assert!(refused);
}

fn drop_table(name: &str) -> Request {
    Request::DropTable(name.into())
}

fn dropping() -> Story {
    given([added(NATIVE, ["a", "b"]), planned(NATIVE, 0, ["a"]), leased(0)])
}

#[test]
fn a_dropped_tables_jobs_end_and_its_files_go_after_their_grace() {
    let story = dropping();
    let attempt = story.attempt(0);
    let result = Request::Finish(finish(story.job(0), &attempt));
    let cancelled = Event::JobCancelled {
        job: JobId(0),
        why: CancelReason::TableDropped,
    };
    let dropped = Event::TableDropped { table: NATIVE.into() };
    let story = story.when(drop_table(NATIVE)).then([cancelled, dropped]).go_on();
    let refused = story.clone().when(result).nothing();
    assert!(matches!(
        refused.decision.reply,
        Reply::Refused(Refusal::NoSuchLease { .. })
    ));
    story.clone().when(declare_due()).nothing();
    let story = story.later(PAST_GRACE);
    story.when(declare_due()).then([due(NATIVE, ["a", "b"])]);
}

#[test]
fn a_dropped_table_answers_nothing_any_more() {
    let story = dropping().after(drop_table(NATIVE));
    let evidence = story.state.sequence;
    for request in [
        add(NATIVE, evidence, ["c"]),
        pin(NATIVE, GRACE),
        drop_table(NATIVE),
        Request::ApplyRetention(NATIVE.into()),
        create(NATIVE, native(|_, _| {})),
    ] {
        story
            .clone()
            .when(request)
            .refused(Refusal::BeingDropped(NATIVE.into()));
    }
    let refusal = story.state.files_at(&NATIVE.into(), story.state.sequence);
    assert_eq!(refusal, Err(Refusal::BeingDropped(NATIVE.into())));
}

#[test]
fn a_pinned_version_of_a_dropped_table_is_read_to_the_end() {
    let story = dropping().after(pin(NATIVE, Millis(200_000)));
    let version = story.state.sequence;
    let story = story.after(drop_table(NATIVE)).later(PAST_GRACE);
    story.clone().when(declare_due()).nothing();
    assert_eq!(story.state.files_at(&NATIVE.into(), version).unwrap().len(), 2);
    let story = story.later(Millis(200_000));
    story.when(declare_due()).then([due(NATIVE, ["a", "b"])]);
}

#[test]
fn the_name_is_free_again_when_nothing_is_left() {
    let story = dropping();
    let attempt = story.attempt(0);
    let story = story
        .after(drop_table(NATIVE))
        .later(PAST_GRACE)
        .after(declare_due());
    let story = story.after(report_deleted(paths(["a", "b"]))).later(PAST_GRACE);
    assert!(
        story.table(NATIVE).is_dropped(),
        "its attempt may have left something"
    );
    let story = story
        .after(sweep(attempt, []))
        .later(PAST_GRACE)
        .after(sweep(attempt, []));
    let story = story.later(Millis(1));
    assert!(!story.state.tables.contains_key(&TableName::from(NATIVE)));
    assert_eq!(
        story
            .state
            .files_at(&NATIVE.into(), story.state.sequence)
            .unwrap_err(),
        Refusal::NoSuchTable(NATIVE.into())
    );
}

#[test]
fn a_dropped_table_whose_files_stay_in_place_is_forgotten_too() {
    let remember = Event::TableAltered {
        table: NATIVE.into(),
        spec: native(|spec, _| spec.replaced = Replaced::Remember).into(),
    };
    let story = given([remember, added(NATIVE, ["a"])]).after(drop_table(NATIVE));
    let story = story.later(PAST_GRACE).after(declare_due()).later(PAST_GRACE);
    assert!(!story.state.tables.contains_key(&TableName::from(NATIVE)));
}

#[test]
fn a_plain_folder_is_not_balers_to_drop() {
    for table in [PLACE, OUTPUT] {
        let told = given([]).when(drop_table(table));
        told.refused(Refusal::CannotDrop(table.into()));
    }
}

#[test]
fn windows_need_a_time_and_versions_of_a_key_must_meet() {
    let by_windows = |row_time: Option<&str>, key: Option<&str>| {
        let rule = key.map_or(Rule::KeepAll, |key| Rule::LastWriteWins {
            key: vec!["k".into(), key.into()],
            version: "v".into(),
        });
        let merge = MergeSpec {
            row_time: row_time.map(Into::into),
            rule,
            ..MergeSpec::default()
        };
        let spec = TableSpec {
            policy: Policy::TimeWindow(Default::default()),
            merge: merge.into(),
            ..TableSpec::clone(&spec(Catalog::Native, Rule::KeepAll))
        };
        let told = given([]).when(Request::AlterTable {
            table: NATIVE.into(),
            spec: spec.into(),
        });
        matches!(told.decision.reply, Reply::Refused(Refusal::WrongSettings { .. }))
    };
    assert!(by_windows(None, None), "no time to go by");
    assert!(by_windows(Some("t"), Some("other")), "versions in two windows");
    assert!(!by_windows(Some("t"), Some("t")));
    assert!(!by_windows(Some("t"), None));
}
