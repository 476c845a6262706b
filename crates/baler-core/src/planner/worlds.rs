//! Partitions of every kind, for the laws to be tried on.

use proptest::prelude::*;

use super::simulator::{KEY_END, TARGET_BYTES, World, file, keyed, sorted, unsorted};
use crate::file::{File, FilePath, Level, Origin};
use crate::ids::{JobId, Sequence};
use crate::time::{RowTime, StoreTime, TimeRange};

fn keys() -> impl Strategy<Value = Option<(u64, u64)>> {
    let width = prop_oneof![Just(0), 1u64..20, 1u64..300, Just(KEY_END)];
    let known = (0u64..40, 0u64..25, width).prop_map(|(coarse, fine, width)| {
        let min = coarse * 25 + if fine < 12 { 0 } else { fine };
        (min, (min + width).min(KEY_END))
    });
    prop_oneof![30 => known.prop_map(Some), 1 => Just(None)]
}

fn times() -> impl Strategy<Value = Option<TimeRange>> {
    let known = (-200i64..2_000, prop_oneof![0i64..50, 0i64..900]).prop_map(|(min, width)| TimeRange {
        min: RowTime { unix_ms: min },
        max: RowTime { unix_ms: min + width },
    });
    prop_oneof![8 => known.prop_map(Some), 1 => Just(None)]
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
    (bytes, keys(), times(), level, 0u64..6, 0u64..2_000, apart).prop_map(
        |(bytes, keys, times, level, added, modified_ms, apart)| {
            let mut made = file("", bytes, keys);
            made.times = times;
            made.level = Level(level);
            made.added = Sequence(added);
            made.identity.modified = StoreTime { unix_ms: modified_ms };
            made.apart = apart;
            made
        },
    )
}

pub(super) fn a_world() -> impl Strategy<Value = World> {
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
