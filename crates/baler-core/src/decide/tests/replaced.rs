//! What becomes of replaced files where nothing can be renamed out of sight.

use super::fixtures::*;
use super::story::{Story, given};
use crate::event::Event;
use crate::garbage::Stage;
use crate::names;
use crate::request::{Added, Reply, Request};
use crate::table::{Catalog, Replaced, Rule, TableSpec};

/// `a` and `b` are replaced by a published output.
fn replaced(table: &str) -> Story {
    let story = given([added(table, ["a", "b"]), planned(table, 0, ["a", "b"]), leased(0)]);
    publishes(story, 0)
}

fn publishes(story: Story, job: u64) -> Story {
    let request = Request::Finish(finish(story.job(job), &story.attempt(job)));
    let story = story.after(request);
    let token = story.publish_token(job);
    story.after(publish(job, token))
}

fn remembers(story: Story, table: &str, catalog: Catalog) -> Story {
    let spec = TableSpec {
        replaced: Replaced::Remember,
        ..TableSpec::clone(&spec(catalog, Rule::KeepAll))
    };
    story.and([Event::TableAltered {
        table: table.into(),
        spec: spec.into(),
    }])
}

fn added_nothing() -> Reply {
    Reply::Added(Added {
        known: 1,
        ..Added::default()
    })
}

#[test]
fn on_a_store_replaced_files_are_due_at_once_in_the_version_that_was_consumed() {
    let story = replaced(STORE);
    assert_eq!(story.state.garbage[&path("a")].stage, Stage::Ripe);
    let told = story.when(declare_due());
    let story = told.then([due(STORE, ["a", "b"])]).only_once().go_on();
    let original = story.state.garbage[&path("a")].original.clone().unwrap();
    assert_eq!((original.path, original.identity), (path("a"), version("1")));
}

#[test]
fn nothing_is_due_before_the_outputs_are_published() {
    let story = given([added(STORE, ["a"]), planned(STORE, 0, ["a"]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    story
        .after(request)
        .later(PAST_GRACE)
        .when(declare_due())
        .nothing();
}

#[test]
fn a_version_written_before_the_old_one_is_due_is_a_new_file() {
    let story = replaced(STORE);
    let evidence = story.state.sequence;
    let story = story
        .when(add(STORE, evidence, ["a@2"]))
        .then([added(STORE, ["a@2"])])
        .go_on();
    story.when(declare_due()).then([due(STORE, ["b"])]);
}

#[test]
fn a_version_written_while_the_old_one_is_due_waits_for_the_deletion() {
    let story = replaced(STORE).after(declare_due());
    let evidence = story.state.sequence;
    let later = Reply::Added(Added {
        later: paths(["a"]),
        ..Added::default()
    });
    let story = story
        .when(add(STORE, evidence, ["a@2"]))
        .nothing()
        .replies(later)
        .go_on();
    let story = story.after(Request::ReportDeleted(paths(["a", "b"])));
    let evidence = story.state.sequence;
    let told = story.when(add(STORE, evidence, ["a", "a@2"]));
    told.then([added(STORE, ["a@2"])]).only_once();
}

#[test]
fn a_listing_from_before_the_deletion_brings_nothing_back() {
    let story = replaced(STORE);
    let evidence = story.state.sequence;
    let story = story.after(declare_due());
    let story = story.after(Request::ReportDeleted(paths(["a", "b"])));
    story.when(add(STORE, evidence, ["a", "b"])).nothing();
}

#[test]
fn a_store_that_cannot_delete_by_condition_keeps_the_version_as_consumed() {
    let story = replaced(REMEMBERING).later(PAST_GRACE);
    assert!(story.state.garbage.is_empty());
    story.clone().when(declare_due()).nothing();
    let evidence = story.state.sequence;
    let again = story.clone().when(add(REMEMBERING, evidence, ["a"]));
    again.nothing().replies(added_nothing());
    let other = story.when(add(REMEMBERING, evidence, ["a@2"]));
    other.then([added(REMEMBERING, ["a@2"])]);
}

#[test]
fn what_baler_named_is_deleted_on_every_store() {
    let story = replaced(REMEMBERING);
    let output = story.live(REMEMBERING)[0].path.to_string();
    let story = story.and([planned(REMEMBERING, 1, [output.as_str()]), leased(1)]);
    let story = publishes(story, 1);
    story
        .when(declare_due())
        .then([due(REMEMBERING, [output.as_str()])]);
}

#[test]
fn a_native_table_remembers_foreign_versions_that_nothing_can_delete() {
    let story = given([added(NATIVE, ["a"]), planned(NATIVE, 0, ["a"]), leased(0)]);
    let request = Request::Finish(finish(story.job(0), &story.attempt(0)));
    let story = remembers(story.after(request), NATIVE, Catalog::Native).later(PAST_GRACE);
    let left = Event::LeftInPlace { paths: paths(["a"]) };
    let story = story.when(declare_due()).then([left]).only_once().go_on();
    let story = story.later(PAST_GRACE).later(PAST_GRACE);
    let evidence = story.state.sequence;
    let told = story.when(add(NATIVE, evidence, ["a"]));
    told.nothing().replies(added_nothing());
}

#[test]
fn names_of_kept_and_moved_files_differ_by_the_entry_that_replaced_them() {
    let (first, second) = (crate::ids::Sequence(7), crate::ids::Sequence(8));
    let file = path("day=1/a.parquet");
    assert_eq!(names::kept("_kept/", first, &file), "_kept/7/day=1/a.parquet");
    let aside = names::aside_when_due(first, &file);
    assert_eq!(&*aside.path, "_baler/aside/due-7/day=1/a.parquet.aside");
    assert_ne!(aside, names::aside_when_due(second, &file));
}
