//! One column of one window: gathered piece by piece, hashed as it is handed to the encoder, encoded and compressed.

use super::gather::Gather;
use super::picks::Picks;
use crate::error::MergeError;
use crate::row_hash::{add_codes, add_column, hash_entries};
use crate::row_time::{Span as TimeSpan, Times};
use crate::shelf::Shelved;
use crate::write::broken;
use arrow::array::AsArray;
use arrow::datatypes::{Int32Type, SchemaRef};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use std::sync::{Mutex, PoisonError};

/// Makes column chunks.
pub(crate) struct Encoder<'a> {
    pub(crate) shelf: &'a Shelved,
    pub(crate) schema: SchemaRef,
    pub(crate) factory: ArrowRowGroupWriterFactory,
    /// Where row times are, if they are asked for and there are any.
    pub(crate) times: Option<Times>,
    /// Leaf columns of each column.
    pub(crate) leaves: Vec<usize>,
}

/// A column of a row group.
pub(crate) struct ColumnDone {
    pub(crate) chunks: Vec<ArrowColumnChunk>,
    /// The times of its rows, if it is the column that has them.
    pub(crate) times: Option<TimeSpan>,
}

impl Encoder<'_> {
    /// Writers for the leaves of each column of a row group.
    pub(crate) fn writers(&self) -> Result<Vec<Vec<ArrowColumnWriter>>, MergeError> {
        let writers = self
            .factory
            .create_column_writers(0)
            .map_err(|why| broken(&why))?;
        let mut writers = writers.into_iter();
        let by_column = self
            .leaves
            .iter()
            .map(|leaves| writers.by_ref().take(*leaves).collect());
        Ok(by_column.collect())
    }

    /// Encodes a column of a window. Hashes of its values are added to `sums`, one to each row.
    pub(crate) fn column(
        &self,
        column: usize,
        picks: &Picks,
        mut writers: Vec<ArrowColumnWriter>,
        sums: &Mutex<Vec<u128>>,
    ) -> Result<ColumnDone, MergeError> {
        let field = self.schema.field(column);
        let odd = |why: arrow::error::ArrowError| MergeError::Proof(why.to_string());
        let gather = Gather::new(self.shelf, column, picks)?;
        let hashed = match &self.shelf.columns()[column].values {
            Some(values) => Some(hash_entries(field.name(), values).map_err(odd)?),
            None => None,
        };
        let mut times = self
            .times
            .filter(|times| times.column == column)
            .map(|_| TimeSpan::default());
        let mut first = 0;
        for piece in &picks.pieces {
            let array = gather.piece(piece)?;
            let mut hashes = vec![0; piece.rows];
            match (&hashed, array.as_dictionary_opt::<Int32Type>()) {
                (Some(entries), Some(coded)) => add_codes(&mut hashes, entries, coded.keys()),
                _ => add_column(&mut hashes, field.name(), &array).map_err(odd)?,
            }
            add_up(sums, first, &hashes);
            first += piece.rows;
            if let Some(times) = &mut times {
                times.add(&array).map_err(odd)?;
            }
            let leaves = compute_leaves(field, &array).map_err(|why| broken(&why))?;
            for (writer, leaf) in writers.iter_mut().zip(&leaves) {
                writer.write(leaf).map_err(|why| broken(&why))?;
            }
        }
        let chunks = writers
            .into_iter()
            .map(|writer| writer.close().map_err(|why| broken(&why)));
        Ok(ColumnDone {
            chunks: chunks.collect::<Result<_, _>>()?,
            times,
        })
    }
}

fn add_up(sums: &Mutex<Vec<u128>>, first: usize, hashes: &[u128]) {
    let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
    for (sum, hash) in sums[first..].iter_mut().zip(hashes) {
        *sum = sum.wrapping_add(*hash);
    }
}
