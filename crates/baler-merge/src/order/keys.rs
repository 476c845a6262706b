//! Keys of rows, in the cheapest form whose comparison is the order.

use super::forms::KeyColumn;
use super::headed::{HeadedKeys, Kept};
use crate::error::MergeError;
use arrow::buffer::ScalarBuffer;
use std::cmp::Ordering;

/// Keys of consecutive rows, or versions of them. Clones and slices share the memory.
#[derive(Clone, Debug)]
pub(crate) enum Keys {
    /// All columns in 64 bits.
    Short(ScalarBuffer<u64>),
    /// All columns in 128 bits.
    Long(ScalarBuffer<u128>),
    /// The beginning in 128 bits, and the columns that it does not hold whole.
    Headed(HeadedKeys),
}

impl Keys {
    pub(crate) fn len(&self) -> usize {
        match self {
            Keys::Short(keys) => keys.len(),
            Keys::Long(keys) => keys.len(),
            Keys::Headed(keys) => keys.len(),
        }
    }

    /// Some of the rows; copies nothing.
    pub(crate) fn slice(&self, start: usize, rows: usize) -> Self {
        match self {
            Keys::Short(keys) => Keys::Short(keys.slice(start, rows)),
            Keys::Long(keys) => Keys::Long(keys.slice(start, rows)),
            Keys::Headed(keys) => Keys::Headed(keys.slice(start, rows)),
        }
    }

    /// How a row of these compares with one of others of the same layout.
    pub(crate) fn compare(&self, row: usize, other: &Keys, other_row: usize) -> Result<Ordering, MergeError> {
        match (self, other) {
            (Keys::Short(a), Keys::Short(b)) => Ok(a[row].cmp(&b[other_row])),
            (Keys::Long(a), Keys::Long(b)) => Ok(a[row].cmp(&b[other_row])),
            (Keys::Headed(a), Keys::Headed(b)) => Ok(a.order(row, b, other_row)),
            _ => Err(mixed()),
        }
    }

    /// How a row compares with a key that was kept. Keys of another layout are less: no proof holds for them.
    #[inline]
    pub(super) fn against(&self, row: usize, kept: &KeyValue) -> Ordering {
        match (self, kept) {
            (Keys::Short(keys), KeyValue::Short(kept)) => keys[row].cmp(kept),
            (Keys::Long(keys), KeyValue::Long(kept)) => keys[row].cmp(kept),
            (Keys::Headed(keys), KeyValue::Headed(kept)) => keys.against(row, kept),
            _ => Ordering::Less,
        }
    }

    /// One of them, to keep.
    #[inline]
    pub(super) fn value(&self, row: usize) -> KeyValue {
        match self {
            Keys::Short(keys) => KeyValue::Short(keys[row]),
            Keys::Long(keys) => KeyValue::Long(keys[row]),
            Keys::Headed(keys) => KeyValue::Headed(Box::new(keys.kept(row))),
        }
    }
}

/// A version that was kept; comparable with others of the same layout.
#[derive(Clone, Debug)]
pub(super) enum KeyValue {
    Short(u64),
    Long(u128),
    /// Rare, and out of the way of the others.
    Headed(Box<Kept>),
}

pub(super) fn mixed() -> MergeError {
    MergeError::Proof("keys of two layouts met in one merge".into())
}

/// Some rows of a lane.
#[derive(Clone, Debug)]
pub(crate) struct KeyBlock {
    /// Ascending, and not below those of the lane's block before.
    pub(crate) keys: Keys,
    /// What last write wins compares; needed if the layout has a rule's key.
    pub(crate) versions: Option<Keys>,
    /// Where each row stood in what the lane was made from, if not in this order: equal versions are told apart by it. Needed
    /// for lanes that were sorted, or merged from others, and only where the rule's key is less than the sort key.
    pub(crate) ordinals: Option<ScalarBuffer<u64>>,
}

impl KeyBlock {
    /// Some of the rows; copies nothing.
    pub(crate) fn slice(&self, start: usize, rows: usize) -> Self {
        Self {
            keys: self.keys.slice(start, rows),
            versions: self.versions.as_ref().map(|versions| versions.slice(start, rows)),
            ordinals: self.ordinals.as_ref().map(|ordinals| ordinals.slice(start, rows)),
        }
    }
}
