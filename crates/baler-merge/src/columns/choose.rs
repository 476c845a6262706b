//! How a column of a row group is encoded: known for codes, else tried on some of its rows. Pure.

use super::bytes_pages::bytes_page;
use super::dictionaries::{Few, Known, REPEATED_MAX, Repeated, pool};
use super::gather::Gather;
use super::own_pages::{delta_numbers, odd, plain_numbers};
use crate::error::MergeError;
use crate::pages::bits::width_of;
use crate::pages::bounds::Order;
use crate::pages::codec::Packer;
use crate::pages::rle;
use crate::spec::Codec;
use crate::write::writing;
use arrow::array::*;
use arrow::datatypes::{DataType, TimeUnit};
use parquet::basic::{Encoding, Type};
use parquet::schema::types::ColumnDescPtr;
use std::collections::HashSet;

/// An encoding, with what it needs to know.
pub(super) enum Way {
    /// Dictionary entries that are known by code.
    Codes(Known),
    /// Numbers of so many bytes, PLAIN or as differences.
    Numbers(usize, Encoding),
    /// Few numbers that lie close together.
    Few(Few),
    /// Numbers that come again and again.
    Repeated(Repeated),
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
    let width = gather.width();
    let best = match order {
        Some(Order::Signed32 | Order::Signed64 | Order::Unsigned32 | Order::Unsigned64) => {
            let (_, bytes) = plain_numbers(sample, width, None);
            let (plain, delta) = (size(&bytes)?, size(&delta_numbers(&bytes, width))?);
            // A gain of a few bytes is not worth undoing the differences.
            let mut best = match delta + delta / 32 < plain {
                true => Best(delta, Way::Numbers(width, Encoding::DELTA_BINARY_PACKED)),
                false => Best(plain, Way::Numbers(width, Encoding::PLAIN)),
            };
            if let Some(few) = Few::of(gather.sources(), width) {
                let (_, codes) = few.page(sample, None);
                let indices = size(&rle::encode_indices(&codes, few.used()))?;
                let dictionary = size(&few.plain_dictionary())?;
                let packed = indices + dictionary * sample.len() / window_rows.max(1);
                if packed < best.0 {
                    best = Best(packed, Way::Few(few));
                }
            }
            best.or_repeated(&bytes, width, window_rows)
        }
        Some(Order::Float32 | Order::Float64) => {
            let (_, plain) = plain_numbers(sample, width, None);
            let best = Best(size(&plain)?, Way::Numbers(width, Encoding::PLAIN));
            best.or_repeated(&plain, width, window_rows)
        }
        _ => {
            let plain = size(&bytes_page(sample, Encoding::PLAIN)?.0)?;
            let apart = match sample.data_type() {
                DataType::FixedSizeBinary(_) => None,
                _ => Some(size(&bytes_page(sample, Encoding::DELTA_LENGTH_BYTE_ARRAY)?.0)?),
            };
            match apart {
                // Bytes without lengths between them are packed and unpacked in less time, which is worth a few of them.
                Some(apart) if apart <= plain + plain / 16 => {
                    Best(apart, Way::Bytes(Encoding::DELTA_LENGTH_BYTE_ARRAY))
                }
                _ => Best(plain, Way::Bytes(Encoding::PLAIN)),
            }
            .or_sought(sample)?
        }
    };
    Ok(best.1)
}

/// What the sample takes, and how.
struct Best(usize, Way);

impl Best {
    /// A dictionary of numbers, if by what the sample holds it will not grow too large.
    fn or_repeated(self, plain: &[u8], width: usize, window_rows: usize) -> Self {
        let rows = plain.len() / width;
        let distinct = plain.chunks_exact(width).collect::<HashSet<_>>().len();
        let pool = pool(distinct, rows);
        let indices = rows * usize::from(width_of(pool.saturating_sub(1) as u64)) / 8;
        let packed = indices + pool * width * rows / window_rows.max(1);
        match pool <= REPEATED_MAX && packed + packed / 8 < self.0 {
            true => Self(packed, Way::Repeated(Repeated::of_width(width))),
            false => self,
        }
    }

    /// A dictionary of strings that must be looked for: worth it only where values come again and again.
    fn or_sought(self, sample: &ArrayRef) -> Result<Self, MergeError> {
        let rows = sample.len() - sample.null_count();
        let bytes =
            arrow::compute::cast(sample, &DataType::LargeBinary).map_err(|why| odd(&why.to_string()))?;
        let values = bytes.as_binary::<i64>().iter().flatten();
        Ok(match count_distinct(values, rows / 4) {
            Some(distinct) => {
                let indices = rows * usize::from(width_of(distinct.saturating_sub(1) as u64)) / 8;
                match indices + indices / 4 < self.0 {
                    true => Self(indices, Way::Crate),
                    false => self,
                }
            }
            None => self,
        })
    }
}

/// How many different values there are, if not more than `most`.
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
