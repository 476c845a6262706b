//! Looks at the order that will be claimed in the rows as they are written, not in what the merge says of them.

use super::gather::Gather;
use super::picks::Picks;
use crate::error::MergeError;
use crate::intake::{Layouts, SortPlan};
use crate::key_range::encode_row;
use crate::order::{Keys, descents};
use crate::shelf::Shelved;
use arrow::array::ArrayRef;
use std::cmp::Ordering;

/// Checks windows, each by itself.
pub(crate) struct Watch<'a> {
    pub(crate) shelf: &'a Shelved,
    pub(crate) sort: &'a SortPlan,
    pub(crate) layouts: &'a Layouts,
}

/// Where a window begins and ends.
pub(crate) struct Ends {
    first: RowKeys,
    last: RowKeys,
    /// Bounds of its keys, if they can be told.
    pub(crate) min: Option<Vec<u8>>,
    pub(crate) max: Option<Vec<u8>>,
}

/// The sort key of one row and, under a rule, the rule's key.
struct RowKeys(Keys, Option<Keys>);

impl Watch<'_> {
    /// Nothing if the window has no rows.
    pub(crate) fn check(&self, picks: &Picks) -> Result<Option<Ends>, MergeError> {
        let key = &self.sort.key;
        let columns = key.columns().iter();
        let gathers: Vec<Gather<'_>> = columns
            .map(|column| Gather::new(self.shelf, *column, picks))
            .collect::<Result<_, _>>()?;
        let mut ends: Option<Ends> = None;
        for piece in &picks.pieces {
            let columns = gathers.iter().map(|gather| gather.plain_piece(piece));
            let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
            let (order, group) = self.layouts.pack(&columns)?;
            if !descents(&order).is_empty() {
                return Err(wrong_order());
            }
            if let Some(group) = &group {
                for row in 1..group.len() {
                    differs(group.compare(row - 1, group, row)?)?;
                }
            }
            let row = |row: usize| {
                RowKeys(
                    order.slice(row, 1),
                    group.as_ref().map(|group| group.slice(row, 1)),
                )
            };
            let (first, last) = (row(0), row(piece.rows - 1));
            let bound = |row: usize| encode_row(&columns, row, key.bounds());
            let max = bound(piece.rows - 1).map(|bound| bound.max());
            ends = Some(match ends {
                None => Ends {
                    first,
                    last,
                    min: bound(0).map(|bound| bound.min()),
                    max,
                },
                Some(before) => {
                    before.last.precedes(&first)?;
                    Ends { last, max, ..before }
                }
            });
        }
        Ok(ends)
    }
}

impl Ends {
    /// Checks that another window comes after this one.
    pub(crate) fn precedes(&self, next: &Ends) -> Result<(), MergeError> {
        self.last.precedes(&next.first)
    }
}

impl RowKeys {
    fn precedes(&self, next: &RowKeys) -> Result<(), MergeError> {
        if self.0.compare(0, &next.0, 0)? == Ordering::Greater {
            return Err(wrong_order());
        }
        match (&self.1, &next.1) {
            (Some(group), Some(next)) => differs(group.compare(0, next, 0)?),
            _ => Ok(()),
        }
    }
}

fn differs(order: Ordering) -> Result<(), MergeError> {
    match order {
        Ordering::Equal => Err(MergeError::Proof(
            "two rows of one key came out of the rule".into(),
        )),
        _ => Ok(()),
    }
}

fn wrong_order() -> MergeError {
    MergeError::Proof("rows came out of the merge in the wrong order".into())
}
