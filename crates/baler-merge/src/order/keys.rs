//! Keys of rows, in the cheapest form whose comparison is the order.

use crate::error::MergeError;
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::ArrowNativeType;
use arrow::row::Rows;
use std::cmp::Ordering;
use std::sync::Arc;

/// Keys of consecutive rows, or versions of them. Clones and slices share the memory.
#[derive(Clone, Debug)]
pub(crate) enum Keys {
    /// All columns in 64 bits.
    Short(ScalarBuffer<u64>),
    /// All columns in 128 bits.
    Long(ScalarBuffer<u128>),
    /// Arrow's row format: any length.
    Rows(RowKeys),
}

impl Keys {
    pub(crate) fn len(&self) -> usize {
        match self {
            Keys::Short(keys) => keys.len(),
            Keys::Long(keys) => keys.len(),
            Keys::Rows(keys) => keys.rows,
        }
    }

    /// Some of the rows; copies nothing.
    pub(crate) fn slice(&self, start: usize, rows: usize) -> Self {
        match self {
            Keys::Short(keys) => Keys::Short(keys.slice(start, rows)),
            Keys::Long(keys) => Keys::Long(keys.slice(start, rows)),
            Keys::Rows(keys) => Keys::Rows(keys.slice(start, rows)),
        }
    }

    /// Memory that they hold; rows shared with other slices are counted here too.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Keys::Short(keys) => keys.len() * 8,
            Keys::Long(keys) => keys.len() * 16,
            Keys::Rows(keys) => keys.order.size() + keys.groups.as_ref().map_or(0, |groups| groups.size()),
        }
    }

    /// How a row of these compares with one of others of the same layout.
    pub(crate) fn compare(&self, row: usize, other: &Keys, other_row: usize) -> Result<Ordering, MergeError> {
        match (self, other) {
            (Keys::Short(a), Keys::Short(b)) => Ok(a[row].cmp(&b[other_row])),
            (Keys::Long(a), Keys::Long(b)) => Ok(a[row].cmp(&b[other_row])),
            (Keys::Rows(a), Keys::Rows(b)) => Ok(a.data(row).cmp(b.data(other_row))),
            _ => Err(mixed()),
        }
    }

    /// How a row compares with a key that was kept. Keys of another layout are less: no proof holds for them.
    pub(super) fn against(&self, row: usize, kept: &KeyValue) -> Ordering {
        match (self, kept) {
            (Keys::Short(keys), KeyValue::Short(kept)) => keys[row].cmp(kept),
            (Keys::Long(keys), KeyValue::Long(kept)) => keys[row].cmp(kept),
            (Keys::Rows(keys), KeyValue::Row(kept)) => keys.data(row).cmp(kept),
            _ => Ordering::Less,
        }
    }

    /// One of them, to keep.
    pub(super) fn value(&self, row: usize) -> KeyValue {
        match self {
            Keys::Short(keys) => KeyValue::Short(keys[row]),
            Keys::Long(keys) => KeyValue::Long(keys[row]),
            Keys::Rows(keys) => KeyValue::Row(keys.data(row).into()),
        }
    }
}

/// A version that was kept; comparable with others of the same layout.
#[derive(Clone, Debug)]
pub(super) enum KeyValue {
    Short(u64),
    Long(u128),
    Row(Vec<u8>),
}

pub(super) fn mixed() -> MergeError {
    MergeError::Proof("keys of two layouts met in one merge".into())
}

/// Keys in arrow's row format, with those of the rule's key alone where that is only a part of the sort key.
#[derive(Clone, Debug)]
pub(crate) struct RowKeys {
    order: Arc<Rows>,
    groups: Option<Arc<Rows>>,
    start: usize,
    rows: usize,
}

impl RowKeys {
    pub(super) fn new(order: Rows, groups: Option<Rows>) -> Self {
        Self {
            start: 0,
            rows: order.num_rows(),
            order: Arc::new(order),
            groups: groups.map(Arc::new),
        }
    }

    fn slice(&self, start: usize, rows: usize) -> Self {
        assert!(
            start + rows <= self.rows,
            "a slice lies inside what it is cut from"
        );
        Self {
            start: self.start + start,
            rows,
            ..self.clone()
        }
    }

    pub(super) fn data(&self, row: usize) -> &[u8] {
        self.order.row(self.start + row).data()
    }

    pub(super) fn group_data(&self, row: usize) -> &[u8] {
        match &self.groups {
            Some(groups) => groups.row(self.start + row).data(),
            None => self.data(row),
        }
    }

    /// The rows with these numbers, in this order.
    pub(super) fn taken(&self, picks: &[u32]) -> Self {
        let take = |rows: &Rows| {
            let mut taken = rows.clone();
            taken.clear();
            for pick in picks {
                taken.push(rows.row(self.start + *pick as usize));
            }
            taken
        };
        Self::new(take(&self.order), self.groups.as_deref().map(take))
    }
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

/// An unsigned integer that holds a packed key.
pub(super) trait Word: Copy + Ord + Default + ArrowNativeType {
    /// Whether two keys have the same bits under the mask.
    fn agrees(self, other: Self, mask: Self) -> bool;
}

impl Word for u64 {
    fn agrees(self, other: Self, mask: Self) -> bool {
        (self ^ other) & mask == 0
    }
}

impl Word for u128 {
    fn agrees(self, other: Self, mask: Self) -> bool {
        (self ^ other) & mask == 0
    }
}

/// Keys of one form, so that the merge is compiled for each.
pub(super) trait KeyColumn: Sized {
    /// What is compared first, and for packed keys all that is compared.
    type Head: Word;
    /// The key of a row, or the rule's key of it, to keep.
    type Kept: PartialEq;

    fn of(keys: &Keys) -> Option<Self>;
    fn len(&self) -> usize;
    fn head(&self, row: usize) -> Self::Head;
    /// The heads, if they are the whole keys.
    fn exact(&self) -> Option<&[Self::Head]>;
    /// Compares a row with another's, both given with their heads.
    fn compare(&self, this: (usize, Self::Head), other: &Self, that: (usize, Self::Head)) -> Ordering;
    /// The key of a row, in place of another.
    fn keep(&self, row: usize, into: &mut Option<Self::Kept>);
    fn against(&self, row: usize, kept: &Self::Kept) -> Ordering;
    fn group(&self, row: usize, mask: Self::Head) -> Self::Kept;
    fn in_group(&self, row: usize, group: &Self::Kept, mask: Self::Head) -> bool;
    fn same_group(&self, row: usize, other_row: usize, mask: Self::Head) -> bool;
}

/// Packed keys.
pub(super) struct Packed<W: Word>(ScalarBuffer<W>);

macro_rules! packed {
    ($word:ty, $form:path) => {
        impl KeyColumn for Packed<$word> {
            type Head = $word;
            type Kept = $word;

            fn of(keys: &Keys) -> Option<Self> {
                match keys {
                    $form(keys) => Some(Self(keys.clone())),
                    _ => None,
                }
            }
            fn len(&self) -> usize {
                self.0.len()
            }
            fn head(&self, row: usize) -> $word {
                self.0[row]
            }
            fn exact(&self) -> Option<&[$word]> {
                Some(&self.0)
            }
            fn compare(&self, this: (usize, $word), _: &Self, that: (usize, $word)) -> Ordering {
                this.1.cmp(&that.1)
            }
            fn keep(&self, row: usize, into: &mut Option<$word>) {
                *into = Some(self.0[row]);
            }
            fn against(&self, row: usize, kept: &$word) -> Ordering {
                self.0[row].cmp(kept)
            }
            fn group(&self, row: usize, mask: $word) -> $word {
                self.0[row] & mask
            }
            fn in_group(&self, row: usize, group: &$word, mask: $word) -> bool {
                self.0[row].agrees(*group, mask)
            }
            fn same_group(&self, row: usize, other_row: usize, mask: $word) -> bool {
                self.0[row].agrees(self.0[other_row], mask)
            }
        }
    };
}

packed!(u64, Keys::Short);
packed!(u128, Keys::Long);

impl KeyColumn for RowKeys {
    /// The first bytes, which settle most comparisons.
    type Head = u128;
    type Kept = Vec<u8>;

    fn of(keys: &Keys) -> Option<Self> {
        match keys {
            Keys::Rows(keys) => Some(keys.clone()),
            _ => None,
        }
    }
    fn len(&self) -> usize {
        self.rows
    }
    fn head(&self, row: usize) -> u128 {
        let data = self.data(row);
        match data.first_chunk() {
            Some(first) => u128::from_be_bytes(*first),
            None => {
                let mut first = [0; 16];
                first[..data.len()].copy_from_slice(data);
                u128::from_be_bytes(first)
            }
        }
    }
    fn exact(&self) -> Option<&[u128]> {
        None
    }
    fn compare(&self, this: (usize, u128), other: &Self, that: (usize, u128)) -> Ordering {
        this.1
            .cmp(&that.1)
            .then_with(|| self.data(this.0).cmp(other.data(that.0)))
    }
    fn keep(&self, row: usize, into: &mut Option<Vec<u8>>) {
        let into = into.get_or_insert_default();
        into.clear();
        into.extend_from_slice(self.data(row));
    }
    fn against(&self, row: usize, kept: &Vec<u8>) -> Ordering {
        self.data(row).cmp(kept)
    }
    fn group(&self, row: usize, _: u128) -> Vec<u8> {
        self.group_data(row).into()
    }
    fn in_group(&self, row: usize, group: &Vec<u8>, _: u128) -> bool {
        self.group_data(row) == group
    }
    fn same_group(&self, row: usize, other_row: usize, _: u128) -> bool {
        self.group_data(row) == self.group_data(other_row)
    }
}
