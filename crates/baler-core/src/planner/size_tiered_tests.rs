//! What policy `size_tiered` does, as text, and the laws. The target is 100 bytes: tier 1 begins at 50, tier 2 at 12,
//! tier 3 at 3.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::laws::{check_laws, check_trickle};
use super::simulator::{KEY_END, World, keyed, sorted, unsorted};
use super::text::{parse, show_choice};
use super::worlds::a_world;
use super::{Policy, SizeTieredPolicy};
use crate::table::{MergeSpec, SizeTiered};
use crate::time::{Millis, StoreTime};

fn plan_at(now_ms: u64, merge: MergeSpec, text: &str) -> String {
    let (files, busy) = parse(text);
    let mut world = World::new(merge, files);
    world.busy = busy;
    world.now = StoreTime { unix_ms: now_ms };
    let view = world.view();
    show_choice(
        &view,
        &SizeTieredPolicy::new(&SizeTiered::default()).choose(&view),
    )
}

fn plan(merge: MergeSpec, text: &str) -> String {
    plan_at(0, merge, text)
}

fn plan_when_old(merge: MergeSpec, text: &str) -> String {
    plan_at(SizeTiered::default().age.0, merge, text)
}

#[test]
fn files_of_one_size_are_merged_once_there_are_enough() {
    assert_snapshot!(plan(unsorted(), "
        a1 L0 20 [?]
        b1 L0 4  [?]
        a2 L0 30 [?]
        b2 L0 5  [?]
        a3 L0 40 [?]
        b3 L0 6  [?]
        a4 L0 13 [?]
        large L0 60 [?]
    "), @r"
    a1 a2 a3 a4 -> L1: small files
    b1: waits for company: 3 of 4 files of its size
    b2: waits for company: 3 of 4 files of its size
    b3: waits for company: 3 of 4 files of its size
    large: healthy: large enough and overlapping nothing
    ");
}

#[test]
fn an_idle_partition_flushes_when_its_files_are_old() {
    let text = "
        a L0 20 [?]
        b L0 4  [?]
        large L0 60 [?]
    ";
    assert_snapshot!(plan(unsorted(), text), @r"
    a: waits for company: 1 of 4 files of its size
    b: waits for company: 1 of 4 files of its size
    large: healthy: large enough and overlapping nothing
    ");
    assert_snapshot!(plan_when_old(unsorted(), text), @r"
    a b -> L1: waited long enough
    large: healthy: large enough and overlapping nothing
    ");
}

#[test]
fn only_what_an_old_file_needs_is_merged_early() {
    assert_snapshot!(plan_when_old(sorted(), "
        old   L0 20 [0..5]
        beside L0 4 [6..9] at 86400000
        H     L0 90 [10..19] at 86400000
        young1 L0 4 [20..25] at 86400000
        young2 L0 4 [26..30] at 86400000
    "), @r"
    old beside -> L1: waited long enough
    H: healthy: large enough and overlapping nothing
    young1: waits for company: 3 of 4 files of its size
    young2: waits for company: 3 of 4 files of its size
    ");
}

#[test]
fn nothing_is_merged_across_a_file_of_another_size() {
    assert_snapshot!(plan(sorted(), "
        a L0 4 [0..9]
        b L0 4 [10..19]
        x L0 40 [20..29]
        c L0 4 [30..39]
        d L0 4 [40..49]
    "), @r"
    a: waits for company: 2 of 4 small files
    b: waits for company: 2 of 4 small files
    x: waits for company: 1 of 4 files of its size
    c: waits for company: 2 of 4 small files
    d: waits for company: 2 of 4 small files
    ");
}

#[test]
fn files_of_different_sizes_that_share_keys_meet_when_they_are_old() {
    let text = "
        small L0 4  [0..10]
        large L1 90 [5..20]
    ";
    assert_snapshot!(plan(keyed(), text), @r"
    small: waits: 90 bytes would be rewritten, worth it from 9 new bytes on
    large: waits: 90 bytes would be rewritten, worth it from 9 new bytes on
    ");
    assert_snapshot!(plan_when_old(keyed(), text), @"small large -> L1: waited long enough");
}

#[test]
fn files_of_one_size_that_share_keys_meet_though_others_lie_between() {
    assert_snapshot!(plan(keyed(), "
        a L0 4  [0..10]
        b L0 4  [5..20]
        c L0 4  [15..30]
        d L0 4  [0..30]
        large L1 90 [3..25]
    "), @r"
    a b c d -> L1: overlapping keys
    large: waits for company: 1 of 4 files of its size
    ");
}

fn settings() -> impl Strategy<Value = SizeTiered> {
    (0u32..6, 0u32..12, 1u64..1_000).prop_map(|(files_per_tier, factor, age)| SizeTiered {
        files_per_tier,
        factor,
        age: Millis(age),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn size_tiered_obeys_the_laws((world, settings) in (a_world(), settings())) {
        let checked = check_laws(&SizeTieredPolicy::new(&settings), &world);
        prop_assert!(checked.is_ok(), "{checked:?}");
    }
}

#[test]
fn a_byte_is_rewritten_once_a_tier() {
    let settings = SizeTiered {
        age: Millis(u64::MAX),
        ..SizeTiered::default()
    };
    let policy = SizeTieredPolicy::new(&settings);
    for merge in [unsorted(), sorted(), keyed()] {
        let merge = MergeSpec {
            target_bytes: 10_000,
            ..merge
        };
        check_trickle(&policy, &merge, 600, 1, |step| (2 * step, 2 * step + 1)).expect("logarithmic");
        check_trickle(&policy, &merge, 600, 1, |_| (0, KEY_END)).expect("logarithmic");
    }
}
