//! What the merge asks of keys, whatever their form.

use super::keys::Keys;
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::ArrowNativeType;
use std::cmp::Ordering;

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

    /// Whether heads are the whole keys.
    const EXACT: bool;

    fn of(keys: &Keys) -> Option<Self>;
    /// A head for each row. Of two that differ the lesser has the lesser key.
    fn heads(&self) -> &[Self::Head];
    fn len(&self) -> usize {
        self.heads().len()
    }
    fn head(&self, row: usize) -> Self::Head {
        self.heads()[row]
    }
    /// Compares a row with another's, both given with their heads.
    fn compare(&self, this: (usize, Self::Head), other: &Self, that: (usize, Self::Head)) -> Ordering;
    /// The key of a row, in place of another.
    fn keep(&self, row: usize, into: &mut Option<Self::Kept>);
    fn against(&self, row: usize, kept: &Self::Kept) -> Ordering;
    fn group(&self, row: usize, mask: Self::Head) -> Self::Kept;
    fn in_group(&self, row: usize, group: &Self::Kept, mask: Self::Head) -> bool;
    /// Whether a row has the same rule's key as another's.
    fn same_group(&self, row: usize, other: &Self, other_row: usize, mask: Self::Head) -> bool;
}

/// Packed keys.
pub(super) struct Packed<W: Word>(ScalarBuffer<W>);

macro_rules! packed {
    ($word:ty, $form:path) => {
        impl KeyColumn for Packed<$word> {
            type Head = $word;
            type Kept = $word;

            const EXACT: bool = true;

            fn of(keys: &Keys) -> Option<Self> {
                match keys {
                    $form(keys) => Some(Self(keys.clone())),
                    _ => None,
                }
            }
            fn heads(&self) -> &[$word] {
                &self.0
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
            fn same_group(&self, row: usize, other: &Self, other_row: usize, mask: $word) -> bool {
                self.0[row].agrees(other.0[other_row], mask)
            }
        }
    };
}

packed!(u64, Keys::Short);
packed!(u128, Keys::Long);
