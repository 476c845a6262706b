//! One column of one batch, laid flat: values of fixed width as they are, numbers and codes as narrow as they go, strings as
//! offsets and bytes; what is nested as an Arrow stream. Any range of rows can be read back alone.

use super::flat::{Flat, Values};
use super::numbers::{Numbers, are_numbers};
use super::scratch::{Block, Scratch};
use crate::error::MergeError;
use arrow::array::*;
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Rows in one Arrow stream: a range is read by whole streams.
const STREAM_ROWS: usize = 2 << 10;

/// A column of a batch.
#[derive(Debug)]
pub(crate) struct Slab {
    nulls: Option<Block>,
    values: Laid,
}

#[derive(Debug)]
enum Laid {
    /// Nothing but nulls.
    Absent,
    Fixed {
        width: usize,
        block: Block,
    },
    Numbers(Numbers),
    /// Numbers of dictionary entries.
    Codes {
        width: usize,
        block: Block,
    },
    /// Where each value ends, and the bytes.
    Bytes {
        ends: Ends,
        block: Block,
    },
    Arrow(Vec<Block>),
}

/// Where values of different lengths end.
#[derive(Debug)]
enum Ends {
    /// All have this length.
    Every(usize),
    /// One offset more than rows.
    Offsets(Block),
}

impl Slab {
    /// Lays plain values.
    pub(crate) fn lay(scratch: &Scratch, array: &ArrayRef) -> Result<Self, MergeError> {
        if array.logical_null_count() == array.len() {
            return Ok(Self {
                nulls: None,
                values: Laid::Absent,
            });
        }
        let fixed = |width: usize, bytes: Cow<'_, [u8]>| {
            Ok::<_, MergeError>(Laid::Fixed {
                width,
                block: scratch.lay(bytes)?,
            })
        };
        let values = match array.data_type() {
            DataType::Boolean => {
                let bytes: Vec<u8> = array.as_boolean().values().iter().map(u8::from).collect();
                fixed(1, bytes.into())?
            }
            DataType::Utf8 => lay_bytes(scratch, array.as_string::<i32>())?,
            DataType::LargeUtf8 => lay_bytes(scratch, array.as_string::<i64>())?,
            DataType::Binary => lay_bytes(scratch, array.as_binary::<i32>())?,
            DataType::LargeBinary => lay_bytes(scratch, array.as_binary::<i64>())?,
            other => match fixed_width(other) {
                Some(width) => {
                    let data = array.to_data();
                    let from = data.offset() * width;
                    let bytes = &data.buffers()[0][from..from + array.len() * width];
                    let numbers = match are_numbers(other) {
                        true => Numbers::lay(scratch, bytes, width)?,
                        false => None,
                    };
                    match numbers {
                        Some(numbers) => Laid::Numbers(numbers),
                        None => fixed(width, bytes.into())?,
                    }
                }
                None => return lay_arrow(scratch, array),
            },
        };
        Ok(Self {
            nulls: lay_nulls(scratch, array)?,
            values,
        })
    }

    /// Lays codes of the column's dictionary.
    pub(crate) fn lay_codes(scratch: &Scratch, codes: &UInt32Array) -> Result<Self, MergeError> {
        if codes.null_count() == codes.len() {
            return Ok(Self {
                nulls: None,
                values: Laid::Absent,
            });
        }
        let values = codes.values();
        let greatest = values.iter().max().copied().unwrap_or(0);
        let (width, bytes) = match greatest {
            0..=0xFF => {
                let codes = values.iter().map(|code| *code as u8);
                (1, Buffer::from_vec(codes.collect::<Vec<_>>()))
            }
            0x100..=0xFFFF => {
                let codes = values.iter().map(|code| *code as u16);
                (2, Buffer::from_vec(codes.collect::<Vec<_>>()))
            }
            _ => (4, Buffer::from_vec(values.to_vec())),
        };
        Ok(Self {
            nulls: lay_nulls(scratch, codes)?,
            values: Laid::Codes {
                width,
                block: scratch.lay(bytes.as_slice())?,
            },
        })
    }

    /// Whether the values are there as they are, not as codes.
    pub(crate) fn is_plain(&self) -> bool {
        !matches!(self.values, Laid::Codes { .. } | Laid::Absent)
    }

    /// Some rows of it.
    pub(crate) fn read(&self, scratch: &Scratch, rows: Range<usize>) -> Result<Flat, MergeError> {
        let nulls = match &self.nulls {
            Some(block) => Some(read_nulls(scratch, block, &rows)?),
            None => None,
        };
        let values = match &self.values {
            Laid::Absent => Values::Absent,
            Laid::Fixed { width, block } => {
                Values::Fixed(scratch.read(block, rows.start * width..rows.end * width)?)
            }
            Laid::Codes { width, block } => {
                let bytes = scratch.read(block, rows.start * width..rows.end * width)?;
                Values::Codes(widened(&bytes, *width))
            }
            Laid::Numbers(numbers) => Values::Fixed(numbers.read(scratch, rows.clone())?),
            Laid::Bytes {
                ends: Ends::Every(length),
                block,
            } => Values::Bytes {
                offsets: (0..=rows.len()).map(|row| (row * length) as u32).collect(),
                bytes: scratch.read(block, rows.start * length..rows.end * length)?,
            },
            Laid::Bytes {
                ends: Ends::Offsets(offsets),
                block,
            } => {
                let offsets = scratch.read(offsets, rows.start * 4..(rows.end + 1) * 4)?;
                let mut offsets = widened(&offsets, 4);
                let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
                offsets.iter_mut().for_each(|offset| *offset -= first);
                Values::Bytes {
                    offsets,
                    bytes: scratch.read(block, first as usize..last as usize)?,
                }
            }
            Laid::Arrow(streams) => return read_arrow(scratch, streams, rows),
        };
        Ok(Flat {
            rows: rows.len(),
            nulls,
            values,
        })
    }
}

/// Bytes of a value, if all values of a type have the same number and lie in one buffer.
pub(crate) fn fixed_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::Boolean => Some(1),
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok().filter(|width| *width > 0),
        other => other.primitive_width(),
    }
}

fn lay_bytes<T: arrow::datatypes::ByteArrayType>(
    scratch: &Scratch,
    array: &GenericByteArray<T>,
) -> Result<Laid, MergeError> {
    let ends: Vec<usize> = array
        .value_offsets()
        .iter()
        .map(|offset| arrow::datatypes::ArrowNativeType::as_usize(*offset))
        .collect();
    let (first, last) = (ends[0], ends[ends.len() - 1]);
    if u32::try_from(last - first).is_err() {
        return Err(MergeError::Proof(
            "a batch of strings is longer than 4 GiB".into(),
        ));
    }
    let length = ends[1] - first;
    let ends = match ends.windows(2).all(|pair| pair[1] - pair[0] == length) {
        true => Ends::Every(length),
        false => {
            let offsets = ends.iter().map(|end| (end - first) as u32);
            let offsets = Buffer::from_vec(offsets.collect::<Vec<_>>());
            Ends::Offsets(scratch.lay(offsets.as_slice())?)
        }
    };
    Ok(Laid::Bytes {
        ends,
        block: scratch.lay(&array.value_data()[first..last])?,
    })
}

fn lay_nulls(scratch: &Scratch, array: &dyn Array) -> Result<Option<Block>, MergeError> {
    let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(None);
    };
    scratch.lay(nulls.inner().sliced().as_slice()).map(Some)
}

fn read_nulls(scratch: &Scratch, block: &Block, rows: &Range<usize>) -> Result<BooleanBuffer, MergeError> {
    let first = rows.start / 8;
    let bytes = scratch.read(block, first..rows.end.div_ceil(8))?;
    Ok(BooleanBuffer::new(
        Buffer::from(bytes),
        rows.start - first * 8,
        rows.len(),
    ))
}

fn widened(bytes: &[u8], width: usize) -> Vec<u32> {
    match width {
        1 => bytes.iter().map(|code| u32::from(*code)).collect(),
        2 => {
            let (codes, _) = bytes.as_chunks::<2>();
            codes
                .iter()
                .map(|code| u32::from(u16::from_le_bytes(*code)))
                .collect()
        }
        _ => {
            let (codes, _) = bytes.as_chunks::<4>();
            codes.iter().map(|code| u32::from_le_bytes(*code)).collect()
        }
    }
}

fn lay_arrow(scratch: &Scratch, array: &ArrayRef) -> Result<Slab, MergeError> {
    let field = Field::new("", array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let mut streams = Vec::new();
    for first in (0..array.len()).step_by(STREAM_ROWS) {
        let rows = array.slice(first, STREAM_ROWS.min(array.len() - first));
        let mut bytes = Vec::new();
        RecordBatch::try_new(Arc::clone(&schema), vec![rows])
            .and_then(|rows| {
                let mut writer = StreamWriter::try_new(&mut bytes, &schema)?;
                writer.write(&rows)?;
                writer.finish()
            })
            .map_err(|why| odd(&why))?;
        streams.push(scratch.lay(bytes)?);
    }
    Ok(Slab {
        nulls: None,
        values: Laid::Arrow(streams),
    })
}

fn read_arrow(scratch: &Scratch, streams: &[Block], rows: Range<usize>) -> Result<Flat, MergeError> {
    let mut parts: Vec<ArrayRef> = Vec::new();
    for (number, stream) in streams.iter().enumerate() {
        let first = number * STREAM_ROWS;
        if first + STREAM_ROWS <= rows.start || rows.end <= first {
            continue;
        }
        let bytes = scratch.read(stream, 0..stream.len())?;
        let batch = StreamReader::try_new(bytes.as_ref(), None)
            .and_then(|mut reader| reader.next().transpose())
            .map_err(|why| odd(&why))?;
        let column = batch.map(|batch| Arc::clone(batch.column(0)));
        let column = column.ok_or_else(|| MergeError::Proof("a stream came back empty".into()))?;
        let from = rows.start.saturating_sub(first);
        let to = (rows.end - first).min(column.len());
        parts.push(column.slice(from, to - from));
    }
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    let array = arrow::compute::concat(&parts).map_err(|why| odd(&why))?;
    Ok(Flat {
        rows: rows.len(),
        nulls: None,
        values: Values::Arrow(array),
    })
}

fn odd(why: &ArrowError) -> MergeError {
    MergeError::Proof(format!("rows could not be laid aside: {why}"))
}
