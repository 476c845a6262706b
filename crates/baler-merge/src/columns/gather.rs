//! Puts the rows of one column into a new order: runs by copying memory, single rows one by one.

use super::dictionaries::Known;
use super::picks::{Picks, Piece, Run};
use super::strings::Strings;
use crate::error::MergeError;
use crate::shelf::{Entries, Flat, Shelved, Values, fixed_width};
use arrow::array::*;
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow::datatypes::{DataType, Int32Type};
use arrow::error::ArrowError;
use std::sync::Arc;

/// A column of a window, ready to be gathered piece by piece.
pub(crate) struct Gather<'a> {
    picks: &'a Picks,
    /// Strings are gathered as bytes: to look at their letters once more would cost as much as to copy them.
    data_type: DataType,
    /// The column's dictionary, if it is gathered as codes.
    values: Option<ArrayRef>,
    entries: Arc<Entries>,
    sources: Vec<Flat>,
    /// Some row may be null.
    nulls: bool,
}

impl<'a> Gather<'a> {
    /// Reads what the window needs of a column.
    pub(crate) fn new(shelf: &Shelved, column: usize, picks: &'a Picks) -> Result<Self, MergeError> {
        let read = picks
            .spans
            .iter()
            .map(|span| shelf.read(span.lane, column, span.first..span.first + span.rows as u64));
        let known = &shelf.columns()[column];
        let sources = read.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            nulls: sources.iter().any(Flat::may_be_null),
            picks,
            data_type: match &known.data_type {
                DataType::Utf8 => DataType::Binary,
                DataType::LargeUtf8 => DataType::LargeBinary,
                other => other.clone(),
            },
            values: known.values.clone(),
            entries: Arc::clone(&known.entries),
            sources,
        })
    }

    /// The dictionary of the column and which of it the window uses, if it is gathered as codes.
    pub(super) fn known(&self) -> Option<Known> {
        self.values.as_ref()?;
        let mut used = vec![false; self.entries.len()];
        for run in &self.picks.runs {
            let source = &self.sources[run.span as usize];
            if let Values::Codes(codes) = &source.values {
                let range = run.start as usize..(run.start + run.rows) as usize;
                codes[range].iter().for_each(|code| used[*code as usize] = true);
            }
        }
        Some(Known::new(Arc::clone(&self.entries), &used))
    }

    /// What was read: all rows of the window's spans, those that are not picked too.
    pub(super) fn sources(&self) -> &[Flat] {
        &self.sources
    }

    /// Bytes of a value.
    pub(super) fn width(&self) -> usize {
        fixed_width(&self.data_type).unwrap_or(0)
    }

    /// The rows of a piece in order: a dictionary array if the column is coded.
    pub(crate) fn piece(&self, piece: &Piece) -> Result<ArrayRef, MergeError> {
        let runs = self.picks.runs_of(piece);
        let made = match (&self.values, self.lent(runs)) {
            (Some(values), _) => self.codes(runs, piece.rows, values),
            (None, Some(lent)) => lent,
            (None, None) => match &self.data_type {
                DataType::Boolean => self.booleans(runs, piece.rows),
                DataType::Binary => self.strings::<i32>(runs, piece.rows),
                DataType::LargeBinary => self.strings::<i64>(runs, piece.rows),
                other => match fixed_width(other) {
                    Some(width) => self.fixed(runs, piece.rows, width),
                    None => self.arrow(runs, piece.rows),
                },
            },
        };
        made.map_err(|why| MergeError::Proof(format!("rows could not be put together: {why}")))
    }

    /// The rows of a piece with their values in place of codes.
    pub(crate) fn plain_piece(&self, piece: &Piece) -> Result<ArrayRef, MergeError> {
        plain(&self.piece(piece)?)
    }

    /// All rows of one source, as they were read: nothing needs to be copied.
    fn lent(&self, runs: &[Run]) -> Option<Result<ArrayRef, ArrowError>> {
        let [run] = runs else { return None };
        let source = self.sources.get(run.span as usize)?;
        if run.start != 0 || run.rows as usize != source.rows {
            return None;
        }
        let array = ArrayData::builder(self.data_type.clone())
            .len(source.rows)
            .nulls(self.nulls(runs, source.rows));
        let array = match (&source.values, &self.data_type) {
            (Values::Fixed(bytes), data_type) if *data_type != DataType::Boolean => {
                array.add_buffer(Buffer::from(bytes.clone()))
            }
            (Values::Bytes { offsets, bytes }, DataType::Binary) => {
                let offsets: Vec<i32> = offsets.iter().map(|offset| *offset as i32).collect();
                array
                    .add_buffer(Buffer::from_vec(offsets))
                    .add_buffer(Buffer::from(bytes.clone()))
            }
            _ => return None,
        };
        // What was read from a file may begin anywhere.
        Some(array.align_buffers(true).build().map(make_array))
    }

    fn nulls(&self, runs: &[Run], rows: usize) -> Option<NullBuffer> {
        if !self.nulls {
            return None;
        }
        let mut validity = BooleanBufferBuilder::new(rows);
        for run in runs {
            self.sources[run.span as usize].append_validity(
                &mut validity,
                run.start as usize,
                run.rows as usize,
            );
        }
        Some(NullBuffer::new(validity.finish())).filter(|nulls| nulls.null_count() > 0)
    }

    fn fixed(&self, runs: &[Run], rows: usize, width: usize) -> Result<ArrayRef, ArrowError> {
        let values: Vec<&[u8]> = self.sources.iter().map(fixed_bytes).collect();
        let mut out = MutableBuffer::from_len_zeroed(rows * width);
        match width {
            1 => copy::<1>(&values, runs, &mut out),
            2 => copy::<2>(&values, runs, &mut out),
            4 => copy::<4>(&values, runs, &mut out),
            8 => copy::<8>(&values, runs, &mut out),
            16 => copy::<16>(&values, runs, &mut out),
            _ => copy_any(&values, runs, width, &mut out),
        }
        ArrayData::builder(self.data_type.clone())
            .len(rows)
            .add_buffer(out.into())
            .nulls(self.nulls(runs, rows))
            .build()
            .map(make_array)
    }

    fn booleans(&self, runs: &[Run], rows: usize) -> Result<ArrayRef, ArrowError> {
        let values: Vec<&[u8]> = self.sources.iter().map(fixed_bytes).collect();
        let mut out = vec![0; rows];
        copy::<1>(&values, runs, &mut out);
        let values = BooleanBuffer::from_iter(out.into_iter().map(|byte| byte != 0));
        Ok(Arc::new(BooleanArray::new(values, self.nulls(runs, rows))))
    }

    fn codes(&self, runs: &[Run], rows: usize, values: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let sources: Vec<&[u32]> = self.sources.iter().map(codes_of).collect();
        let mut codes = vec![0; rows];
        let mut at = 0;
        for run in runs {
            let (from, start, rows) = (sources[run.span as usize], run.start as usize, run.rows as usize);
            if !from.is_empty() {
                let into = codes[at..at + rows].iter_mut();
                into.zip(&from[start..start + rows])
                    .for_each(|(into, code)| *into = *code as i32);
            }
            at += rows;
        }
        let keys = Int32Array::try_new(codes.into(), self.nulls(runs, rows))?;
        let coded = DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(values))?;
        Ok(Arc::new(coded))
    }

    fn strings<O: OffsetSizeTrait>(&self, runs: &[Run], rows: usize) -> Result<ArrayRef, ArrowError> {
        let sources: Vec<Option<(&[u32], &[u8])>> = self.sources.iter().map(strings_of).collect();
        let mut strings = Strings::<O>::with_room(rows, string_bytes(&sources, runs));
        for run in runs {
            let (start, end) = (run.start as usize, (run.start + run.rows) as usize);
            match sources[run.span as usize] {
                Some((offsets, bytes)) => strings.push(&offsets[start..=end], bytes),
                None => strings.push_empty(end - start),
            }
        }
        let (offsets, bytes) = strings.finish()?;
        ArrayData::builder(self.data_type.clone())
            .len(rows)
            .add_buffer(Buffer::from_vec(offsets))
            .add_buffer(Buffer::from_vec(bytes))
            .nulls(self.nulls(runs, rows))
            .build()
            .map(make_array)
    }

    fn arrow(&self, runs: &[Run], rows: usize) -> Result<ArrayRef, ArrowError> {
        let arrays: Vec<ArrayRef> = self
            .sources
            .iter()
            .map(|source| match &source.values {
                Values::Arrow(array) => Arc::clone(array),
                _ => new_null_array(&self.data_type, source.rows),
            })
            .collect();
        let data: Vec<ArrayData> = arrays.iter().map(|array| array.to_data()).collect();
        let mut out = MutableArrayData::new(data.iter().collect(), true, rows);
        for run in runs {
            out.try_extend(
                run.span as usize,
                run.start as usize,
                (run.start + run.rows) as usize,
            )?;
        }
        Ok(make_array(out.freeze()))
    }
}

/// Gathered rows with their values in place of codes.
pub(super) fn plain(rows: &ArrayRef) -> Result<ArrayRef, MergeError> {
    match rows.as_any_dictionary_opt() {
        Some(coded) => arrow::compute::take(coded.values(), coded.keys(), None)
            .map_err(|why| MergeError::Proof(format!("codes could not be resolved: {why}"))),
        None => Ok(Arc::clone(rows)),
    }
}

fn fixed_bytes(source: &Flat) -> &[u8] {
    match &source.values {
        Values::Fixed(bytes) => bytes,
        _ => &[],
    }
}

fn codes_of(source: &Flat) -> &[u32] {
    match &source.values {
        Values::Codes(codes) => codes,
        _ => &[],
    }
}

/// Offsets and bytes; nothing of an absent span.
fn strings_of(source: &Flat) -> Option<(&[u32], &[u8])> {
    match &source.values {
        Values::Bytes { offsets, bytes } => Some((offsets, bytes)),
        _ => None,
    }
}

fn string_bytes(sources: &[Option<(&[u32], &[u8])>], runs: &[Run]) -> usize {
    let bytes = |run: &Run| match sources[run.span as usize] {
        Some((offsets, _)) => {
            (offsets[(run.start + run.rows) as usize] - offsets[run.start as usize]) as usize
        }
        None => 0,
    };
    runs.iter().map(bytes).sum()
}

/// Rows of absent spans stay zeros.
fn copy<const WIDTH: usize>(values: &[&[u8]], runs: &[Run], out: &mut [u8]) {
    let values: Vec<&[[u8; WIDTH]]> = values.iter().map(|bytes| bytes.as_chunks().0).collect();
    let (out, _) = out.as_chunks_mut::<WIDTH>();
    let mut at = 0;
    for run in runs {
        let (from, start, rows) = (values[run.span as usize], run.start as usize, run.rows as usize);
        if !from.is_empty() {
            match rows {
                1 => out[at] = from[start],
                _ => out[at..at + rows].copy_from_slice(&from[start..start + rows]),
            }
        }
        at += rows;
    }
}

fn copy_any(values: &[&[u8]], runs: &[Run], width: usize, out: &mut [u8]) {
    let mut at = 0;
    for run in runs {
        let from = values[run.span as usize];
        let bytes = run.rows as usize * width;
        if !from.is_empty() {
            let start = run.start as usize * width;
            out[at..at + bytes].copy_from_slice(&from[start..start + bytes]);
        }
        at += bytes;
    }
}
