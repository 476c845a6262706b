//! Lanes: sorted stretches of the inputs, which deliver their keys block by block; and how rows that are in no order get one.

use super::forms::KeyColumn;
use super::keys::{KeyBlock, Keys};
use crate::error::MergeError;

/// A sorted stretch of an input. Lanes are numbered in the order of their inputs, within an input as they lie in it.
pub(crate) trait KeyLane: Send {
    /// The next rows, in order; nothing at the end, and never asked again.
    fn next_block(&mut self) -> Result<Option<KeyBlock>, MergeError>;

    /// Has the next block begin with the last `rows` rows of the one before. Says whether it will: not where that would be
    /// much of a block.
    fn step_back(&mut self, _rows: usize) -> bool {
        false
    }
}

/// The rows that are less than the row before them. None: the rows are sorted; few: each begins another lane; many: sort.
pub(crate) fn descents(keys: &Keys) -> Vec<usize> {
    fn falls<K: PartialOrd>(keys: &[K]) -> Vec<usize> {
        let pairs = keys.windows(2).enumerate();
        pairs
            .filter(|(_, pair)| pair[1] < pair[0])
            .map(|(row, _)| row + 1)
            .collect()
    }
    match keys {
        Keys::Short(keys) => falls(keys),
        Keys::Long(keys) => falls(keys),
        Keys::Headed(rows) => (1..keys.len())
            .filter(|row| rows.order(*row, rows, row - 1).is_lt())
            .collect(),
    }
}

/// Whether each row is greater than the one before it.
pub(crate) fn ascend(keys: &Keys) -> bool {
    match keys {
        Keys::Short(keys) => keys.windows(2).all(|pair| pair[0] < pair[1]),
        Keys::Long(keys) => keys.windows(2).all(|pair| pair[0] < pair[1]),
        Keys::Headed(rows) => (1..keys.len()).all(|row| rows.order(row - 1, rows, row).is_lt()),
    }
}

/// Row numbers in key order; among equal keys as they lie. At most 2^32 rows.
pub(crate) fn sort_order(keys: &Keys) -> Vec<u32> {
    fn sorted<K: Ord + Copy>(keys: &[K]) -> Vec<u32> {
        let mut pairs: Vec<(K, u32)> = keys.iter().copied().zip(0..).collect();
        // The row number makes each pair different, so nothing is left for a stable sort to keep.
        pairs.sort_unstable();
        pairs.into_iter().map(|(_, row)| row).collect()
    }
    assert!(
        u32::try_from(keys.len()).is_ok(),
        "rows are sorted batch by batch"
    );
    match keys {
        Keys::Short(keys) => sorted(keys),
        Keys::Long(keys) => sorted(keys),
        Keys::Headed(keys) => {
            let mut pairs: Vec<(u128, u32)> = keys.heads().iter().copied().zip(0..).collect();
            pairs.sort_unstable_by(|(head, row), (other_head, other_row)| {
                let other = (*other_row as usize, *other_head);
                let order = keys.compare((*row as usize, *head), keys, other);
                order.then(row.cmp(other_row))
            });
            pairs.into_iter().map(|(_, row)| row).collect()
        }
    }
}
