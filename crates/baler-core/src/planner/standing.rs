//! The measure that every job lowers: first the overlap, then the number of files. All of it are whole numbers, the
//! first that differs counts, and none can fall for ever; so planning and merging ends.
//!
//! The overlap is counted on a grid of all the keys that bound a file before or after the job: for each grid key and
//! each stretch between two of them, the files beyond the first that reach across it. With a keyed rule, a file
//! reaches across the keys that bound it too. Otherwise files that only touch a key do not overlap there; files of
//! nothing but that key overlap those that reach across it, and count by bytes, as a merge may cut them into more.

use std::collections::BTreeMap;

use super::simulator::{World, range};
use super::time_window::Window;
use crate::file::File;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Standing {
    crossings: u64,
    single_key_bytes: u64,
    files: usize,
}

/// Where both worlds stand, on a common grid.
pub(super) fn standings(before: &World, after: &World) -> (Standing, Standing) {
    let ranges = before.live().chain(after.live()).filter_map(range);
    let mut grid: Vec<u64> = ranges.flat_map(|(min, max)| [min, max]).collect();
    grid.sort_unstable();
    grid.dedup();
    (standing(before, &grid), standing(after, &grid))
}

fn standing(world: &World, grid: &[u64]) -> Standing {
    let mut standing = Standing {
        crossings: 0,
        single_key_bytes: 0,
        files: world.files.len(),
    };
    if world.is_sorted() {
        for files in by_window(world).values() {
            add_overlaps(files, world.merge.is_keyed(), grid, &mut standing);
        }
    }
    standing
}

/// What lies in different windows does not overlap.
fn by_window(world: &World) -> BTreeMap<Window, Vec<&File>> {
    let mut windows: BTreeMap<Window, Vec<&File>> = BTreeMap::new();
    for file in &world.files {
        windows.entry(world.window_of(file)).or_default().push(file);
    }
    windows
}

fn add_overlaps(files: &[&File], keyed: bool, grid: &[u64], standing: &mut Standing) {
    for &key in grid {
        let crossing = across_key(files, keyed, key);
        standing.crossings += crossing.saturating_sub(1);
        if crossing > 0 && !keyed {
            standing.single_key_bytes += single_key_bytes(files, key);
        }
    }
    for pair in grid.windows(2) {
        standing.crossings += across_stretch(files, pair[0], pair[1]).saturating_sub(1);
    }
}

fn across_key(files: &[&File], keyed: bool, key: u64) -> u64 {
    count(files, |(min, max)| {
        (min < key && key < max) || (keyed && min <= key && key <= max)
    })
}

fn across_stretch(files: &[&File], low: u64, high: u64) -> u64 {
    count(files, |(min, max)| min <= low && high <= max)
}

fn count(files: &[&File], holds: impl Fn((u64, u64)) -> bool) -> u64 {
    files.iter().filter(|file| range(file).is_none_or(&holds)).count() as u64
}

fn single_key_bytes(files: &[&File], key: u64) -> u64 {
    let files = files.iter().filter(|file| range(file) == Some((key, key)));
    files.map(|file| file.bytes()).sum()
}
