//! The laws, run over policy `leveled`.

use proptest::prelude::*;

use super::laws::{check_laws, check_trickle};
use super::simulator::{KEY_END, World, file, keyed, sorted, unsorted};
use super::worlds::a_world;
use super::{LeveledPolicy, Policy};
use crate::table::{Leveled, MergeSpec};
use crate::time::Millis;

fn settings() -> impl Strategy<Value = Leveled> {
    (0u32..6, 1u64..1_000, 0u32..12).prop_map(|(files_per_level, age, fan_out)| Leveled {
        files_per_level,
        age: Millis(age),
        fan_out,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn leveled_obeys_the_laws((world, settings) in (a_world(), settings())) {
        let checked = check_laws(&LeveledPolicy::new(&settings), &world);
        prop_assert!(checked.is_ok(), "{checked:?}");
    }
}

/// Steps of a trickle: enough that rewriting everything each time would be far beyond what is allowed.
const STEPS: u64 = 600;

fn never_old() -> Leveled {
    Leveled {
        age: Millis(u64::MAX),
        ..Leveled::default()
    }
}

fn trickle(merge: MergeSpec, target_bytes: u64, factor: u64, keys: fn(u64) -> (u64, u64)) {
    let merge = MergeSpec {
        target_bytes,
        ..merge
    };
    let settings = never_old();
    check_trickle(&LeveledPolicy::new(&settings), &merge, STEPS, factor, keys).expect("logarithmic");
}

#[test]
fn a_growing_tail_is_not_rewritten_each_time() {
    trickle(unsorted(), 10_000, 2, |_| (0, 0));
    trickle(sorted(), 10_000, 2, |step| (step, step + 1));
    trickle(keyed(), 10_000, 2, |step| (2 * step, 2 * step + 1));
}

#[test]
fn overlapping_arrivals_are_not_merged_each_time() {
    for target_bytes in [20, 10_000] {
        trickle(sorted(), target_bytes, 4, |_| (0, KEY_END));
        trickle(keyed(), target_bytes, 4, |_| (0, KEY_END));
        trickle(sorted(), target_bytes, 4, |step| {
            (step * 7919 % 900, step * 7919 % 900 + 60)
        });
    }
}

#[test]
fn four_thousand_files_and_more_are_several_jobs() {
    for merge in [unsorted(), sorted()] {
        for width in [1, KEY_END] {
            let files = (0..10_000).map(|at| file(&format!("f{at:05}"), 0, Some((at, at + width))));
            let world = World::new(merge.clone(), files.collect());
            let settings = Leveled::default();
            let choice = LeveledPolicy::new(&settings).choose(&world.view());
            let sizes: Vec<usize> = choice.jobs.iter().map(|job| job.inputs.len()).collect();
            assert_eq!(sizes, [4_096, 4_096, 1_808]);
        }
    }
}
