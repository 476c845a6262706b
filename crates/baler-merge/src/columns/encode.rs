//! One column of one window: gathered piece by piece, hashed as it is handed to the encoder, encoded and compressed.

use super::choose::{Way, choose, is_ours};
use super::gather::Gather;
use super::own_pages::OwnPages;
use super::picks::Picks;
use crate::error::MergeError;
use crate::group::EncodedColumn;
use crate::outline::Outline;
use crate::row_hash::{add_codes, add_column, hash_entries};
use crate::row_time::Span as TimeSpan;
use crate::shelf::Shelved;
use crate::spec::Codec;
use crate::write::broken;
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{Field, Int32Type, SchemaRef};
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use std::sync::{Mutex, PoisonError};

/// Makes column chunks.
pub(crate) struct Encoder<'a> {
    pub(crate) shelf: &'a Shelved,
    pub(crate) schema: SchemaRef,
    pub(crate) outline: &'a Outline,
    pub(crate) codec: Codec,
}

/// An encoded leaf.
pub(crate) enum Chunk {
    /// Of pages of our own.
    Own(Box<EncodedColumn>),
    /// Of pages that the parquet crate made.
    Crate(Box<ArrowColumnChunk>),
}

impl Chunk {
    /// Bytes of its pages before they were packed.
    pub(crate) fn unpacked_bytes(&self) -> i64 {
        match self {
            Chunk::Own(chunk) => chunk.close.metadata.uncompressed_size(),
            Chunk::Crate(chunk) => chunk.close().metadata.uncompressed_size(),
        }
    }
}

/// Makes the chunks of one column.
enum Pages {
    Own(Box<OwnPages>),
    Crate(Vec<ArrowColumnWriter>),
}

impl Pages {
    fn write(&mut self, field: &Field, rows: &ArrayRef) -> Result<(), MergeError> {
        match self {
            Pages::Own(pages) => pages.write(rows),
            Pages::Crate(writers) => {
                let leaves = compute_leaves(field, rows).map_err(|why| broken(&why))?;
                let mut pairs = writers.iter_mut().zip(&leaves);
                pairs.try_for_each(|(writer, leaf)| writer.write(leaf).map_err(|why| broken(&why)))
            }
        }
    }

    fn finish(self) -> Result<Vec<Chunk>, MergeError> {
        match self {
            Pages::Own(pages) => Ok(vec![Chunk::Own(Box::new(pages.finish()?))]),
            Pages::Crate(writers) => {
                let closed = writers.into_iter().map(ArrowColumnWriter::close);
                let chunks = closed.map(|chunk| Ok(Chunk::Crate(Box::new(chunk?))));
                chunks.collect::<Result<_, _>>().map_err(|why| broken(&why))
            }
        }
    }
}

/// A column of a row group.
pub(crate) struct ColumnDone {
    pub(crate) chunks: Vec<Chunk>,
    /// The times of its rows, if it is the column that has them.
    pub(crate) times: Option<TimeSpan>,
}

impl Encoder<'_> {
    /// Writers for the leaves of each column of a row group.
    pub(crate) fn writers(&self) -> Result<Vec<Vec<ArrowColumnWriter>>, MergeError> {
        let writers = self
            .outline
            .factory
            .create_column_writers(0)
            .map_err(|why| broken(&why))?;
        let mut writers = writers.into_iter();
        let by_column = self
            .outline
            .columns
            .iter()
            .map(|leaves| writers.by_ref().take(leaves.len()).collect());
        Ok(by_column.collect())
    }

    /// Encodes a column of a window. Hashes of its values are added to `sums`, one to each row.
    pub(crate) fn column(
        &self,
        column: usize,
        picks: &Picks,
        writers: Vec<ArrowColumnWriter>,
        sums: &Mutex<Vec<u128>>,
    ) -> Result<ColumnDone, MergeError> {
        let field = self.schema.field(column);
        let odd = |why: arrow::error::ArrowError| MergeError::Proof(why.to_string());
        let gather = Gather::new(self.shelf, column, picks)?;
        let mut pages = self.pages(column, &gather, picks, writers)?;
        let hashed = match &self.shelf.columns()[column].values {
            Some(values) => Some(hash_entries(field.name(), values).map_err(odd)?),
            None => None,
        };
        let mut times = self
            .outline
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
            pages.write(field, &array)?;
        }
        Ok(ColumnDone {
            chunks: pages.finish()?,
            times,
        })
    }

    /// Who makes the pages of a column, as its rows suggest.
    fn pages(
        &self,
        column: usize,
        gather: &Gather<'_>,
        picks: &Picks,
        writers: Vec<ArrowColumnWriter>,
    ) -> Result<Pages, MergeError> {
        let pieces = &picks.pieces;
        let (field, sample) = (self.schema.field(column), pieces.get(pieces.len() / 2));
        let ([leaf], Some(sample)) = (&self.outline.columns[column][..], sample) else {
            return Ok(Pages::Crate(writers));
        };
        if !is_ours(field.data_type(), leaf) || self.outline.blooms.contains(leaf.path()) {
            return Ok(Pages::Crate(writers));
        }
        Ok(
            match choose(gather, &gather.piece(sample)?, leaf, self.codec, pieces.len())? {
                Way::Crate => Pages::Crate(writers),
                way => Pages::Own(Box::new(OwnPages::new(leaf.clone(), self.codec, way)?)),
            },
        )
    }
}

fn add_up(sums: &Mutex<Vec<u128>>, first: usize, hashes: &[u128]) {
    let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
    for (sum, hash) in sums[first..].iter_mut().zip(hashes) {
        *sum = sum.wrapping_add(*hash);
    }
}
