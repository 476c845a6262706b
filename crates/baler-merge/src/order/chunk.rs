//! Chunks: rows of all lanes up to a common place, small enough for the cache, which are merged in a cascade.

use super::gallop::gallop;
use super::judge::Judge;
use super::keys::{KeyColumn, Word};
use super::place::{Block, Lane};
use super::runs::Order;
use std::cmp::Ordering;

/// Rows of a chunk: small enough for the cache.
const CHUNK_ROWS: usize = 16 << 10;
/// A chunk has at least so many rows for each lane, because finding its end costs some for each.
const CHUNK_ROWS_OF_LANE: usize = 32;

/// A row of a lane in memory, as a bound: rows up to and with it are before it. `end` is the row after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place<H> {
    key: H,
    lane: u32,
    end: usize,
}

/// A lane that has not ended, and its keys in memory.
struct Ready<'a, H> {
    lane: u32,
    at: usize,
    keys: &'a [H],
}

impl<H: Word> Ready<'_, H> {
    /// Where the next `rows` rows end, or all that are in memory.
    fn place_after(&self, rows: usize) -> Place<H> {
        let end = self.at.saturating_add(rows).min(self.keys.len());
        Place {
            key: self.keys[end - 1],
            lane: self.lane,
            end,
        }
    }

    /// How many rows are not after a place.
    fn rows_up_to(&self, bound: Place<H>) -> usize {
        let keys = &self.keys[self.at..];
        match self.lane.cmp(&bound.lane) {
            Ordering::Less => gallop(keys.len(), |row| keys[row] <= bound.key),
            Ordering::Equal => bound.end - self.at,
            Ordering::Greater => gallop(keys.len(), |row| keys[row] < bound.key),
        }
    }
}

/// How many rows of which lanes make the next chunk; nothing if that would be less than a row of each.
pub(super) fn next_chunk<C: KeyColumn>(lanes: &[Lane<'_, C>], rows_max: usize) -> Option<Vec<(u32, usize)>> {
    let ready = |(number, lane)| {
        let lane: &Lane<'_, C> = lane;
        let keys = lane.block.as_ref()?.keys.exact()?;
        Some(Ready {
            lane: number,
            at: lane.at,
            keys,
        })
    };
    let live: Vec<_> = (0..).zip(lanes).filter_map(ready).collect();
    let chunk_rows = CHUNK_ROWS.max(live.len() * CHUNK_ROWS_OF_LANE).min(rows_max);
    let share = chunk_rows.checked_div(live.len()).filter(|share| *share > 0)?;
    let mut shares: Vec<_> = live.iter().map(|lane| lane.place_after(share)).collect();
    // What lies behind the block of a lane is not known yet.
    let known = live.iter().map(|lane| lane.place_after(usize::MAX)).min()?;
    let least = *shares.iter().min()?;
    let middle = shares.len() / 2;
    let (_, median, _) = shares.select_nth_unstable(middle);
    let counts = |bound: Place<C::Head>| -> Vec<(u32, usize)> {
        let counts = live.iter().map(|lane| (lane.lane, lane.rows_up_to(bound)));
        counts.filter(|(_, rows)| *rows > 0).collect()
    };
    let even = counts((*median).min(known));
    let rows: usize = even.iter().map(|(_, rows)| rows).sum();
    Some(match rows <= rows_max.min(2 * chunk_rows) {
        true => even,
        // Up to the least of the places no lane gives more than its share.
        false => counts(least),
    })
}

/// Appends rows of these lanes; says how many runs they make.
pub(super) fn push_kept(order: &mut Order, lanes: &[u32]) -> usize {
    let stretches = lanes.chunk_by(|a, b| a == b);
    stretches
        .map(|stretch| order.push(stretch[0], stretch.len(), true))
        .count()
}

/// Judges the rows of a chunk, from `rows_at` in each lane on; says how many runs they make.
pub(super) fn judge_chunk<C: KeyColumn>(
    judge: &mut Judge<C>,
    order: &mut Order,
    lanes: &[Lane<'_, C>],
    rows_at: &mut [usize],
    (keys, numbers): (&[C::Head], &[u32]),
) -> usize {
    let (mut runs, mut last_lane) = (0, u32::MAX);
    let mut same = false;
    for (row, (key, number)) in keys.iter().zip(numbers).enumerate() {
        let at = rows_at[*number as usize];
        rows_at[*number as usize] += 1;
        runs += usize::from(*number != last_lane);
        last_lane = *number;
        let (first, same_before) = (row == 0, same);
        let next = keys.get(row + 1);
        same = next.is_some_and(|next| key.agrees(*next, judge.mask));
        if !first && !same_before && !same && next.is_some() {
            // Neighbours have other keys: no version needs to be looked at.
            order.push(*number, 1, true);
            continue;
        }
        let Some(Block {
            keys,
            ages: Some(ages),
        }) = &lanes[*number as usize].block
        else {
            continue;
        };
        if same_before || first && judge.goes_on(keys, at) {
            judge.rival(order, *number, ages, at);
        } else {
            judge.begin(order, *number, keys, ages, at);
        }
    }
    runs
}
