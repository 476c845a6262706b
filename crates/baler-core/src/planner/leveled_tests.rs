//! The laws, run over policy `leveled`.

use proptest::prelude::*;

use super::laws::{check_laws, check_trickle};
use super::simulator::{KEY_END, TARGET_BYTES, World, file, keyed, sorted, unsorted};
use super::{LeveledPolicy, Policy};
use crate::file::{File, FilePath, Level, Origin};
use crate::ids::{JobId, Sequence};
use crate::table::{Leveled, MergeSpec};
use crate::time::{Millis, StoreTime};

fn settings() -> impl Strategy<Value = Leveled> {
    (0u32..6, 1u64..1_000, 0u32..12).prop_map(|(files_per_level, age, fan_out)| Leveled {
        files_per_level,
        age: Millis(age),
        fan_out,
    })
}

fn keys() -> impl Strategy<Value = Option<(u64, u64)>> {
    let width = prop_oneof![Just(0), 1u64..20, 1u64..300, Just(KEY_END)];
    let known = (0u64..40, 0u64..25, width).prop_map(|(coarse, fine, width)| {
        let min = coarse * 25 + if fine < 12 { 0 } else { fine };
        (min, (min + width).min(KEY_END))
    });
    prop_oneof![30 => known.prop_map(Some), 1 => Just(None)]
}

fn a_file() -> impl Strategy<Value = File> {
    let bytes = prop_oneof![
        4 => 1..TARGET_BYTES / 10,
        4 => 1..TARGET_BYTES / 2,
        4 => TARGET_BYTES / 2..TARGET_BYTES * 2,
        1 => TARGET_BYTES..TARGET_BYTES * 40,
    ];
    let level = prop_oneof![3 => Just(0u8), 2 => 1u8..3, 1 => 1u8..8];
    let apart = prop_oneof![12 => Just(None), 1 => (0u64..3).prop_map(|job| Some(JobId(job)))];
    (bytes, keys(), level, 0u64..6, 0u64..2_000, apart).prop_map(
        |(bytes, keys, level, added, modified_ms, apart)| {
            let mut made = file("", bytes, keys);
            made.level = Level(level);
            made.added = Sequence(added);
            made.identity.modified = StoreTime { unix_ms: modified_ms };
            made.apart = apart;
            made
        },
    )
}

fn a_world() -> impl Strategy<Value = World> {
    let files = prop_oneof![
        prop::collection::vec(a_file(), 0..8),
        prop::collection::vec(a_file(), 0..60)
    ];
    let merge = prop_oneof![Just(unsorted()), Just(sorted()), Just(keyed())];
    (merge, files, 0u64..2_500, 20u64..=100, any::<bool>(), 0usize..6).prop_map(
        |(merge, mut files, now, kept, all_new, busy)| {
            for (at, file) in files.iter_mut().enumerate() {
                file.path = FilePath::in_root(format!("f{at:03}"));
                if all_new {
                    file.level = Level(0);
                }
                if file.level > Level(0) {
                    file.origin = Origin::Job(JobId(1_000_000 + at as u64));
                }
            }
            let mut world = World::new(merge, files);
            world.now = StoreTime { unix_ms: now };
            world.kept_percent = if world.merge.is_keyed() { kept } else { 100 };
            let is_busy =
                |file: &mut File| busy > 0 && file.keys.is_some() && file.bytes() as usize % 6 < busy - 1;
            world.busy = world.files.extract_if(.., is_busy).collect();
            world
        },
    )
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
