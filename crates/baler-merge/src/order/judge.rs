//! Last write wins: of the rows with equal rule's key, which lie together in the order, the newest is kept.
//!
//! Newest is the greatest version; among equal ones that of the later lane, within a lane that which stood later in the input.

use super::forms::KeyColumn;
use super::keys::{KeyValue, Keys};
use super::runs::Order;
use crate::error::MergeError;
use arrow::buffer::ScalarBuffer;
use std::ops::Range;

/// What rows of one key are compared by.
#[derive(Clone, Debug)]
pub(super) struct Age {
    version: KeyValue,
    lane: u32,
    ordinal: u64,
}

/// Rows of a lane that are in memory, beside their keys.
pub(super) struct Ages {
    versions: Keys,
    ordinals: Option<ScalarBuffer<u64>>,
    /// Rows of the lane before these.
    rows_before: u64,
}

impl Ages {
    /// Fails unless there is a version for each of `rows`.
    pub(super) fn new(
        versions: Option<Keys>,
        ordinals: Option<ScalarBuffer<u64>>,
        rows: usize,
        rows_before: u64,
    ) -> Result<Self, MergeError> {
        let versions = versions.filter(|versions| versions.len() == rows);
        let complete = ordinals.as_ref().is_none_or(|ordinals| ordinals.len() == rows);
        match versions.filter(|_| complete) {
            Some(versions) => Ok(Self {
                versions,
                ordinals,
                rows_before,
            }),
            None => Err(MergeError::Proof("rows came without their versions".into())),
        }
    }

    /// The versions, if they are all that tells rows of a lane apart, beside their order in it, and fit into 64 bits.
    pub(super) fn short(&self) -> Option<&ScalarBuffer<u64>> {
        match (&self.versions, &self.ordinals) {
            (Keys::Short(versions), None) => Some(versions),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn age(&self, lane: u32, row: usize) -> Age {
        Age {
            version: self.versions.value(row),
            lane,
            ordinal: self.ordinal(row),
        }
    }

    /// Whether a row is newer than one that was seen.
    #[inline]
    pub(super) fn is_newer(&self, lane: u32, row: usize, seen: &Age) -> bool {
        let by_version = self.versions.against(row, &seen.version);
        let by_place = || (lane, self.ordinal(row)).cmp(&(seen.lane, seen.ordinal));
        by_version.then_with(by_place).is_gt()
    }

    #[inline]
    fn ordinal(&self, row: usize) -> u64 {
        match &self.ordinals {
            Some(ordinals) => ordinals[row],
            None => self.rows_before + row as u64,
        }
    }
}

/// The key that is being judged; it may go on in rows that are not seen yet.
struct Open<G> {
    group: G,
    newest: Age,
    /// The run of the newest row so far.
    candidate: usize,
}

/// Decides row by row, in order.
pub(super) struct Judge<C: KeyColumn> {
    /// The bits of the rule's key.
    pub(super) mask: C::Head,
    open: Option<Open<C::Kept>>,
}

/// Rows of one lane that are judged together.
pub(super) struct Stretch<'a, C> {
    pub(super) lane: u32,
    pub(super) keys: &'a C,
    pub(super) ages: &'a Ages,
    pub(super) rows: Range<usize>,
}

impl<C: KeyColumn> Judge<C> {
    pub(super) fn new(mask: C::Head) -> Self {
        Self { mask, open: None }
    }

    /// Whether a row belongs to the key that was judged last and may go on.
    pub(super) fn goes_on(&self, keys: &C, row: usize) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| keys.in_group(row, &open.group, self.mask))
    }

    /// Ends the key: no more rows of it will come.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Judges the next rows of a lane.
    pub(super) fn stretch(&mut self, order: &mut Order, next: &Stretch<'_, C>) {
        let Range { start, end } = next.rows;
        let mut row = start;
        if row < end && self.goes_on(next.keys, row) {
            self.rival(order, next.lane, next.ages, row);
            row += 1;
        } else {
            self.close();
        }
        while row < end {
            let same = row > start && next.keys.same_group(row, next.keys, row - 1, self.mask);
            if same {
                self.rival(order, next.lane, next.ages, row);
                row += 1;
                continue;
            }
            self.close();
            // Rows whose neighbours have other keys need no look at their versions; the last may have one yet to come.
            let alone = (row..end - 1)
                .take_while(|row| !next.keys.same_group(*row, next.keys, row + 1, self.mask))
                .count();
            if alone > 0 {
                order.push(next.lane, alone, true);
                row += alone;
            }
            self.begin(order, next.lane, next.keys, next.ages, row);
            row += 1;
        }
    }

    /// A key that no row before had.
    pub(super) fn begin(&mut self, order: &mut Order, lane: u32, keys: &C, ages: &Ages, row: usize) {
        self.open = Some(Open {
            group: keys.group(row, self.mask),
            newest: ages.age(lane, row),
            candidate: order.push_candidate(lane),
        });
    }

    /// Another row of the key that is open.
    pub(super) fn rival(&mut self, order: &mut Order, lane: u32, ages: &Ages, row: usize) {
        match &mut self.open {
            Some(open) if ages.is_newer(lane, row, &open.newest) => {
                order.drop_candidate(open.candidate);
                open.candidate = order.push_candidate(lane);
                open.newest = ages.age(lane, row);
            }
            _ => order.push(lane, 1, false),
        }
    }
}
