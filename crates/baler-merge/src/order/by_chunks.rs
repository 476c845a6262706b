//! Merging by chunks: the rows of all lanes up to a common place go through a cascade over their heads; where heads do not
//! tell rows apart, whole keys do.

use super::chunk::{CHUNK_ROWS_OF_LANE, judge_chunk, next_chunk, push_kept, share_of_lane};
use super::forms::KeyColumn;
use super::merge::{PROBE_ROWS, Pace, RUN_ROWS_GALLOPED, Typed};
use super::place::Lane;
use super::runs::Order;
use super::tags::Tags;
use crate::error::MergeError;
use std::cmp::Ordering;

/// With fewer rows for each lane, finding where a chunk ends costs more than the tree does.
const CHUNK_ROWS_WORTH: usize = 8;

impl<C: KeyColumn> Typed<'_, C> {
    /// Takes the rows of all lanes up to a common place; chooses the way to go on.
    pub(super) fn by_chunk(&mut self, order: &mut Order, rows_max: usize) -> Result<(), MergeError> {
        let Some(counts) = self.next_chunk(rows_max)? else {
            return self.by_runs(order, rows_max.min(PROBE_ROWS));
        };
        let form = Tags::of(&self.lanes, &counts);
        self.cascade.clear();
        for (number, rows) in &counts {
            let lane = &self.lanes[*number as usize];
            let heads = lane.block.as_ref().map_or(&[][..], |block| block.keys.heads());
            let keys = &heads[lane.at..lane.at + rows];
            self.cascade.push(keys, form.next(lane, *number, *rows));
        }
        let (keys, tags) = self.cascade.merge();
        let rows = tags.len();
        if !C::EXACT {
            self.rows_at.clear();
            self.rows_at.extend(self.lanes.iter().map(|lane| lane.at));
            settle_ties(&self.lanes, &mut self.rows_at, form, (keys, tags));
        }
        let runs = match &mut self.judge {
            None => push_kept(order, form, tags),
            Some(judge) => {
                self.rows_at.clear();
                self.rows_at.extend(self.lanes.iter().map(|lane| lane.at));
                judge_chunk(judge, order, &self.lanes, &mut self.rows_at, (form, keys, tags))
            }
        };
        for (number, rows) in counts {
            let number = number as usize;
            self.arrive(number, self.lanes[number].at + rows)?;
        }
        self.tree_stands = false;
        if rows < self.lanes.len() * CHUNK_ROWS_WORTH {
            self.rows_by_runs = self.lanes.len() * CHUNK_ROWS_OF_LANE;
        }
        if rows > runs * RUN_ROWS_GALLOPED * 2 {
            self.pace = Pace::Runs;
        }
        Ok(())
    }

    fn next_chunk(&mut self, rows_max: usize) -> Result<Option<Vec<(u32, usize)>>, MergeError> {
        let Some(share) = share_of_lane(&self.lanes, rows_max) else {
            return Ok(None);
        };
        // What is left of a window is not worth it.
        if share < CHUNK_ROWS_WORTH {
            return Ok(None);
        }
        // Some lanes give more than their share.
        for lane in &mut self.lanes {
            lane.look_ahead(2 * share, self.judge.is_some())?;
        }
        Ok(next_chunk(&self.lanes, share, rows_max))
    }
}

/// Puts rows of equal head, which came out in lane order, into the order of their whole keys. `rows_at` says where each lane is
/// before the chunk.
fn settle_ties<C: KeyColumn>(
    lanes: &[Lane<'_, C>],
    rows_at: &mut [usize],
    form: Tags,
    (heads, tags): (&[C::Head], &mut [u64]),
) {
    let compare = |(tag, row): &(u64, usize), (other, other_row): &(u64, usize)| match (
        &lanes[form.lane(*tag) as usize].block,
        &lanes[form.lane(*other) as usize].block,
    ) {
        (Some(a), Some(b)) => {
            let (head, other_head) = (a.keys.head(*row), b.keys.head(*other_row));
            a.keys.compare((*row, head), &b.keys, (*other_row, other_head))
        }
        _ => Ordering::Equal,
    };
    let mut tied: Vec<(u64, usize)> = Vec::new();
    let mut tags = tags;
    for stretch in heads.chunk_by(|a, b| a == b) {
        let (these, rest) = tags.split_at_mut(stretch.len());
        tags = rest;
        if let [tag] = these {
            rows_at[form.lane(*tag) as usize] += 1;
            continue;
        }
        tied.clear();
        for tag in &*these {
            let at = &mut rows_at[form.lane(*tag) as usize];
            tied.push((*tag, *at));
            *at += 1;
        }
        // Stable, so that equal keys stay in lane order. Versions of one key are in order already.
        if !tied.is_sorted_by(|a, b| compare(a, b).is_le()) {
            tied.sort_by(compare);
            for (place, (tag, _)) in these.iter_mut().zip(&tied) {
                *place = *tag;
            }
        }
    }
}
