//! Files come and go, and evidence is as old as the moment it was begun.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::ids::{JournalId, Sequence};
use crate::job::CancelReason;
use crate::request::{Added, Refusal, Reply, Request};
use crate::table::{Catalog, Rewritten, Rule, TableSpec};

fn new(added: u64) -> Reply {
    Reply::Added(Added {
        added,
        ..Added::default()
    })
}

fn known() -> Reply {
    Reply::Added(Added {
        known: 1,
        ..Added::default()
    })
}

fn later(name: &str) -> Reply {
    Reply::Added(Added {
        later: paths([name]),
        ..Added::default()
    })
}

/// `a` and `b` are replaced by one output; in plain tables that is published too.
fn compacted(table: &str) -> Story {
    let (a, b) = if table == OUTPUT {
        ("src:a", "src:b")
    } else {
        ("a", "b")
    };
    let story = given([added(table, [a, b]), planned(table, 0, [a, b]), leased(0)]);
    let attempt = story.attempt(0);
    let request = Request::Finish(finish(story.job(0), &attempt));
    let story = story.after(request);
    match story.state.jobs.is_empty() {
        true => story,
        false => {
            let token = story.publish_token(0);
            story.after(publish(0, token))
        }
    }
}

fn now(story: &Story) -> Sequence {
    story.state.sequence
}

#[test]
fn files_are_added_once() {
    given([])
        .when(add(PLACE, Sequence(2), ["b", "a"]))
        .then([added(PLACE, ["a", "b"])])
        .replies(new(2))
        .only_once();
    given([added(PLACE, ["a"])])
        .when(add(PLACE, Sequence(2), ["a"]))
        .nothing()
        .replies(known());
}

#[test]
fn a_file_named_twice_in_one_request_is_added_once() {
    given([])
        .when(add(PLACE, Sequence(2), ["a", "a@2", "a"]))
        .then([added(PLACE, ["a"])])
        .replies(new(1));
}

#[test]
fn add_repeated_after_compaction_adds_nothing() {
    for table in [NATIVE, PLACE, OUTPUT] {
        let a = if table == OUTPUT { "src:a" } else { "a" };
        let story = compacted(table);
        let evidence = now(&story);
        let told = story.when(add(table, evidence, [a])).nothing().replies(known());
        told.go_on().when(add(table, Sequence(1), [a])).nothing();
    }
}

#[test]
fn a_replaced_file_stays_known_until_it_is_deleted_and_a_grace_period_more() {
    let story = compacted(NATIVE).later(PAST_GRACE);
    let evidence = now(&story);
    let story = story.when(add(NATIVE, evidence, ["a"])).replies(known()).go_on();
    let story = story
        .after(declare_due())
        .after(report_deleted(paths(["a", "b"])));
    let evidence = now(&story);
    story.clone().when(add(NATIVE, evidence, ["a"])).replies(known());
    let story = story.later(PAST_GRACE);
    let evidence = now(&story);
    story.when(add(NATIVE, evidence, ["a"])).replies(new(1));
}

#[test]
fn evidence_older_than_a_removal_says_nothing() {
    let story = given([added(PLACE, ["a"])]).and([lost(PLACE, ["a"])]);
    let told = story.clone().when(add(PLACE, Sequence(2), ["a"]));
    told.nothing().replies(later("a"));
    story.when(add(PLACE, Sequence(3), ["a"])).replies(new(1));
}

#[test]
fn evidence_older_than_a_replacement_does_not_bring_an_older_version_in() {
    let story = compacted(PLACE);
    story
        .when(add(PLACE, Sequence(2), ["a@0"]))
        .nothing()
        .replies(later("a"));
}

#[test]
fn evidence_older_than_what_is_remembered_is_refused_whole() {
    let story = given([added(PLACE, ["a"])])
        .and([lost(PLACE, ["a"])])
        .later(PAST_GRACE);
    let refusal = Refusal::EvidenceTooOld {
        evidence: Sequence(2),
        oldest: Sequence(4),
    };
    for request in [
        add(PLACE, Sequence(2), ["a", "never seen"]),
        lose(PLACE, Sequence(2), ["a"]),
    ] {
        story.clone().when(request).refused(refusal.clone());
    }
}

#[test]
fn evidence_from_an_entry_that_is_not_written_is_refused() {
    for evidence in [Sequence(3), Sequence(u64::MAX)] {
        given([])
            .when(add(PLACE, evidence, ["a"]))
            .refused(Refusal::EvidenceUnknown(evidence));
    }
}

#[test]
fn an_overwritten_file_is_lost_and_found_anew() {
    given([added(PLACE, ["a"])])
        .when(add(PLACE, Sequence(2), ["a@2"]))
        .then([lost(PLACE, ["a"]), added(PLACE, ["a@2"])])
        .only_once();
}

#[test]
fn an_overwritten_file_that_a_job_holds_waits_for_the_job() {
    given([added(PLACE, ["a"]), planned(PLACE, 0, ["a"])])
        .when(add(PLACE, Sequence(2), ["a@2"]))
        .nothing()
        .replies(later("a"));
}

#[test]
fn a_rewritten_source_is_reported_and_not_taken() {
    let story = compacted(OUTPUT);
    let evidence = now(&story);
    let reply = Reply::Added(Added {
        changed: paths(["src:a"]),
        ..Added::default()
    });
    story
        .when(add(OUTPUT, evidence, ["src:a@2"]))
        .nothing()
        .replies(reply);
}

#[test]
fn a_rewritten_source_is_taken_where_the_newest_wins() {
    let source = Catalog::Output {
        source: "/src".into(),
    };
    let spec = TableSpec {
        rewritten: Rewritten::Add,
        ..TableSpec::clone(&spec(source, Rule::KeepAll))
    };
    let altered = Event::TableAltered {
        table: OUTPUT.into(),
        spec: spec.into(),
    };
    let story = compacted(OUTPUT).and([altered]);
    let evidence = now(&story);
    story
        .when(add(OUTPUT, evidence, ["src:a@2"]))
        .then([added(OUTPUT, ["src:a@2"])]);
}

#[test]
fn a_file_is_let_go_once() {
    given([added(PLACE, ["a", "b"])])
        .when(lose(PLACE, Sequence(2), ["a", "a", "never seen"]))
        .then([lost(PLACE, ["a"])])
        .replies(Reply::Done)
        .only_once();
}

#[test]
fn a_404_older_than_the_file_says_nothing() {
    given([])
        .and([added(PLACE, ["a"])])
        .when(lose(PLACE, Sequence(2), ["a"]))
        .nothing();
}

#[test]
fn a_404_older_than_the_replacement_does_not_forget_what_was_consumed() {
    let story = compacted(OUTPUT);
    story.when(lose(OUTPUT, Sequence(2), ["src:a"])).nothing();
}

#[test]
fn a_consumed_source_is_remembered_until_a_404_and_a_grace_period_more() {
    let story = compacted(OUTPUT).later(PAST_GRACE);
    let evidence = now(&story);
    let gone = Event::ConsumedGone {
        table: OUTPUT.into(),
        paths: paths(["src:a"]),
    };
    let told = story.when(lose(OUTPUT, evidence, ["src:a"])).then([gone]);
    let story = told.only_once().go_on();
    let evidence = now(&story);
    story
        .clone()
        .when(add(OUTPUT, evidence, ["src:a"]))
        .replies(known());
    let story = story.later(PAST_GRACE);
    let evidence = now(&story);
    story.when(add(OUTPUT, evidence, ["src:a"])).replies(new(1));
}

#[test]
fn losing_an_input_ends_its_job() {
    let cancelled = Event::JobCancelled {
        job: crate::ids::JobId(0),
        why: CancelReason::InputsChanged(paths(["a"])),
    };
    given([added(PLACE, ["a", "b"]), planned(PLACE, 0, ["a", "b"]), leased(0)])
        .when(lose(PLACE, Sequence(2), ["a"]))
        .then([cancelled, lost(PLACE, ["a"])])
        .only_once();
}

#[test]
fn until_it_is_published_no_listing_lets_an_output_go() {
    let story = given([added(PLACE, ["a"]), planned(PLACE, 0, ["a"]), leased(0)]);
    let attempt = story.attempt(0);
    let output = attempt.output(JOURNAL, &"".into(), 0);
    let request = Request::Finish(finish(story.job(0), &attempt));
    let story = story.after(request);
    let evidence = now(&story);
    let gone = Request::LoseFiles {
        table: PLACE.into(),
        evidence,
        paths: vec![output],
    };
    story.when(gone).nothing();
}

#[test]
fn a_journal_and_a_table_begin_once() {
    let other = Request::CreateJournal(JournalId(9));
    given([]).when(other).refused(Refusal::JournalExists);
    let same = Request::CreateTable {
        table: PLACE.into(),
        spec: spec(Catalog::InPlace, Rule::KeepAll),
    };
    given([]).when(same).nothing().replies(Reply::Done);
}

#[test]
fn a_table_keeps_its_catalog_its_order_and_its_rule() {
    let other = spec(Catalog::Native, Rule::KeepAll);
    let (table, spec) = (PLACE.into(), other);
    let told = given([]).when(Request::AlterTable { table, spec }).nothing();
    assert!(matches!(
        told.decision.reply,
        Reply::Refused(Refusal::TableDiffers { .. })
    ));
}
