//! Chunks: rows of all lanes up to a common place, small enough for the cache, which are merged in a cascade.

use super::forms::{KeyColumn, Word};
use super::gallop::gallop;
use super::judge::Judge;
use super::place::{Block, Lane};
use super::runs::Order;
use super::tags::Tags;
use std::cmp::Ordering;
use std::ops::Range;

/// Rows of a chunk: small enough for the cache.
const CHUNK_ROWS: usize = 16 << 10;
/// A chunk has at least so many rows for each lane, because finding its end costs some for each.
pub(super) const CHUNK_ROWS_OF_LANE: usize = 32;

/// A lane that has not ended, and its keys in memory.
struct Ready<'a, C> {
    lane: u32,
    at: usize,
    keys: &'a C,
    is_last: bool,
}

/// A row of a lane in memory, as a bound: rows up to and with it are not after it. `end` is the row after it.
struct Place<'a, C: KeyColumn> {
    keys: &'a C,
    head: C::Head,
    lane: u32,
    end: usize,
}

impl<C: KeyColumn> Place<'_, C> {
    fn order(&self, other: &Self) -> Ordering {
        let (this, that) = ((self.end - 1, self.head), (other.end - 1, other.head));
        let by_key = self.keys.compare(this, other.keys, that);
        by_key.then((self.lane, self.end).cmp(&(other.lane, other.end)))
    }
}

impl<'a, C: KeyColumn> Ready<'a, C> {
    /// Where the next `rows` rows end, or all that are in memory.
    fn place_after(&self, rows: usize) -> Place<'a, C> {
        let end = self.at.saturating_add(rows).min(self.keys.len());
        Place {
            keys: self.keys,
            head: self.keys.head(end - 1),
            lane: self.lane,
            end,
        }
    }

    /// How many rows are not after a place.
    fn rows_up_to(&self, bound: &Place<'_, C>) -> usize {
        let heads = &self.keys.heads()[self.at..];
        let against = |row: usize| {
            let last = (bound.end - 1, bound.head);
            self.keys.compare((self.at + row, heads[row]), bound.keys, last)
        };
        match self.lane.cmp(&bound.lane) {
            Ordering::Less => gallop(heads.len(), |row| against(row).is_le()),
            Ordering::Equal => bound.end - self.at,
            Ordering::Greater => gallop(heads.len(), |row| against(row).is_lt()),
        }
    }
}

/// Rows that the next chunk takes of each lane, about; nothing if that would be less than one.
pub(super) fn share_of_lane<C>(lanes: &[Lane<'_, C>], rows_max: usize) -> Option<usize> {
    let live = lanes.iter().filter(|lane| lane.block.is_some()).count();
    let chunk_rows = CHUNK_ROWS.max(live * CHUNK_ROWS_OF_LANE).min(rows_max);
    chunk_rows.checked_div(live).filter(|share| *share > 0)
}

/// How many rows of which lanes make the next chunk.
pub(super) fn next_chunk<C: KeyColumn>(
    lanes: &[Lane<'_, C>],
    share: usize,
    rows_max: usize,
) -> Option<Vec<(u32, usize)>> {
    let ready = |(number, lane)| {
        let lane: &Lane<'_, C> = lane;
        let keys = &lane.block.as_ref()?.keys;
        Some(Ready {
            lane: number,
            at: lane.at,
            keys,
            is_last: lane.is_last,
        })
    };
    let live: Vec<_> = (0..).zip(lanes).filter_map(ready).collect();
    let mut shares: Vec<_> = live.iter().map(|lane| lane.place_after(share)).collect();
    let middle = shares.len() / 2;
    shares.select_nth_unstable_by(middle, Place::order);
    // What lies behind the block of a lane is not known yet.
    let unknown = live.iter().filter(|lane| !lane.is_last);
    let known = unknown.map(|lane| lane.place_after(usize::MAX));
    let known = known.min_by(Place::order);
    let even = known.iter().fold(shares.get(middle)?, |even, known| {
        std::cmp::min_by(even, known, |a, b| a.order(b))
    });
    let counts = |bound: &Place<'_, C>| -> Vec<(u32, usize)> {
        let counts = live.iter().map(|lane| (lane.lane, lane.rows_up_to(bound)));
        counts.filter(|(_, rows)| *rows > 0).collect()
    };
    let even = counts(even);
    let rows: usize = even.iter().map(|(_, rows)| rows).sum();
    Some(match rows <= rows_max.min(2 * share * live.len()) {
        true => even,
        // Up to the least of the places no lane gives more than its share.
        false => counts(shares.iter().min_by(|a, b| a.order(b))?),
    })
}

/// Appends rows with these tags; says how many runs they make.
pub(super) fn push_kept(order: &mut Order, form: Tags, tags: &[u64]) -> usize {
    let stretches = tags.chunk_by(|a, b| a == b);
    stretches
        .map(|stretch| order.push(form.lane(stretch[0]), stretch.len(), true))
        .count()
}

/// Judges the rows of a chunk, from `rows_at` in each lane on; says how many runs they make.
pub(super) fn judge_chunk<C: KeyColumn>(
    judge: &mut Judge<C>,
    order: &mut Order,
    lanes: &[Lane<'_, C>],
    rows_at: &mut [usize],
    (form, keys, tags): (Tags, &[C::Head], &[u64]),
) -> usize {
    let whole = whole_keys(keys, judge.mask);
    let (mut runs, mut last_lane) = (0, u32::MAX);
    let mut same = false;
    // The newest so far of a key that is whole, and its run.
    let mut newest = (0, 0);
    let (mut rows_judged, mut keys_judged) = (0, 0);
    order.reserve(keys.len());
    for (row, (key, tag)) in keys.iter().zip(tags).enumerate() {
        let number = form.lane(*tag);
        let at = rows_at[number as usize];
        rows_at[number as usize] += 1;
        runs += usize::from(number != last_lane);
        last_lane = number;
        let (first, same_before) = (row == 0, same);
        let next = keys.get(row + 1);
        same = next.is_some_and(|next| key.agrees(*next, judge.mask));
        if !C::EXACT && same {
            let next_lane = form.lane(tags[row + 1]);
            let next_at = (next_lane, rows_at[next_lane as usize]);
            same = same_group(lanes, (number, at), next_at, judge.mask);
        }
        if form.dated && whole.contains(&row) {
            // Counted in the end, because to go on with a number at once takes longer than all the rest.
            rows_judged += 1;
            if same_before && *tag < newest.0 {
                order.append(number, false);
                continue;
            }
            match same_before {
                true => order.let_go(newest.1),
                false => keys_judged += 1,
            }
            newest = (*tag, order.append(number, true));
            continue;
        }
        if !first && !same_before && !same && next.is_some() {
            // Neighbours have other keys: no version needs to be looked at.
            order.push(number, 1, true);
            continue;
        }
        let Some(Block {
            keys,
            ages: Some(ages),
        }) = &lanes[number as usize].block
        else {
            continue;
        };
        if same_before || first && judge.goes_on(keys, at) {
            judge.rival(order, number, ages, at);
        } else {
            judge.begin(order, number, keys, ages, at);
        }
    }
    order.count(rows_judged, keys_judged);
    runs
}

/// The rows of a chunk whose keys begin and end in it for certain: neither the first key, which may have begun before, nor the last,
/// which may go on.
fn whole_keys<W: Word>(keys: &[W], mask: W) -> Range<usize> {
    let agree = |a: &W, b: &W| a.agrees(*b, mask);
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
        return 0..0;
    };
    let begun = keys.iter().take_while(|key| agree(key, first)).count();
    let open = keys.iter().rev().take_while(|key| agree(key, last)).count();
    begun..keys.len() - open
}

/// Whether two rows of lanes have the same rule's key.
fn same_group<C: KeyColumn>(
    lanes: &[Lane<'_, C>],
    (lane, row): (u32, usize),
    (other, other_row): (u32, usize),
    mask: C::Head,
) -> bool {
    match (&lanes[lane as usize].block, &lanes[other as usize].block) {
        (Some(block), Some(other)) => block.keys.same_group(row, &other.keys, other_row, mask),
        _ => false,
    }
}
