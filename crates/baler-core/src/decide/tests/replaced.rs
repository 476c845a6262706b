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
    published_now(merges(story, job), job)
}

/// The job's outputs take its inputs' place, and are not published yet.
fn merges(story: Story, job: u64) -> Story {
    let request = Request::Finish(finish(story.job(job), &story.attempt(job)));
    story.after(request)
}

fn published_now(story: Story, job: u64) -> Story {
    let token = story.publish_token(job);
    story.after(publish(job, token))
}

/// `a` and `b` are merged, and while that is not published yet, another version of `a` is live.
fn overwritten_meanwhile() -> Story {
    let story = given([added(STORE, ["a", "b"]), planned(STORE, 0, ["a", "b"]), leased(0)]);
    merges(story, 0).and([added(STORE, ["a@2"])])
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

fn look_again<const N: usize>(later: [&str; N]) -> Reply {
    Reply::Added(Added {
        later: paths(later),
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
fn a_version_written_before_the_outputs_are_published_waits_for_that() {
    let story = given([added(STORE, ["a", "b"]), planned(STORE, 0, ["a", "b"]), leased(0)]);
    let story = merges(story, 0);
    let evidence = story.state.sequence;
    let told = story.when(add(STORE, evidence, ["a@2"]));
    let story = told.nothing().replies(look_again(["a"])).go_on();
    let story = published_now(story, 0);
    let evidence = story.state.sequence;
    let told = story.when(add(STORE, evidence, ["a@2"]));
    let story = told.then([added(STORE, ["a@2"])]).go_on();
    story.when(declare_due()).then([due(STORE, ["b"])]);
}

#[test]
fn it_waits_also_when_the_old_version_was_seen_to_be_gone() {
    let story = given([added(STORE, ["a", "b"]), planned(STORE, 0, ["a", "b"]), leased(0)]);
    let story = merges(story, 0);
    let evidence = story.state.sequence;
    let story = story.after(lose(STORE, evidence, ["a"]));
    let evidence = story.state.sequence;
    let told = story.when(add(STORE, evidence, ["a@2"]));
    told.nothing().replies(look_again(["a"]));
}

#[test]
fn a_changed_source_waits_for_nothing() {
    let story = given([added(OUTPUT, ["src:a"]), planned(OUTPUT, 0, ["src:a"]), leased(0)]);
    let story = merges(story, 0);
    let evidence = story.state.sequence;
    let changed = Reply::Added(Added {
        changed: paths(["src:a"]),
        ..Added::default()
    });
    story
        .when(add(OUTPUT, evidence, ["src:a@2"]))
        .nothing()
        .replies(changed);
}

/// Journals of older programs hold such entries.
#[test]
fn a_replaced_version_is_no_garbage_for_ever_under_a_name_that_is_live_in_another() {
    let story = published_now(overwritten_meanwhile(), 0);
    assert_eq!(story.table(STORE).files[&path("a")].identity, version("2"));
    let left = Event::LeftInPlace { paths: paths(["a"]) };
    let told = story.when(declare_due()).then([due(STORE, ["b"]), left]);
    let story = told.go_on();
    let story = story.after(report_deleted(paths(["b"])));
    assert!(story.state.garbage.is_empty());
    story.clone().when(declare_due()).nothing();
    assert_eq!(story.table(STORE).files[&path("a")].identity, version("2"));
    let evidence = story.state.sequence;
    let again = story.when(add(STORE, evidence, ["a"]));
    again.nothing().replies(added_nothing());
}

/// The same, where the new version has been merged on as well: only that version may be on the way out.
#[test]
fn a_replaced_version_is_no_garbage_where_another_one_was_consumed_since() {
    let story = overwritten_meanwhile().and([planned(STORE, 1, ["a"]), leased(1)]);
    let story = published_now(merges(story, 1), 0);
    let left = Event::LeftInPlace { paths: paths(["a"]) };
    let story = story.when(declare_due()).then([due(STORE, ["b"]), left]).go_on();
    let story = published_now(story, 1);
    let original = story.state.garbage[&path("a")].original.clone();
    assert_eq!(original.map(|original| original.identity), Some(version("2")));
    story.when(declare_due()).then([due(STORE, ["a"])]);
}

#[test]
fn a_version_written_while_the_old_one_is_due_waits_for_the_deletion() {
    let story = replaced(STORE).after(declare_due());
    let evidence = story.state.sequence;
    let story = story
        .when(add(STORE, evidence, ["a@2"]))
        .nothing()
        .replies(look_again(["a"]))
        .go_on();
    let story = story.after(report_deleted(paths(["a", "b"])));
    let evidence = story.state.sequence;
    let told = story.when(add(STORE, evidence, ["a", "a@2"]));
    told.then([added(STORE, ["a@2"])]).only_once();
}

#[test]
fn a_listing_from_before_the_deletion_brings_nothing_back() {
    let story = replaced(STORE);
    let evidence = story.state.sequence;
    let story = story.after(declare_due());
    let story = story.after(report_deleted(paths(["a", "b"])));
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
fn who_deleted_from_an_older_list_says_nothing_of_a_version_that_came_since() {
    let story = replaced(STORE).after(declare_due());
    let listed = story.state.sequence;
    let slow = Request::ReportDeleted {
        listed,
        paths: paths(["a"]),
    };
    // Another collector is quicker; the name is used again, merged again, and due again.
    let story = story.after(report_deleted(paths(["a", "b"])));
    let evidence = story.state.sequence;
    let story = story
        .after(add(STORE, evidence, ["a@2"]))
        .and([planned(STORE, 1, ["a"]), leased(1)]);
    let story = publishes(story, 1).after(declare_due());
    let story = story.when(slow).nothing().go_on();
    let original = story.state.garbage[&path("a")].original.clone().unwrap();
    assert_eq!(original.identity, version("2"));
    // Forgotten, it would be taken for a new file, and its rows would be there twice.
    let evidence = story.state.sequence;
    let again = story.clone().when(add(STORE, evidence, ["a@2"]));
    again.nothing().replies(added_nothing());
    let gone = Event::Deleted { paths: paths(["a"]) };
    story.when(report_deleted(paths(["a"]))).then([gone]);
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
