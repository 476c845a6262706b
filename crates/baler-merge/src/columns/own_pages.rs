//! Flat columns as pages of our own: codes are written as they are, numbers and strings are copied, and nothing is looked for
//! that is known already.

use super::bytes_pages::{bytes_bounds, bytes_page};
use super::choose::Way;
use crate::error::MergeError;
use crate::group::EncodedColumn;
use crate::limits::PAGE_BYTES;
use crate::pages::bounds::{Bounds, Order};
use crate::pages::chunk_writer::{ChunkWriter, PageFacts};
use crate::pages::{delta, levels, rle};
use crate::spec::Codec;
use crate::write::writing;
use arrow::array::*;
use arrow::datatypes::Int32Type;
use parquet::basic::Encoding;
use parquet::schema::types::ColumnDescPtr;

/// A column chunk in work.
pub(super) struct OwnPages {
    leaf: ColumnDescPtr,
    order: Option<Order>,
    writer: ChunkWriter,
    way: Way,
}

impl OwnPages {
    pub(super) fn new(leaf: ColumnDescPtr, codec: Codec, way: Way) -> Result<Self, MergeError> {
        Ok(Self {
            order: Order::of(&leaf),
            writer: ChunkWriter::new(leaf.clone(), codec).map_err(writing)?,
            leaf,
            way,
        })
    }

    /// Appends rows: one page, or several if they are long.
    pub(super) fn write(&mut self, rows: &ArrayRef) -> Result<(), MergeError> {
        let bytes = match self.way {
            Way::Bytes(_) => rows.to_data().get_slice_memory_size().unwrap_or(0),
            _ => 0,
        };
        let page_rows = rows.len().div_ceil(bytes.div_ceil(PAGE_BYTES).max(1));
        for first in (0..rows.len()).step_by(page_rows.max(1)) {
            self.page(&rows.slice(first, page_rows.min(rows.len() - first)))?;
        }
        Ok(())
    }

    fn page(&mut self, rows: &ArrayRef) -> Result<(), MergeError> {
        let levels = self.levels(rows)?;
        let mut facts = PageFacts {
            rows: rows.len(),
            nulls: rows.null_count(),
            ..PageFacts::default()
        };
        let (encoding, bytes) = match &mut self.way {
            Way::Codes(known) => {
                let codes = known.codes_of(rows)?;
                (facts.bounds, facts.byte_array_bytes) = known.facts(&codes);
                let dense = codes.iter().map(|code| known.dense(*code)).collect::<Vec<u32>>();
                (
                    Encoding::RLE_DICTIONARY,
                    rle::encode_indices(&dense, known.used()),
                )
            }
            Way::Numbers(width, encoding) => {
                let (bounds, plain) = plain_numbers(rows, *width, self.order);
                facts.bounds = bounds;
                match encoding {
                    Encoding::DELTA_BINARY_PACKED => (*encoding, delta_numbers(&plain, *width)),
                    _ => (*encoding, plain),
                }
            }
            Way::Few(few) => {
                let (bounds, codes) = few.page(rows, self.order);
                facts.bounds = bounds;
                (Encoding::RLE_DICTIONARY, rle::encode_indices(&codes, few.used()))
            }
            Way::Repeated(repeated) => {
                let (bounds, plain) = plain_numbers(rows, repeated.width(), self.order);
                facts.bounds = bounds;
                match repeated.codes(&plain) {
                    Some(codes) => (
                        Encoding::RLE_DICTIONARY,
                        rle::encode_indices(&codes, repeated.used()),
                    ),
                    None => (Encoding::PLAIN, plain),
                }
            }
            Way::Bytes(encoding) => {
                let (values, length) = bytes_page(rows, *encoding)?;
                if let Some(order) = self.order {
                    facts.bounds = bytes_bounds(order, rows)?;
                }
                facts.byte_array_bytes = length;
                (*encoding, values)
            }
            Way::Crate => return Err(odd("a column that is not ours")),
        };
        self.writer
            .page(encoding, levels.as_deref(), &bytes, facts)
            .map(drop)
            .map_err(writing)
    }

    /// The whole chunk.
    pub(super) fn finish(mut self) -> Result<EncodedColumn, MergeError> {
        let dictionary = match &self.way {
            Way::Codes(known) => Some((known.plain_dictionary(), known.used())),
            Way::Few(few) => Some((few.plain_dictionary(), few.used())),
            Way::Repeated(repeated) => Some((repeated.plain_dictionary().to_vec(), repeated.used())),
            _ => None,
        };
        if let Some((values, count)) = dictionary {
            self.writer.set_dictionary(&values, count).map_err(writing)?;
        }
        self.writer.finish().map_err(writing)
    }

    /// Definition levels, if the column may hold nulls.
    fn levels(&self, rows: &ArrayRef) -> Result<Option<Vec<u8>>, MergeError> {
        match (self.leaf.max_def_level(), rows.nulls()) {
            (0, _) if rows.null_count() > 0 => Err(odd("a null where none may be")),
            (0, _) => Ok(None),
            (_, Some(nulls)) => Ok(Some(levels::encode(nulls.inner()))),
            (_, None) => Ok(Some(levels::encode_equal(rows.len(), true))),
        }
    }
}

/// The codes of the rows that are there.
pub(super) fn valid_codes(rows: &ArrayRef) -> Result<Vec<u32>, MergeError> {
    let coded = rows.as_dictionary_opt::<Int32Type>();
    let keys = coded.ok_or_else(|| odd("codes that are none"))?.keys();
    let code = |key: &i32| *key as u32;
    Ok(match keys.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => keys.values().iter().map(code).collect(),
        Some(nulls) => nulls
            .valid_indices()
            .map(|row| code(&keys.values()[row]))
            .collect(),
    })
}

/// The numbers of the rows that are there, one after another, little end first.
pub(super) fn valid_bytes<const WIDTH: usize>(rows: &ArrayRef) -> Vec<u8> {
    let data = rows.to_data();
    let bytes = &data.buffers()[0][data.offset() * WIDTH..(data.offset() + rows.len()) * WIDTH];
    match rows.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => bytes.to_vec(),
        Some(nulls) => {
            let values = bytes.as_chunks::<WIDTH>().0;
            let mut valid = Vec::with_capacity(bytes.len());
            nulls
                .valid_indices()
                .for_each(|row| valid.extend_from_slice(&values[row]));
            valid
        }
    }
}

/// Numbers of 32 or 64 bits in a PLAIN page, with their bounds.
pub(super) fn plain_numbers(
    rows: &ArrayRef,
    width: usize,
    order: Option<Order>,
) -> (Option<Bounds>, Vec<u8>) {
    let bytes = match width {
        4 => valid_bytes::<4>(rows),
        _ => valid_bytes::<8>(rows),
    };
    (
        order.and_then(|order| order.bounds_of_fixed(&bytes, width)),
        bytes,
    )
}

/// The same as differences.
pub(super) fn delta_numbers(plain: &[u8], width: usize) -> Vec<u8> {
    match width {
        4 => {
            let values = plain.as_chunks().0.iter().map(|value| i32::from_le_bytes(*value));
            delta::encode(&values.collect::<Vec<_>>())
        }
        _ => {
            let values = plain.as_chunks().0.iter().map(|value| i64::from_le_bytes(*value));
            delta::encode(&values.collect::<Vec<_>>())
        }
    }
}

pub(super) fn odd(what: &str) -> MergeError {
    MergeError::Proof(format!("the page writer was given {what}"))
}
