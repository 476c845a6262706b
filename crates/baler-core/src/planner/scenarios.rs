//! What policy `leveled` does, as text: files in, jobs and reasons out. The target is 100 bytes, so a file is small
//! below 50 and a job holds 1,600.

use insta::{assert_debug_snapshot, assert_snapshot};

use super::simulator::{World, keyed, sorted, unsorted};
use super::text::{parse, show_choice};
use super::{LeveledPolicy, Policy};
use crate::file::File;
use crate::table::{Leveled, MergeSpec};
use crate::time::StoreTime;

/// The choice for these files, with default settings.
fn plan(merge: MergeSpec, text: &str) -> String {
    plan_with(&Leveled::default(), 0, merge, text)
}

/// A day after the files were written.
fn plan_when_old(merge: MergeSpec, text: &str) -> String {
    let settings = Leveled::default();
    plan_with(&settings, settings.age.0, merge, text)
}

fn plan_with(settings: &Leveled, now_ms: u64, merge: MergeSpec, text: &str) -> String {
    let (files, busy) = parse(text);
    let mut world = World::new(merge, files);
    world.busy = busy;
    world.now = StoreTime { unix_ms: now_ms };
    let view = world.view();
    show_choice(&view, &LeveledPolicy::new(settings).choose(&view))
}

/// Plans and merges until nothing is left to do; the files that are left.
fn merged_to_rest(merge: MergeSpec, text: &str) -> World {
    let mut world = World::new(merge, parse(text).0);
    let settings = Leveled::default();
    loop {
        let choice = LeveledPolicy::new(&settings).choose(&world.view());
        if choice.jobs.is_empty() {
            break;
        }
        choice.jobs.iter().for_each(|job| drop(world.run(job)));
    }
    world
}

#[test]
fn without_a_sort_key_all_small_files_are_one_job() {
    assert_snapshot!(plan(unsorted(), "
        a L0 10 [?]
        b L0 60 [?]
        c L0 49 [?]
        d L0 1  [?]
    "), @r"
    a c d -> L1: small files
    b: healthy: large enough and overlapping nothing
    ");
}

#[test]
fn one_small_file_is_left_alone() {
    assert_snapshot!(plan_when_old(unsorted(), "a L0 10 [?]"), @"a: small, but with no neighbour to be merged with");
}

#[test]
fn too_few_small_files_wait_until_they_are_old() {
    let settings = Leveled {
        files_per_level: 3,
        ..Leveled::default()
    };
    let text = "
        a L0 10 [?]
        b L0 10 [?] at 1
    ";
    assert_snapshot!(plan_with(&settings, settings.age.0 - 1, unsorted(), text), @r"
    a: waits for company: 2 of 3 small files
    b: waits for company: 2 of 3 small files
    ");
    assert_snapshot!(plan_with(&settings, settings.age.0, unsorted(), text), @"a b -> L1: waited long enough");
}

#[test]
fn a_tail_waits_until_the_new_bytes_are_worth_it() {
    assert_snapshot!(plan(unsorted(), "
        tail L1 40 [?]
        new1 L0 10 [?]
        new2 L0 9  [?]
    "), @r"
    new1 new2 -> L1: small files
    tail: waits: 40 bytes would be rewritten, worth it from 20 new bytes on
    ");
    assert_snapshot!(plan(unsorted(), "
        tail L1 40 [?]
        new1 L0 10 [?]
        new2 L0 10 [?]
    "), @"tail new1 new2 -> L1: small files");
}

#[test]
fn a_first_compaction_is_one_job_over_all_that_overlaps_or_is_small() {
    assert_snapshot!(plan(sorted(), "
        wide1  L0 80 [0..500]
        wide2  L0 90 [100..600]
        small1 L0 10 [700..710]
        small2 L0 10 [720..730]
    "), @"wide1 wide2 small1 small2 -> L1: overlapping keys");
}

#[test]
fn healthy_files_stay_and_nothing_is_merged_across_them() {
    assert_snapshot!(plan(sorted(), "
        a L0 10 [0..9]
        b L0 10 [10..19]
        H L0 90 [20..29]
        c L0 10 [30..39]
        I L0 90 [40..49]
        d L0 10 [50..59]
        e L0 10 [60..69]
    "), @r"
    a b -> L1: small files
    d e -> L1: small files
    H: healthy: large enough and overlapping nothing
    c: small, but with no neighbour to be merged with
    I: healthy: large enough and overlapping nothing
    ");
}

#[test]
fn touching_edges_overlap_only_with_a_keyed_rule() {
    let text = "
        a L0 90 [0..10]
        b L0 90 [10..20]
    ";
    assert_snapshot!(plan(sorted(), text), @r"
    a: healthy: large enough and overlapping nothing
    b: healthy: large enough and overlapping nothing
    ");
    assert_snapshot!(plan(keyed(), text), @"a b -> L1: overlapping keys");
}

#[test]
fn unknown_keys_overlap_everything() {
    assert_snapshot!(plan(sorted(), "
        a L0 90 [0..10]
        b L0 90 [?]
        c L0 90 [20..30]
    "), @"a b c -> L1: overlapping keys");
}

#[test]
fn a_late_file_waits_until_it_weighs_enough_or_is_old() {
    let text = "
        a L2 100 [0..10]
        b L2 100 [10..20]
        c L2 100 [20..30]
        late L0 20 [5..25]
    ";
    assert_snapshot!(plan(sorted(), text), @r"
    a: waits: 300 bytes would be rewritten, worth it from 30 new bytes on
    b: waits: 300 bytes would be rewritten, worth it from 30 new bytes on
    c: waits: 300 bytes would be rewritten, worth it from 30 new bytes on
    late: waits: 300 bytes would be rewritten, worth it from 30 new bytes on
    ");
    assert_snapshot!(plan_when_old(sorted(), text), @"a b c late -> L2: waited long enough");
    assert_snapshot!(plan(sorted(), &text.replace("20 [5", "30 [5")), @"a b c late -> L2: overlapping keys");
}

#[test]
fn late_files_are_merged_with_each_other_while_they_wait() {
    assert_snapshot!(plan(sorted(), "
        a L2 100 [0..10]
        b L2 100 [10..20]
        c L2 100 [20..30]
        late1 L0 5 [5..25]
        late2 L0 5 [6..26]
    "), @r"
    late1 late2 -> L1: overlapping keys
    a: waits: 300 bytes would be rewritten, worth it from 30 new bytes on
    b: waits: 300 bytes would be rewritten, worth it from 30 new bytes on
    c: waits: 300 bytes would be rewritten, worth it from 30 new bytes on
    ");
}

#[test]
fn what_is_worth_it_is_done_though_its_neighbours_wait() {
    assert_snapshot!(plan(sorted(), "
        a L2 100 [0..10]
        b L2 100 [10..20]
        c L2 100 [20..30]
        enough L1 25 [2..8]
        light  L1 1  [7..25]
    "), @r"
    a enough light -> L2: overlapping keys
    b: waits: 300 bytes would be rewritten, worth it from 30 new bytes on
    c: waits: 300 bytes would be rewritten, worth it from 30 new bytes on
    ");
}

#[test]
fn a_cluster_too_large_for_a_job_is_cut_into_stretches() {
    let lines = (0..40).map(|at| format!("f{at:02} L0 100 [{}..{}]\n", at * 10, at * 10 + 15));
    assert_snapshot!(plan(sorted(), &lines.collect::<String>()), @r"
    f00 f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f11 f12 f13 f14 f15 -> L1: overlapping keys
    f16 f17 f18 f19 f20 f21 f22 f23 f24 f25 f26 f27 f28 f29 f30 f31 -> L1: overlapping keys
    f32 f33 f34 f35 f36 f37 f38 f39 -> L1: overlapping keys
    ");
}

#[test]
fn two_files_make_a_job_however_large() {
    assert_snapshot!(plan(sorted(), "
        a L0 90000 [0..10]
        b L0 90000 [5..15]
        c L0 90000 [8..18]
    "), @r"
    a b -> L1: overlapping keys
    c: waits for its turn: together with these jobs it would be too large
    ");
}

#[test]
fn files_that_failed_together_are_tried_with_others() {
    assert_snapshot!(plan(sorted(), "
        a L0 10 [0..10] apart 7
        b L0 10 [5..15] apart 7
    "), @r"
    a: kept apart from a file that it failed together with
    b: kept apart from a file that it failed together with
    ");
    assert_snapshot!(plan(sorted(), "
        a L0 90 [0..10] apart 7
        b L0 10 [20..25] apart 7
        c L0 10 [26..30]
    "), @r"
    b c -> L1: small files
    a: kept apart from a file that it failed together with
    ");
}

#[test]
fn nothing_is_merged_across_a_busy_file() {
    assert_snapshot!(plan(sorted(), "
        a L0 10 [0..10]
        x L0 90 [12..18] busy
        b L0 10 [20..30]
        c L0 10 [17..40]
    "), @r"
    b c -> L1: overlapping keys
    a: small, but with no neighbour to be merged with
    ");
}

#[test]
fn what_one_merge_made_is_not_merged_again() {
    assert_snapshot!(plan_when_old(unsorted(), "
        a L1 40 [?] job 3
        b L1 40 [?] job 3
    "), @r"
    a: merged before with all that it could be merged with
    b: merged before with all that it could be merged with
    ");
    assert_snapshot!(plan_when_old(sorted(), "
        a L1 90 [0..10] job 3
        b L1 90 [0..10] job 3
    "), @r"
    a: merged before with all that it could be merged with
    b: merged before with all that it could be merged with
    ");
}

#[test]
fn what_has_climbed_all_levels_is_merged_for_its_own_sake_only_when_old() {
    let text = "
        a L7 40 [?]
        b L7 40 [?]
    ";
    assert_snapshot!(plan(unsorted(), text), @r"
    a: merged before with all that it could be merged with
    b: merged before with all that it could be merged with
    ");
    assert_snapshot!(plan_when_old(unsorted(), text), @"a b -> L7: small files");
    assert_snapshot!(plan(unsorted(), &format!("{text}\n new L0 1 [?]")), @"a b new -> L7: small files");
}

#[test]
fn a_first_compaction_comes_to_rest() {
    assert_debug_snapshot!(merged_to_rest(keyed(), "
        a L0 30 [0..10]
        b L0 30 [10..20]
        c L0 30 [21..30]
        d L0 30 [100..130]
    "), @r"
    keyed at 0
    job-0001-0000 L1 60 [0..64] job 1 at 0
    job-0001-0001 L1 60 [65..130] job 1 at 0
    ");
}

#[test]
fn a_first_compaction_larger_than_a_job_comes_to_rest_sorted() {
    let lines = (0..40).map(|at| format!("f{at:02} L0 100 [{}..{}]\n", at, at + 900));
    let world = merged_to_rest(sorted(), &lines.collect::<String>());
    let is_sorted = |a: &File| world.files.iter().all(|b| a == b || !world.overlap(a, b));
    assert!(world.files.iter().all(is_sorted), "{world:?}");
    assert_eq!(world.files.len(), 40);
    // 40 targets are more than a job holds, so they are written more than once; but not much more than twice.
    assert_eq!(world.bytes_rewritten, 8_800);
}
