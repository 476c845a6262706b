//! Looks at the order that will be claimed in the rows as they are written, not in what the merge says of them.

use super::gather::plain;
use crate::error::MergeError;
use crate::intake::{Layouts, SortPlan};
use crate::key_range::encode_row;
use crate::order::{Keys, ascend, descents};
use arrow::array::{Array, ArrayRef};
use std::cmp::Ordering;

/// Which order is claimed.
pub(crate) struct Watch<'a> {
    pub(crate) sort: &'a SortPlan,
    pub(crate) layouts: &'a Layouts,
}

/// What was seen of a window.
pub(super) struct Seen<'a> {
    watch: &'a Watch<'a>,
    ends: Option<Ends>,
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
    /// The columns to be looked at, in key order.
    pub(super) fn columns(&self) -> &[usize] {
        self.sort.key.columns()
    }
}

impl<'a> Seen<'a> {
    pub(super) fn new(watch: &'a Watch<'a>) -> Self {
        Self { watch, ends: None }
    }

    /// Looks at the next rows, given the columns that they are ordered by.
    pub(super) fn look_at(&mut self, written: &[ArrayRef]) -> Result<(), MergeError> {
        let rows = written.first().map_or(0, Array::len);
        if rows == 0 {
            return Ok(());
        }
        let columns: Vec<ArrayRef> = written.iter().map(plain).collect::<Result<_, _>>()?;
        let (order, group) = self.watch.layouts.pack(&columns)?;
        if !descents(&order).is_empty() {
            return Err(wrong_order());
        }
        if group.as_ref().is_some_and(|group| !ascend(group)) {
            return Err(two_of_a_key());
        }
        let row = |row: usize| {
            RowKeys(
                order.slice(row, 1),
                group.as_ref().map(|group| group.slice(row, 1)),
            )
        };
        let (first, last) = (row(0), row(rows - 1));
        let bound = |row: usize| encode_row(&columns, row, self.watch.sort.key.bounds());
        let max = bound(rows - 1).map(|bound| bound.max());
        self.ends = Some(match self.ends.take() {
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
        Ok(())
    }

    /// Nothing if the window has no rows.
    pub(super) fn ends(self) -> Option<Ends> {
        self.ends
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
            (Some(group), Some(next)) if group.compare(0, next, 0)? == Ordering::Equal => Err(two_of_a_key()),
            _ => Ok(()),
        }
    }
}

fn two_of_a_key() -> MergeError {
    MergeError::Proof("two rows of one key came out of the rule".into())
}

fn wrong_order() -> MergeError {
    MergeError::Proof("rows came out of the merge in the wrong order".into())
}
