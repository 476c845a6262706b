//! The shelf: every row of a job, laid flat by column, so that memory does not grow with the inputs.
//!
//! ```text
//! lane (sorted rows of one input) ─▶ batch ─▶ slab (one column of it) ─▶ blocks in memory, then on disk
//! ```
//!
//! It is filled once, by any number of threads, and then only read: any rows of any column of any lane.

mod dictionary;
mod flat;
mod numbers;
mod scratch;
mod slab;

pub(crate) use dictionary::{Dictionary, Entries};
pub(crate) use flat::{Flat, Values};
pub(crate) use slab::fixed_width;

use crate::error::MergeError;
use arrow::array::{ArrayRef, Decimal128Array, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, Schema};
use bytes::Bytes;
use scratch::Scratch;
use slab::Slab;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A shelf being filled.
pub(crate) struct Shelf {
    scratch: Scratch,
    dictionaries: Vec<Dictionary>,
}

/// A column on its way to the shelf.
#[derive(Clone)]
pub(crate) enum Coded {
    Plain(ArrayRef),
    /// Codes of the column's dictionary.
    Codes(UInt32Array),
}

/// Rows that are in order, as they lie on the shelf.
#[derive(Default)]
pub(crate) struct Lane {
    /// Rows up to the end of each batch.
    ends: Vec<u64>,
    /// Batch after batch, in each the columns and what else is kept of its rows.
    slabs: Vec<Slab>,
    hashes: Vec<Slab>,
    ordinals: Vec<Slab>,
}

impl Lane {
    pub(crate) fn rows(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }
}

impl Shelf {
    /// Keeps up to `memory_bytes` in memory and the rest in `directory`; so many threads fill it.
    pub(crate) fn new(schema: &Schema, directory: &Path, memory_bytes: usize, threads: usize) -> Self {
        Self {
            scratch: Scratch::new(directory, memory_bytes, threads),
            dictionaries: schema.fields().iter().map(|_| Dictionary::default()).collect(),
        }
    }

    /// The dictionary of a column.
    pub(crate) fn dictionary(&self, column: usize) -> &Dictionary {
        &self.dictionaries[column]
    }

    /// Appends a batch to a lane: all columns; and, if they will be asked for, the hashes of its rows and where they stood in
    /// their input.
    pub(crate) fn lay(
        &self,
        lane: &mut Lane,
        rows: usize,
        columns: &[Coded],
        hashes: Option<&Decimal128Array>,
        ordinals: Option<UInt64Array>,
    ) -> Result<(), MergeError> {
        for column in columns {
            lane.slabs.push(match column {
                Coded::Plain(array) => Slab::lay(&self.scratch, array)?,
                Coded::Codes(codes) => Slab::lay_codes(&self.scratch, codes)?,
            });
        }
        if let Some(hashes) = hashes {
            let hashes: ArrayRef = Arc::new(hashes.clone());
            lane.hashes.push(Slab::lay(&self.scratch, &hashes)?);
        }
        if let Some(ordinals) = ordinals {
            let ordinals: ArrayRef = Arc::new(ordinals);
            lane.ordinals.push(Slab::lay(&self.scratch, &ordinals)?);
        }
        lane.ends.push(lane.rows() + rows as u64);
        Ok(())
    }

    /// Ends the filling.
    pub(crate) fn filled(self, schema: &Schema, lanes: Vec<Lane>) -> Result<Shelved, MergeError> {
        let mut columns = Vec::with_capacity(self.dictionaries.len());
        for (number, (field, dictionary)) in schema.fields().iter().zip(&self.dictionaries).enumerate() {
            let count = self.dictionaries.len();
            let slabs = lanes
                .iter()
                .flat_map(|lane| lane.slabs.iter().skip(number).step_by(count));
            let plain = slabs.into_iter().any(Slab::is_plain);
            let entries = dictionary.entries();
            let values = match entries.len() {
                0 => None,
                _ => Some(entries.array(field.data_type())?),
            };
            columns.push(Column {
                data_type: field.data_type().clone(),
                values: values.filter(|_| !plain),
                entries: Arc::new(entries),
            });
        }
        Ok(Shelved {
            scratch: self.scratch,
            columns,
            lanes,
        })
    }
}

/// A shelf to read from.
pub(crate) struct Shelved {
    scratch: Scratch,
    columns: Vec<Column>,
    lanes: Vec<Lane>,
}

/// What is known of a column once all rows are there.
pub(crate) struct Column {
    pub(crate) data_type: DataType,
    /// Its dictionary in its type, if every value of it is there as a code.
    pub(crate) values: Option<ArrayRef>,
    pub(crate) entries: Arc<Entries>,
}

impl Shelved {
    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.scratch.spilled_bytes()
    }

    /// Some rows of a column of a lane: as codes only if all of the column is coded.
    pub(crate) fn read(&self, lane: usize, column: usize, rows: Range<u64>) -> Result<Flat, MergeError> {
        let known = &self.columns[column];
        let lane = &self.lanes[lane];
        let slab_of = |batch: usize| lane.slabs.get(batch * self.columns.len() + column);
        let parts = self.parts(lane, slab_of, rows, |flat| match known.values {
            Some(_) => flat,
            None => flat.expanded(&known.entries),
        })?;
        Flat::joined(parts, &known.data_type)
    }

    /// The hashes of some rows.
    pub(crate) fn read_hashes(&self, lane: usize, rows: Range<u64>) -> Result<Vec<u128>, MergeError> {
        let count = (rows.end - rows.start) as usize;
        let mut hashes = Vec::with_capacity(count);
        let lane = &self.lanes[lane];
        for bytes in self.fixed_parts(lane, &lane.hashes, rows)? {
            hashes.extend(bytes.as_chunks().0.iter().map(|hash| u128::from_le_bytes(*hash)));
        }
        Ok(hashes)
    }

    /// Where some rows stood in their input, if that was kept.
    pub(crate) fn read_ordinals(
        &self,
        lane: usize,
        rows: Range<u64>,
    ) -> Result<Option<Vec<u64>>, MergeError> {
        let lane = &self.lanes[lane];
        if lane.ordinals.is_empty() {
            return Ok(None);
        }
        let mut ordinals = Vec::with_capacity((rows.end - rows.start) as usize);
        for bytes in self.fixed_parts(lane, &lane.ordinals, rows)? {
            ordinals.extend(bytes.as_chunks().0.iter().map(|row| u64::from_le_bytes(*row)));
        }
        Ok(Some(ordinals))
    }

    fn fixed_parts(&self, lane: &Lane, slabs: &[Slab], rows: Range<u64>) -> Result<Vec<Bytes>, MergeError> {
        let parts = self.parts(lane, |batch| slabs.get(batch), rows, |flat| flat)?;
        let bytes = parts.into_iter().map(|part| match part.values {
            Values::Fixed(bytes) => Ok(bytes),
            _ => Err(MergeError::Proof("numbers came back as something else".into())),
        });
        bytes.collect()
    }

    fn parts<'s>(
        &self,
        lane: &Lane,
        slab_of: impl Fn(usize) -> Option<&'s Slab>,
        rows: Range<u64>,
        made: impl Fn(Flat) -> Flat,
    ) -> Result<Vec<Flat>, MergeError> {
        let mut parts = Vec::with_capacity(1);
        let mut batch = lane.ends.partition_point(|end| *end <= rows.start);
        let mut at = rows.start;
        while at < rows.end {
            let first = batch.checked_sub(1).map_or(0, |before| lane.ends[before]);
            let end = lane.ends[batch].min(rows.end);
            let range = (at - first) as usize..(end - first) as usize;
            let slab = slab_of(batch).ok_or_else(|| MergeError::Proof("a batch was not laid down".into()))?;
            parts.push(made(slab.read(&self.scratch, range)?));
            (at, batch) = (end, batch + 1);
        }
        Ok(parts)
    }
}
