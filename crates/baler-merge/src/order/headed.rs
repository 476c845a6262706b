//! Keys of more than 128 bits: a head that settles most comparisons, and the columns that settle the others.

use super::forms::{KeyColumn, Word};
use super::keys::Keys;
use super::parts::Part;
use arrow::buffer::ScalarBuffer;
use std::cmp::Ordering;
use std::sync::Arc;

/// Keys of consecutive rows.
#[derive(Clone, Debug)]
pub(crate) struct HeadedKeys {
    heads: ScalarBuffer<u128>,
    /// The columns that heads do not hold whole, in key order.
    parts: Arc<[Part]>,
    /// The first row in the parts.
    start: usize,
    /// Parts that belong to the rule's key.
    group_parts: usize,
}

/// A key, or the rule's key of it: a head and the values of parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    head: u128,
    values: Vec<Option<Vec<u8>>>,
}

impl HeadedKeys {
    pub(super) fn new(heads: Vec<u128>, parts: Vec<Part>, group_parts: usize) -> Self {
        Self {
            heads: heads.into(),
            parts: parts.into(),
            start: 0,
            group_parts,
        }
    }

    pub(super) fn slice(&self, start: usize, rows: usize) -> Self {
        Self {
            heads: self.heads.slice(start, rows),
            parts: Arc::clone(&self.parts),
            start: self.start + start,
            group_parts: self.group_parts,
        }
    }

    /// How a row compares with one of others.
    pub(super) fn order(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        let heads = (self.heads[row], other.heads[other_row]);
        self.compare((row, heads.0), other, (other_row, heads.1))
    }

    pub(super) fn kept(&self, row: usize) -> Kept {
        let mut kept = None;
        self.keep(row, &mut kept);
        kept.unwrap_or_default()
    }

    /// The values of a row in the columns that its head does not hold.
    fn values(&self, row: usize) -> impl Iterator<Item = Option<&[u8]>> {
        self.parts.iter().map(move |part| part.value(self.start + row))
    }

    /// Compares rows of equal head. Away from the other comparison, which is made much more often.
    #[inline(never)]
    fn settle(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        let values = self.values(row).zip(other.values(other_row));
        let mut orders = values
            .zip(&self.parts[..])
            .map(|((a, b), part)| part.compare(a, b));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl KeyColumn for HeadedKeys {
    type Head = u128;
    type Kept = Kept;

    const EXACT: bool = false;

    fn of(keys: &Keys) -> Option<Self> {
        match keys {
            Keys::Headed(keys) => Some(keys.clone()),
            _ => None,
        }
    }
    fn heads(&self) -> &[u128] {
        &self.heads
    }
    fn compare(&self, this: (usize, u128), other: &Self, that: (usize, u128)) -> Ordering {
        this.1
            .cmp(&that.1)
            .then_with(|| self.settle(this.0, other, that.0))
    }
    fn keep(&self, row: usize, into: &mut Option<Kept>) {
        let kept = into.get_or_insert_default();
        kept.head = self.heads[row];
        kept.values.resize(self.parts.len(), None);
        for (value, kept) in self.values(row).zip(&mut kept.values) {
            match (value, kept) {
                (Some(value), Some(kept)) => value.clone_into(kept),
                (value, kept) => *kept = value.map(Into::into),
            }
        }
    }
    fn against(&self, row: usize, kept: &Kept) -> Ordering {
        let by_parts = || {
            let values = self.values(row).zip(&kept.values);
            let mut orders = values
                .zip(&self.parts[..])
                .map(|((a, b), part)| part.compare(a, b.as_deref()));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        self.heads[row].cmp(&kept.head).then_with(by_parts)
    }
    fn group(&self, row: usize, mask: u128) -> Kept {
        let values = self.values(row).take(self.group_parts);
        Kept {
            head: self.heads[row] & mask,
            values: values.map(|value| value.map(Into::into)).collect(),
        }
    }
    fn in_group(&self, row: usize, group: &Kept, mask: u128) -> bool {
        let values = self.values(row).take(self.group_parts);
        self.heads[row].agrees(group.head, mask) && values.eq(group.values.iter().map(Option::as_deref))
    }
    fn same_group(&self, row: usize, other: &Self, other_row: usize, mask: u128) -> bool {
        let same_values = || {
            let values = self.values(row).take(self.group_parts);
            values.eq(other.values(other_row).take(self.group_parts))
        };
        self.heads[row].agrees(other.heads[other_row], mask) && same_values()
    }
}
