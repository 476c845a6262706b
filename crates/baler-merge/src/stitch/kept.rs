//! Key columns that were unpacked to look at their order, kept for stitching: unpacking them again would cost more than keeping them
//! as differences.

use crate::pages::delta;
use crate::pages::plain::Layout;
use xxhash_rust::xxh3::xxh3_128;

/// Integers of a row group, none of them null.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) rows: usize,
    width: usize,
    /// As they lie in a page of differences.
    pub(super) differences: Vec<u8>,
    /// The first and the last.
    pub(super) ends: [Vec<u8>; 2],
    /// Of the values as they were unpacked: what is given back is what was found.
    pub(super) hash: u128,
}

impl Kept {
    /// Keeps plain integers of this width.
    pub(crate) fn of(plain: &[u8], width: usize) -> Self {
        let differences = match width {
            4 => delta::encode(
                &plain
                    .as_chunks()
                    .0
                    .iter()
                    .map(|bytes| i32::from_le_bytes(*bytes))
                    .collect::<Vec<_>>(),
            ),
            _ => delta::encode(
                &plain
                    .as_chunks()
                    .0
                    .iter()
                    .map(|bytes| i64::from_le_bytes(*bytes))
                    .collect::<Vec<_>>(),
            ),
        };
        let ends = [plain.get(..width), plain.rchunks(width.max(1)).next()];
        Self {
            rows: plain.len() / width.max(1),
            width,
            differences,
            ends: ends.map(|end| end.unwrap_or_default().to_vec()),
            hash: xxh3_128(plain),
        }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.differences.len() + 2 * self.width + size_of::<Self>()
    }

    /// Bytes that the integers take in a plain page.
    pub(super) fn plain_bytes(&self) -> usize {
        self.rows * self.width
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::Fixed(self.width)
    }

    /// The integers, plain, in place of what `into` holds.
    pub(crate) fn unpack(&self, into: &mut Vec<u8>) -> Result<(), String> {
        delta::decode_plain(&self.differences, self.rows, self.width, into)?;
        match xxh3_128(into) == self.hash {
            true => Ok(()),
            false => Err("keys that were kept are not those that were read".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_as_they_were_read_or_not_at_all() {
        let numbers = [i64::MIN, -7, 0, 1, 2, 900, i64::MAX];
        let wide: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let narrow: Vec<u8> = (0..5_000i32)
            .flat_map(|number| (number * 3).to_le_bytes())
            .collect();
        for (plain, width) in [(wide, 8), (narrow, 4)] {
            let mut kept = Kept::of(&plain, width);
            let mut found = vec![1, 2, 3];
            kept.unpack(&mut found).unwrap();
            assert_eq!(found, plain);
            // In the first value, behind the counts.
            kept.differences[5] ^= 1;
            assert!(kept.unpack(&mut found).is_err());
        }
    }
}
