//! What policy `time_window` does, as text, and the laws. Windows are 100 ms long and wait 10 ms for late rows.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::laws::{check_laws, check_trickle};
use super::simulator::{World, keyed, sorted, unsorted};
use super::text::{parse, show_choice};
use super::worlds::a_world;
use super::{Policy, TimeWindowPolicy};
use crate::table::{MergeSpec, TimeWindow};
use crate::time::{Millis, StoreTime};

fn settings() -> TimeWindow {
    TimeWindow {
        window: Millis(100),
        lateness: Millis(10),
        age: Millis(5_000),
    }
}

fn plan_at(now_ms: u64, merge: MergeSpec, text: &str) -> String {
    let (files, busy) = parse(text);
    let mut world = World::new(merge, files);
    world.busy = busy;
    world.now = StoreTime { unix_ms: now_ms };
    let view = world.view();
    show_choice(&view, &TimeWindowPolicy::new(&settings()).choose(&view))
}

#[test]
fn a_window_is_merged_once_its_end_and_the_lateness_are_past() {
    let text = "
        a L0 10 [?] times 100 120
        b L0 10 [?] times 150 199
        c L0 10 [?] times 200 201
        d L0 10 [?] times 202 203
    ";
    assert_snapshot!(plan_at(210, unsorted(), text), @r"
    a: waits until its window closes, at 210 ms
    b: waits until its window closes, at 210 ms
    c: waits until its window closes, at 310 ms
    d: waits until its window closes, at 310 ms
    ");
    assert_snapshot!(plan_at(211, unsorted(), text), @r"
    a b -> L1: small files
    c: waits until its window closes, at 310 ms
    d: waits until its window closes, at 310 ms
    ");
    assert_snapshot!(plan_at(311, unsorted(), text), @r"
    a b -> L1: small files
    c d -> L1: small files
    ");
}

#[test]
fn a_file_that_spans_windows_belongs_to_its_newest_row() {
    assert_snapshot!(plan_at(1_000, unsorted(), "
        wide L0 10 [?] times 0 350
        a    L0 10 [?] times 10 20
        b    L0 10 [?] times 310 320
    "), @r"
    wide b -> L1: small files
    a: small, but with no neighbour to be merged with
    ");
}

#[test]
fn windows_know_nothing_of_each_other() {
    assert_snapshot!(plan_at(1_000, sorted(), "
        a1 L0 90 [0..100]  times 0 10
        a2 L0 90 [50..150] times 20 30
        b1 L0 90 [0..100]  times 100 110
        b2 L0 10 [200..300] times 120 130
        busy L0 90 [0..500] times 140 150 busy
    "), @r"
    a1 a2 -> L1: overlapping keys
    b1: waits for files that are being merged now
    b2: waits for files that are being merged now
    ");
}

#[test]
fn late_files_do_not_rewrite_a_closed_window_each_time() {
    let text = "
        whole L1 40 [?] times 0 99
        late1 L0 5  [?] times 10 20
        late2 L0 5  [?] times 30 40
    ";
    assert_snapshot!(plan_at(1_000, unsorted(), text), @r"
    late1 late2 -> L1: small files
    whole: waits: 40 bytes would be rewritten, worth it from 20 new bytes on
    ");
    assert_snapshot!(plan_at(1_000, unsorted(), &text.replace("late2 L0 5 ", "late2 L0 15 ")), @"whole late1 late2 -> L1: small files");
    assert_snapshot!(plan_at(5_000, unsorted(), text), @"whole late1 late2 -> L1: waited long enough");
}

#[test]
fn files_without_times_are_a_group_of_their_own() {
    assert_snapshot!(plan_at(1_000, unsorted(), "
        a L0 10 [?]
        b L0 10 [?]
        c L0 10 [?] times 0 10
        swapped L0 10 [?] times 10 0
    "), @r"
    a b swapped -> L1: small files
    c: small, but with no neighbour to be merged with
    ");
}

#[test]
fn rows_from_the_future_wait_for_it() {
    assert_snapshot!(plan_at(1_000, unsorted(), "
        a L0 10 [?] times 0 9223372036854775807
        b L0 10 [?] times 0 9223372036854775807
    "), @r"
    a: waits until its window closes, at 9223372036854775910 ms
    b: waits until its window closes, at 9223372036854775910 ms
    ");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn time_window_obeys_the_laws(
        mut world in a_world(),
        (window, lateness, age) in (0u64..900, 0u64..500, 1u64..1_000),
    ) {
        let settings = TimeWindow { window: Millis(window), lateness: Millis(lateness), age: Millis(age) };
        world.windows = Some(settings.clone());
        let checked = check_laws(&TimeWindowPolicy::new(&settings), &world);
        prop_assert!(checked.is_ok(), "{checked:?}");
    }
}

#[test]
fn a_growing_tail_is_not_rewritten_each_time() {
    let policy = TimeWindowPolicy::new(&TimeWindow {
        age: Millis(u64::MAX),
        ..settings()
    });
    for merge in [unsorted(), sorted(), keyed()] {
        let merge = MergeSpec {
            target_bytes: 10_000,
            ..merge
        };
        check_trickle(&policy, &merge, 600, 2, |step| (2 * step, 2 * step + 1)).expect("logarithmic");
    }
}
