//! How a column of a row group is encoded: known for codes, else tried on some of its rows. Pure.

use super::gather::Gather;
use super::own_pages::{bytes_page, delta_numbers, odd, plain_numbers, valid_bytes, valid_codes};
use crate::error::MergeError;
use crate::pages::bits::width_of;
use crate::pages::bounds::{Bounds, Order};
use crate::pages::codec::Packer;
use crate::pages::{plain, rle};
use crate::shelf::{Entries, Flat, Values};
use crate::spec::Codec;
use crate::write::writing;
use arrow::array::*;
use arrow::datatypes::{DataType, TimeUnit};
use parquet::basic::{Encoding, Type};
use parquet::schema::types::ColumnDescPtr;
use std::collections::HashSet;
use std::sync::Arc;

/// An encoding, with what it needs to know.
pub(super) enum Way {
    /// Dictionary entries that are known by code.
    Codes(Known),
    /// Numbers of so many bytes, PLAIN or as differences.
    Numbers(usize, Encoding),
    /// Few numbers that lie close together.
    Few(Few),
    /// Strings and binaries, PLAIN or with their lengths apart.
    Bytes(Encoding),
    /// Nested columns, rare types, and dictionaries that must be looked for.
    Crate,
}

/// Whether pages of our own hold values of this type as this leaf does.
pub(super) fn is_ours(data_type: &DataType, leaf: &ColumnDescPtr) -> bool {
    use DataType::*;
    let flat = leaf.max_rep_level() == 0 && leaf.max_def_level() <= 1 && leaf.path().parts().len() == 1;
    flat && match (data_type, leaf.physical_type()) {
        (Int32 | UInt32 | Date32 | Time32(TimeUnit::Millisecond), Type::INT32) => true,
        (Int64 | UInt64 | Time64(_), Type::INT64) => true,
        (Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond, _), Type::INT64) => {
            true
        }
        (Float32, Type::FLOAT) | (Float64, Type::DOUBLE) => Order::of(leaf).is_some(),
        (Utf8 | LargeUtf8 | Binary | LargeBinary, Type::BYTE_ARRAY) => true,
        (FixedSizeBinary(width), Type::FIXED_LEN_BYTE_ARRAY) => leaf.type_length() == *width,
        _ => false,
    }
}

/// Chooses for a column of a window of so many rows, given some of them.
pub(super) fn choose(
    gather: &Gather<'_>,
    sample: &ArrayRef,
    leaf: &ColumnDescPtr,
    codec: Codec,
    window_rows: usize,
) -> Result<Way, MergeError> {
    if let Some(known) = gather.known() {
        return Ok(Way::Codes(known));
    }
    let mut packer = Packer::new(codec).map_err(writing)?;
    let mut size = |bytes: &[u8]| packer.pack(bytes).map(|packed| packed.len()).map_err(writing);
    let order = Order::of(leaf);
    let rows = sample.len() - sample.null_count();
    let width = gather.width();
    let mut best = match order {
        Some(Order::Signed32 | Order::Signed64 | Order::Unsigned32 | Order::Unsigned64) => {
            let (_, bytes) = plain_numbers(sample, width, None);
            let (plain, delta) = (size(&bytes)?, size(&delta_numbers(&bytes, width))?);
            // A gain of a few bytes is not worth undoing the differences.
            let mut best = match delta + delta / 32 < plain {
                true => (delta, Way::Numbers(width, Encoding::DELTA_BINARY_PACKED)),
                false => (plain, Way::Numbers(width, Encoding::PLAIN)),
            };
            if let Some(few) = Few::of(gather.sources(), width) {
                let (_, codes) = few.page(sample, None);
                let indices = size(&rle::encode_indices(&codes, few.used()))?;
                let dictionary = size(&few.plain_dictionary())?;
                let packed = indices + dictionary * sample.len() / window_rows.max(1);
                if packed < best.0 {
                    best = (packed, Way::Few(few));
                }
            }
            best
        }
        Some(Order::Float32 | Order::Float64) => {
            let (_, plain) = plain_numbers(sample, width, None);
            (size(&plain)?, Way::Numbers(width, Encoding::PLAIN))
        }
        _ => {
            let plain = size(&bytes_page(sample, Encoding::PLAIN)?.0)?;
            let apart = match sample.data_type() {
                DataType::FixedSizeBinary(_) => None,
                _ => Some(size(&bytes_page(sample, Encoding::DELTA_LENGTH_BYTE_ARRAY)?.0)?),
            };
            match apart {
                // Bytes without lengths between them are packed and unpacked in less time, which is worth a few of them.
                Some(apart) if apart <= plain + plain / 32 => {
                    (apart, Way::Bytes(Encoding::DELTA_LENGTH_BYTE_ARRAY))
                }
                _ => (plain, Way::Bytes(Encoding::PLAIN)),
            }
        }
    };
    // A dictionary that must be looked for: worth it only where values come again and again.
    if let Some(distinct) = distinct(sample, rows / 4)? {
        let indices = rows * usize::from(width_of(distinct.saturating_sub(1) as u64)) / 8;
        if indices + indices / 4 < best.0 {
            best.1 = Way::Crate;
        }
    }
    Ok(best.1)
}

/// How many different values there are, if not more than `most`.
fn distinct(sample: &ArrayRef, most: usize) -> Result<Option<usize>, MergeError> {
    Ok(match sample.data_type() {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::FixedSizeBinary(_) => {
            let bytes =
                arrow::compute::cast(sample, &DataType::LargeBinary).map_err(|why| odd(&why.to_string()))?;
            count_distinct(bytes.as_binary::<i64>().iter().flatten(), most)
        }
        other => match other.primitive_width() {
            Some(4) => count_distinct(valid_bytes::<4>(sample).chunks_exact(4), most),
            Some(8) => count_distinct(valid_bytes::<8>(sample).chunks_exact(8), most),
            _ => None,
        },
    })
}

fn count_distinct<'a>(values: impl Iterator<Item = &'a [u8]>, most: usize) -> Option<usize> {
    let mut seen = HashSet::new();
    for value in values {
        seen.insert(value);
        if seen.len() > most {
            return None;
        }
    }
    Some(seen.len())
}

/// The dictionary of a column in codes, and which of its entries a row group uses.
pub(super) struct Known {
    entries: Arc<Entries>,
    /// By code: its place among those used.
    dense: Vec<u32>,
    used: Vec<u32>,
}

impl Known {
    pub(super) fn new(entries: Arc<Entries>, is_used: &[bool]) -> Self {
        let (mut dense, mut used) = (vec![0; is_used.len()], Vec::new());
        for (code, _) in is_used.iter().enumerate().filter(|(_, used)| **used) {
            dense[code] = used.len() as u32;
            used.push(code as u32);
        }
        Self { entries, dense, used }
    }

    pub(super) fn codes_of(&self, rows: &ArrayRef) -> Result<Vec<u32>, MergeError> {
        valid_codes(rows)
    }

    pub(super) fn dense(&self, code: u32) -> u32 {
        self.dense[code as usize]
    }

    /// Entries in use.
    pub(super) fn used(&self) -> usize {
        self.used.len()
    }

    /// Bounds of some codes, and the length of what they stand for.
    pub(super) fn facts(&self, codes: &[u32]) -> (Option<Bounds>, Option<u64>) {
        let ranks = self.entries.ranks();
        let mut ends: Option<(u32, u32)> = None;
        let mut length = 0;
        for code in codes {
            let rank = ranks.of(*code);
            ends = Some(ends.map_or((rank, rank), |(min, max)| (min.min(rank), max.max(rank))));
            length += self.entries.entry(*code).len() as u64;
        }
        let entry = |rank| self.entries.entry(ranks.code(rank));
        let bounds = ends.map(|(min, max)| Bounds::exact(entry(min), entry(max), None));
        (bounds, Some(length))
    }

    pub(super) fn plain_dictionary(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for code in &self.used {
            plain::push_bytes(&mut bytes, self.entries.entry(*code));
        }
        bytes
    }
}

/// Numbers of a row group that lie close together, so that a table says which they are.
pub(super) struct Few {
    width: usize,
    least: i64,
    /// By distance from the least: its place among those used.
    dense: Vec<u32>,
    used: Vec<i64>,
}

/// As far may the greatest be from the least.
const FEW_APART_MAX: i64 = 1 << 16;

impl Few {
    /// Looks at all rows that a window reads; nothing if they lie too far apart.
    fn of(sources: &[Flat], width: usize) -> Option<Self> {
        let bytes = || {
            sources.iter().filter_map(|source| match &source.values {
                Values::Fixed(bytes) => Some(bytes),
                _ => None,
            })
        };
        fn all<'a>(bytes: impl Iterator<Item = &'a bytes::Bytes>, width: usize, mut take: impl FnMut(i64)) {
            for bytes in bytes {
                match width {
                    4 => bytes
                        .as_chunks()
                        .0
                        .iter()
                        .for_each(|v| take(i32::from_le_bytes(*v).into())),
                    _ => bytes
                        .as_chunks()
                        .0
                        .iter()
                        .for_each(|v| take(i64::from_le_bytes(*v))),
                }
            }
        }
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        all(bytes(), width, |value| {
            (min, max) = (min.min(value), max.max(value))
        });
        let apart = max
            .checked_sub(min)
            .filter(|apart| (0..FEW_APART_MAX).contains(apart))?;
        let mut is_used = vec![false; apart as usize + 1];
        all(bytes(), width, |value| is_used[(value - min) as usize] = true);
        let (mut dense, mut used) = (vec![0; is_used.len()], Vec::new());
        for (place, _) in is_used.iter().enumerate().filter(|(_, used)| **used) {
            dense[place] = used.len() as u32;
            used.push(min + place as i64);
        }
        Some(Self {
            width,
            least: min,
            dense,
            used,
        })
    }

    pub(super) fn used(&self) -> usize {
        self.used.len()
    }

    /// Bounds and codes of the rows that are there.
    pub(super) fn page(&self, rows: &ArrayRef, order: Option<Order>) -> (Option<Bounds>, Vec<u32>) {
        let (bounds, bytes) = plain_numbers(rows, self.width, order);
        let code = |value: i64| self.dense[(value - self.least) as usize];
        let codes = match self.width {
            4 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|value| code(i32::from_le_bytes(*value).into()))
                .collect(),
            _ => bytes
                .as_chunks()
                .0
                .iter()
                .map(|value| code(i64::from_le_bytes(*value)))
                .collect(),
        };
        (bounds, codes)
    }

    pub(super) fn plain_dictionary(&self) -> Vec<u8> {
        match self.width {
            4 => self
                .used
                .iter()
                .flat_map(|value| (*value as i32).to_le_bytes())
                .collect(),
            _ => self.used.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}
