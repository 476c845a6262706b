//! Strings put together one after another. Most are short, and a copy of known length costs less than asking for their own.

use arrow::array::OffsetSizeTrait;
use arrow::error::ArrowError;

/// Strings up to this are copied with what lies behind them, which the next one overwrites.
const SHORT: usize = 32;

/// Strings in the making.
pub(super) struct Strings<O> {
    offsets: Vec<O>,
    bytes: Vec<u8>,
    end: usize,
}

impl<O: OffsetSizeTrait> Strings<O> {
    /// For so many strings of so many bytes together.
    pub(super) fn with_room(rows: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(O::zero());
        Self {
            offsets,
            bytes: vec![0; bytes + SHORT],
            end: 0,
        }
    }

    /// Appends the strings between these offsets.
    pub(super) fn push(&mut self, offsets: &[u32], from: &[u8]) {
        let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
        let base = self.end;
        self.copy(&from[first..], last - first);
        for end in &offsets[1..] {
            self.offsets.push(O::usize_as(base + *end as usize - first));
        }
    }

    /// Appends empty strings.
    pub(super) fn push_empty(&mut self, rows: usize) {
        self.offsets
            .resize(self.offsets.len() + rows, O::usize_as(self.end));
    }

    fn copy(&mut self, from: &[u8], length: usize) {
        let into = &mut self.bytes[self.end..];
        match (into.first_chunk_mut::<SHORT>(), from.first_chunk::<SHORT>()) {
            (Some(into), Some(from)) if length <= SHORT => *into = *from,
            _ => into[..length].copy_from_slice(&from[..length]),
        }
        self.end += length;
    }

    /// Offsets and bytes; fails if the bytes are too many for the offsets.
    pub(super) fn finish(mut self) -> Result<(Vec<O>, Vec<u8>), ArrowError> {
        self.bytes.truncate(self.end);
        match O::IS_LARGE || i32::try_from(self.end).is_ok() {
            true => Ok((self.offsets, self.bytes)),
            false => Err(ArrowError::OffsetOverflowError(self.end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_any_length_stand_one_after_another() {
        let from: Vec<u8> = (0..200).collect();
        let lengths = [0, 1, 31, 32, 33, 70, 5, 0, 28];
        let mut offsets = vec![0];
        lengths
            .iter()
            .for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
        for step in 1..=lengths.len() {
            let mut strings = Strings::<i32>::with_room(lengths.len() + 2, 200);
            for first in (0..lengths.len()).step_by(step) {
                strings.push(&offsets[first..=(first + step).min(lengths.len())], &from);
            }
            strings.push_empty(2);
            let (ends, bytes) = strings.finish().unwrap();
            assert_eq!(bytes, from);
            assert_eq!(
                ends[..10],
                offsets.iter().map(|end| *end as i32).collect::<Vec<_>>()
            );
            assert_eq!(ends[10..], [200, 200]);
        }
    }
}
