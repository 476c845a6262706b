//! Makes a page of what was gathered, and finds out what the page index will say about it.

use super::choose::{Merged, Shape, ascend};
use super::read_back::Encoded;
use super::write::{Origin, Writer};
use crate::pages::bounds::Bounds;
use crate::pages::chunk_writer::PageFacts;
use crate::pages::plain::{Layout, each_byte_array};
use crate::pages::{bits, delta, rle};
use parquet::basic::{Encoding, Type};
use std::io;

impl Writer<'_> {
    /// Writes the draft as a page, if it has rows.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.draft.rows == 0 {
            return Ok(());
        }
        let levels = self.draft.levels();
        let mut facts = PageFacts {
            rows: self.draft.rows,
            nulls: self.draft.nulls,
            ..PageFacts::default()
        };
        let codes = &self.draft.codes;
        let (encoding, made) = match self.shape {
            Shape::Dictionary(merged) if !codes.is_empty() => {
                self.describe_codes(merged, &mut facts);
                let indices = rle::encode_indices(codes, merged.values.len());
                (Encoding::RLE_DICTIONARY, Some(indices))
            }
            Shape::Bits => {
                self.describe_bits(&mut facts);
                let mut packed = Vec::new();
                bits::pack(codes, 1, &mut packed);
                (Encoding::PLAIN, Some(packed))
            }
            shape => {
                self.describe_plain(&mut facts)?;
                match matches!(shape, Shape::Delta) && ascend(&self.draft.plain, self.leaf) {
                    true => (Encoding::DELTA_BINARY_PACKED, Some(self.delta())),
                    false => (Encoding::PLAIN, None),
                }
            }
        };
        self.widen(facts.bounds.clone().as_ref(), &facts);
        let nulls = facts.nulls;
        self.made.page(&Encoded {
            encoding,
            rows: facts.rows,
            levels: levels.as_deref(),
            values: made.as_ref().unwrap_or(&self.draft.plain),
        });
        let head = match made {
            Some(values) if encoding == Encoding::RLE_DICTIONARY => {
                self.chunk.narrow_page(encoding, levels, values, facts)?
            }
            made => {
                let values = made.as_ref().unwrap_or(&self.draft.plain);
                self.chunk.page(encoding, levels.as_deref(), values, facts)?
            }
        };
        self.origins.push(Origin::Written { nulls, head });
        self.draft.clear();
        Ok(())
    }

    fn delta(&self) -> Vec<u8> {
        let plain = &self.draft.plain;
        match self.leaf.physical_type() {
            Type::INT32 => {
                let values = plain.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes));
                delta::encode(&values.collect::<Vec<i32>>())
            }
            _ => {
                let values = plain.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes));
                delta::encode(&values.collect::<Vec<i64>>())
            }
        }
    }

    /// Codes are in the order of their values, so their ends are the values' ends; NaN stand apart.
    fn describe_codes(&self, merged: &Merged, facts: &mut PageFacts) {
        let Some(order) = self.order else { return };
        let codes = &self.draft.codes;
        let nans = match order.is_float() {
            true => codes.iter().filter(|code| **code >= merged.nan_from).count(),
            false => 0,
        };
        let mut ends = ends(codes, merged.values.len());
        if nans > 0 && nans < codes.len() {
            let numbers = codes.iter().copied().filter(|code| *code < merged.nan_from);
            ends.1 = numbers.fold(0, u32::max);
        }
        let value = |code: u32| merged.values.get(code as usize);
        let nans = order.is_float().then_some(nans as u64);
        facts.bounds = Some(Bounds::exact(value(ends.0), value(ends.1), nans));
        if self.layout == Layout::Bytes {
            facts.byte_array_bytes = Some(merged.bytes_of(codes));
        }
    }

    fn describe_bits(&self, facts: &mut PageFacts) {
        let codes = &self.draft.codes;
        if self.order.is_some() && !codes.is_empty() {
            let (least, greatest) = ends(codes, 2);
            facts.bounds = Some(Bounds::exact([least as u8], [greatest as u8], None));
        }
    }

    fn describe_plain(&self, facts: &mut PageFacts) -> io::Result<()> {
        let plain = &self.draft.plain;
        let present = facts.rows - facts.nulls;
        facts.byte_array_bytes = self.byte_array_bytes(plain.len(), present);
        let Some(order) = self.order else { return Ok(()) };
        facts.bounds = match self.layout {
            Layout::Fixed(width) => order.bounds_of_fixed(plain, width),
            _ => {
                let mut values = Vec::with_capacity(present);
                each_byte_array(plain, present, |value| values.push(value)).map_err(io::Error::other)?;
                order.bounds_of(values)
            }
        };
        Ok(())
    }
}

/// The least and the greatest of some numbers of so many values. Where both ends are met, no more need be looked at.
fn ends(codes: &[u32], values: usize) -> (u32, u32) {
    let last = values.saturating_sub(1) as u32;
    let (mut least, mut greatest) = (u32::MAX, 0);
    for some in codes.chunks(LOOKED_AT) {
        for code in some {
            (least, greatest) = (least.min(*code), greatest.max(*code));
        }
        if (least, greatest) == (0, last) {
            break;
        }
    }
    (least, greatest)
}

/// So many codes are looked at together.
const LOOKED_AT: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_wherever_they_lie() {
        let mut codes = vec![5; 3 * LOOKED_AT];
        assert_eq!(ends(&codes, 10), (5, 5));
        codes[2 * LOOKED_AT + 1] = 0;
        codes[LOOKED_AT - 1] = 9;
        assert_eq!(ends(&codes, 10), (0, 9));
        codes[2 * LOOKED_AT + 1] = 3;
        assert_eq!(ends(&codes, 10), (3, 9));
        assert_eq!(ends(&codes[..1], 6), (5, 5));
    }
}
