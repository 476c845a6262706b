//! What stands for the values of a dictionary in a seal: the values themselves where all have one width, and hashes of them where
//! they do not.

use crate::pages::dictionary::{Values, gather_fixed};
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_64;

/// Marks of one width, one after another.
pub(crate) struct Marks<'a> {
    width: usize,
    bytes: Cow<'a, [u8]>,
}

const HASH_BYTES: usize = size_of::<u64>();
/// So many marks are gathered at once.
const AT_ONCE: usize = 4 << 10;

impl<'a> Marks<'a> {
    pub(crate) fn of(values: &'a Values) -> Self {
        match values.width() {
            Some(width) => Self {
                width,
                bytes: Cow::Borrowed(values.bytes()),
            },
            None => Self {
                width: HASH_BYTES,
                bytes: values
                    .iter()
                    .flat_map(|value| Self::hash_of(value).to_le_bytes())
                    .collect(),
            },
        }
    }

    /// Of false and true.
    pub(crate) fn of_bits() -> Self {
        Self {
            width: 1,
            bytes: Cow::Borrowed(&[0, 1]),
        }
    }

    /// The mark of a value of any length.
    pub(crate) fn hash_of(value: &[u8]) -> u64 {
        xxh3_64(value)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len().checked_div(self.width).unwrap_or(0)
    }

    /// Hands over the marks of these numbers, some at a time. All numbers must be below [`Marks::len`].
    pub(crate) fn gather(&self, numbers: &[u32], room: &mut Vec<u8>, mut take: impl FnMut(&[u8])) {
        for numbers in numbers.chunks(AT_ONCE) {
            room.clear();
            match self.width {
                8 => gather_fixed::<8>(&self.bytes, numbers, room),
                4 => gather_fixed::<4>(&self.bytes, numbers, room),
                1 => gather_fixed::<1>(&self.bytes, numbers, room),
                width => numbers.iter().for_each(|number| {
                    room.extend_from_slice(&self.bytes[*number as usize * width..][..width]);
                }),
            }
            take(room);
        }
    }
}
