//! Whole numbers on the shelf: as narrow as their distance from the least of their batch allows. Most columns hold numbers that lie
//! close together in a batch, and what is narrow stays in memory longer.

use super::scratch::{Block, Scratch};
use crate::error::MergeError;
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use bytes::Bytes;
use std::ops::Range;

/// Numbers of one batch.
#[derive(Debug)]
pub(super) struct Numbers {
    /// Bytes of a number.
    width: usize,
    least: i64,
    /// Bytes that are kept of it.
    kept: usize,
    block: Block,
}

/// Whether values of a type are whole numbers of 32 or 64 bits, whatever they stand for.
pub(super) fn are_numbers(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(
        data_type,
        Int32
            | UInt32
            | Int64
            | UInt64
            | Date32
            | Date64
            | Time32(_)
            | Time64(_)
            | Timestamp(_, _)
            | Duration(_)
    )
}

impl Numbers {
    /// Lays numbers of so many bytes, little end first; nothing if they lie too far apart for that to pay.
    pub(super) fn lay(scratch: &Scratch, bytes: &[u8], width: usize) -> Result<Option<Self>, MergeError> {
        match width {
            4 => {
                let numbers = bytes.as_chunks().0.iter();
                Self::lay_wide(
                    scratch,
                    width,
                    numbers.map(|number| i32::from_le_bytes(*number).into()),
                )
            }
            _ => {
                let numbers = bytes.as_chunks().0.iter();
                Self::lay_wide(scratch, width, numbers.map(|number| i64::from_le_bytes(*number)))
            }
        }
    }

    fn lay_wide(
        scratch: &Scratch,
        width: usize,
        numbers: impl Iterator<Item = i64> + Clone,
    ) -> Result<Option<Self>, MergeError> {
        let ends = |(least, greatest): (i64, i64), number: i64| (least.min(number), greatest.max(number));
        let (least, greatest) = numbers.clone().fold((i64::MAX, i64::MIN), ends);
        let distances = numbers.map(|number| number.wrapping_sub(least) as u64);
        let (kept, narrow) = match greatest.wrapping_sub(least) as u64 {
            0..=0xFF => (
                1,
                Buffer::from_vec(distances.map(|far| far as u8).collect::<Vec<_>>()),
            ),
            0x100..=0xFFFF => (
                2,
                Buffer::from_vec(distances.map(|far| far as u16).collect::<Vec<_>>()),
            ),
            0x1_0000..=0xFFFF_FFFF if width > 4 => (
                4,
                Buffer::from_vec(distances.map(|far| far as u32).collect::<Vec<_>>()),
            ),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            width,
            least,
            kept,
            block: scratch.lay(narrow.as_slice())?,
        }))
    }

    /// Some of them, as they came.
    pub(super) fn read(&self, scratch: &Scratch, rows: Range<usize>) -> Result<Bytes, MergeError> {
        let bytes = scratch.read(&self.block, rows.start * self.kept..rows.end * self.kept)?;
        Ok(match self.kept {
            1 => self.widened(bytes.iter().map(|far| i64::from(*far))),
            2 => self.widened(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|far| i64::from(u16::from_le_bytes(*far))),
            ),
            _ => self.widened(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|far| i64::from(u32::from_le_bytes(*far))),
            ),
        })
    }

    fn widened(&self, distances: impl Iterator<Item = i64>) -> Bytes {
        let numbers = distances.map(|far| self.least.wrapping_add(far));
        Bytes::from_owner(match self.width {
            4 => Buffer::from_vec(numbers.map(|number| number as i32).collect::<Vec<_>>()),
            _ => Buffer::from_vec(numbers.collect::<Vec<_>>()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were_however_far_apart_they_lie() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(directory.path(), 1_000, 1);
        let all = [
            (vec![7, 7, 7], Some(1)),
            (vec![-100, 155, 0], Some(1)),
            (vec![-100, 156, 0], Some(2)),
            (vec![i64::MAX - 65_535, i64::MAX], Some(2)),
            (vec![i64::MIN, i64::MIN + 65_536], Some(4)),
            (vec![0, u32::MAX.into()], Some(4)),
            (vec![0, i64::from(u32::MAX) + 1], None),
            (vec![i64::MIN, i64::MAX], None),
        ];
        for (numbers, kept) in all {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let laid = Numbers::lay(&scratch, &bytes, 8).unwrap();
            assert_eq!(laid.as_ref().map(|laid| laid.kept), kept, "{numbers:?}");
            if let Some(laid) = laid {
                assert_eq!(laid.read(&scratch, 0..numbers.len()).unwrap(), bytes);
                assert_eq!(laid.read(&scratch, 1..2).unwrap(), bytes[8..16]);
            }
        }
    }

    #[test]
    fn short_numbers_are_kept_short() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(directory.path(), 1_000, 1);
        let lay = |numbers: &[i32]| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            (Numbers::lay(&scratch, &bytes, 4).unwrap(), bytes)
        };
        let (laid, bytes) = lay(&[-5, i32::MIN, i32::MIN + 9]);
        assert!(laid.is_none(), "{bytes:?}");
        let (laid, bytes) = lay(&[-5, -300, 200]);
        assert_eq!(laid.unwrap().read(&scratch, 0..3).unwrap(), bytes);
    }
}
