//! Small files that lie side by side, with nothing between them that stays.
//!
//! A file that Baler has written is rewritten only together with others that have at least half its bytes: so it
//! grows by half each time, and a tail is not rewritten for every few bytes that arrive. Where the largest of a row
//! is too large for the others, they are merged without it, left and right of it by themselves.

use std::ops::Range;

use super::Verdict;
use super::draft::Draft;
use super::heaviest::Heaviest;
use crate::job::Why;

/// How many bytes of a file may be rewritten for each byte that joins it.
const GROWTH: u64 = 2;

/// Files in the order in which they lie, cut into units that are merged whole or not at all: a small file, or a
/// cluster of overlapping files that makes a job anyway.
pub(super) struct Row<'l> {
    line: &'l [u32],
    /// Where each unit lies on the line; without gaps.
    units: Vec<Range<usize>>,
}

impl<'l> Row<'l> {
    pub(super) fn new(line: &'l [u32]) -> Self {
        Self {
            line,
            units: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, unit: Range<usize>) {
        debug_assert!(self.units.last().is_none_or(|last| last.end == unit.start));
        self.units.push(unit);
    }

    fn files(&self, part: Range<usize>) -> &'l [u32] {
        &self.line[self.units[part.start].start..self.units[part.end - 1].end]
    }

    fn has_cluster(&self, part: Range<usize>) -> bool {
        self.units[part].iter().any(|unit| unit.len() > 1)
    }

    /// Plans jobs for the row and empties it.
    pub(super) fn merge(&mut self, draft: &mut Draft<'_>) {
        if let [unit] = &self.units[..]
            && unit.len() == 1
        {
            draft.say(self.line[unit.start], Verdict::Alone);
        } else if !self.units.is_empty() {
            self.merge_worthwhile_parts(draft);
        }
        self.units.clear();
    }

    fn merge_worthwhile_parts(&self, draft: &mut Draft<'_>) {
        let sums = Sums::of(self, draft);
        let heaviest = Heaviest::of(&sums.heavy);
        let mut open = vec![(heaviest.root(), 0..self.units.len())];
        while let Some((top, part)) = open.pop() {
            if part.is_empty() {
                continue;
            }
            if sums.is_worth_it(top, &part) {
                self.merge_part(part, &sums, draft);
                continue;
            }
            draft.say(self.files(top..top + 1)[0], too_heavy(sums.heavy[top]));
            open.push((heaviest.left(top), part.start..top));
            open.push((heaviest.right(top), top + 1..part.end));
        }
    }

    /// Merges a part whose bytes are worth it, if it has files enough.
    fn merge_part(&self, part: Range<usize>, sums: &Sums, draft: &mut Draft<'_>) {
        let files = self.files(part.clone());
        let wanted = draft.settings.files_per_level.max(2);
        let has_company = files.len() >= wanted as usize;
        if has_company || sums.is_old(&part) || self.has_cluster(part.clone()) {
            let why = if has_company && sums.has_grown(&part) {
                Why::SmallFiles
            } else {
                Why::Age
            };
            self.take_packs(part, &why, draft);
        } else {
            let files_here = u32::try_from(files.len()).unwrap_or(u32::MAX);
            let verdict = Verdict::WaitsForCompany {
                files: files_here,
                wanted,
            };
            files.iter().for_each(|&at| draft.say(at, verdict));
        }
    }

    /// As few jobs as the bounds allow.
    fn take_packs(&self, part: Range<usize>, why: &Why, draft: &mut Draft<'_>) {
        let jobs_before = draft.jobs();
        let mut from = part.start;
        while from < part.end {
            let (mut to, mut bytes) = (from, 0u64);
            while to < part.end {
                let next = bytes.saturating_add(sum(self.files(to..to + 1), draft));
                if to > from && !draft.fits(self.files(from..to + 1).len(), next) {
                    break;
                }
                (to, bytes) = (to + 1, next);
            }
            self.take_pack(from..to, bytes, why, draft);
            from = to;
        }
        let verdict = if draft.jobs() > jobs_before {
            Verdict::WaitsForTurn
        } else {
            Verdict::Alone
        };
        self.files(part).iter().for_each(|&at| draft.say(at, verdict));
    }

    fn take_pack(&self, pack: Range<usize>, bytes: u64, why: &Why, draft: &mut Draft<'_>) {
        let files = self.files(pack.clone());
        if self.has_cluster(pack) {
            draft.take(files.to_vec(), Why::Overlap);
        } else if draft.lowers_count(files.len(), bytes) {
            if draft.is_merged_before(files.iter().copied()) {
                files.iter().for_each(|&at| draft.say(at, Verdict::MergedBefore));
            } else {
                draft.take(files.to_vec(), why.clone());
            }
        }
    }
}

/// Merges small files whose order does not matter, as nothing is sorted: all of them, oldest first, but for those
/// that are too large for the others.
pub(super) fn merge_unsorted(mut small: Vec<u32>, draft: &mut Draft<'_>) {
    let any_is_old = small.iter().any(|&at| draft.is_old(at));
    if small.len() > 1 && !any_is_old {
        let mut total = sum(&small, draft);
        let mut by_weight = small.clone();
        by_weight.sort_by_key(|&at| heavy_bytes(at, draft));
        while let Some(top) = by_weight.pop() {
            let heavy = heavy_bytes(top, draft);
            if is_grown(heavy, total) {
                break;
            }
            draft.say(top, too_heavy(heavy));
            total = total.saturating_sub(heavy);
        }
        small.retain(|&at| !draft.is_decided(at));
    }
    let mut row = Row::new(&small);
    (0..small.len()).for_each(|at| row.push(at..at + 1));
    row.merge(draft);
}

/// What it costs to rewrite a file: nothing if Baler has not written it.
fn heavy_bytes(at: u32, draft: &Draft<'_>) -> u64 {
    if draft.is_rewritten(at) {
        draft.bytes(at)
    } else {
        0
    }
}

fn is_grown(heavy: u64, total: u64) -> bool {
    heavy <= GROWTH.saturating_mul(total.saturating_sub(heavy))
}

fn too_heavy(bytes: u64) -> Verdict {
    Verdict::WaitsForWeight {
        rewritten: bytes,
        wanted: bytes.div_ceil(GROWTH),
    }
}

fn sum(files: &[u32], draft: &Draft<'_>) -> u64 {
    files
        .iter()
        .fold(0, |sum, &at| sum.saturating_add(draft.bytes(at)))
}

/// Running sums over the units of a row, so that any part of it is summed at once.
struct Sums {
    heavy: Vec<u64>,
    bytes: Vec<u64>,
    old: Vec<usize>,
}

impl Sums {
    fn of(row: &Row<'_>, draft: &Draft<'_>) -> Self {
        let units = row.units.len();
        let mut sums = Self {
            heavy: Vec::with_capacity(units),
            bytes: vec![0; units + 1],
            old: vec![0; units + 1],
        };
        for at in 0..units {
            let files = row.files(at..at + 1);
            let is_single = files.len() == 1;
            sums.heavy.push(if is_single {
                heavy_bytes(files[0], draft)
            } else {
                0
            });
            sums.bytes[at + 1] = sums.bytes[at].saturating_add(sum(files, draft));
            sums.old[at + 1] = sums.old[at] + usize::from(is_single && draft.is_old(files[0]));
        }
        sums
    }

    fn is_old(&self, part: &Range<usize>) -> bool {
        self.old[part.end] > self.old[part.start]
    }

    /// Whether the part is worth merging, `top` being its heaviest unit.
    fn is_worth_it(&self, top: usize, part: &Range<usize>) -> bool {
        self.is_old(part) || is_grown(self.heavy[top], self.bytes(part))
    }

    fn bytes(&self, part: &Range<usize>) -> u64 {
        self.bytes[part.end] - self.bytes[part.start]
    }

    fn has_grown(&self, part: &Range<usize>) -> bool {
        let heavy = self.heavy[part.clone()].iter().copied().max().unwrap_or(0);
        is_grown(heavy, self.bytes(part))
    }
}
