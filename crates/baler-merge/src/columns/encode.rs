//! One column of one window: gathered piece by piece, hashed as it is handed to the encoder, encoded and compressed.

use super::choose::{Way, choose, is_ours};
use super::gather::Gather;
use super::own_pages::OwnPages;
use super::picks::{Picks, Piece};
use super::sums::{Spare, Sums};
use super::watch::{Ends, Seen, Watch};
use crate::adapt::strict_cast;
use crate::error::MergeError;
use crate::group::EncodedColumn;
use crate::outline::Outline;
use crate::row_hash::RowHash;
use crate::row_time::Span as TimeSpan;
use crate::shelf::Shelved;
use crate::spec::Codec;
use crate::write::broken;
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, Int32Type, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use std::sync::Arc;

/// Makes column chunks.
pub(crate) struct Encoder<'a> {
    pub(crate) shelf: &'a Shelved,
    pub(crate) schema: SchemaRef,
    pub(crate) outline: &'a Outline,
    pub(crate) codec: Codec,
    pub(crate) hash: RowHash,
    pub(crate) spare: Arc<Spare>,
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
                let rows = as_strings(field, rows)?;
                let leaves = compute_leaves(field, &rows).map_err(|why| broken(&why))?;
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
        sums: &Sums,
    ) -> Result<ColumnDone, MergeError> {
        let mut work = self.begin(column, picks, writers)?;
        for (number, piece) in picks.pieces.iter().enumerate() {
            work.write(number, piece, sums)?;
        }
        work.finish()
    }

    /// Encodes the columns that rows are ordered by, and looks at the order of what is written.
    pub(crate) fn key_columns(
        &self,
        watch: &Watch<'_>,
        picks: &Picks,
        writers: Vec<Vec<ArrowColumnWriter>>,
        sums: &Sums,
    ) -> Result<(Vec<ColumnDone>, Option<Ends>), MergeError> {
        let columns = watch.columns().iter().zip(writers);
        let mut works: Vec<Work<'_>> = columns
            .map(|(column, writers)| self.begin(*column, picks, writers))
            .collect::<Result<_, _>>()?;
        let mut seen = Seen::new(watch);
        for (number, piece) in picks.pieces.iter().enumerate() {
            let written = works.iter_mut().map(|work| work.write(number, piece, sums));
            seen.look_at(&written.collect::<Result<Vec<_>, _>>()?)?;
        }
        let done = works.into_iter().map(Work::finish);
        Ok((done.collect::<Result<_, _>>()?, seen.ends()))
    }

    fn begin<'w>(
        &'w self,
        column: usize,
        picks: &'w Picks,
        writers: Vec<ArrowColumnWriter>,
    ) -> Result<Work<'w>, MergeError> {
        let field = self.schema.field(column);
        let gather = Gather::new(self.shelf, column, picks)?;
        let times = self.outline.times.filter(|times| times.column == column);
        Ok(Work {
            pages: self.pages(column, &gather, picks, writers)?,
            hashed: match &self.shelf.columns()[column].values {
                Some(values) => Some(self.hash.entries(field.name(), values).map_err(|why| odd(&why))?),
                None => None,
            },
            times: times.map(|_| TimeSpan::default()),
            hash: self.hash,
            field,
            gather,
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
        let (field, sample) = (self.schema.field(column), picks.sample());
        let ([leaf], Some(sample)) = (&self.outline.columns[column][..], sample) else {
            return Ok(Pages::Crate(writers));
        };
        if !is_ours(field.data_type(), leaf) || self.outline.blooms.contains(leaf.path()) {
            return Ok(Pages::Crate(writers));
        }
        Ok(
            match choose(gather, &gather.piece(&sample)?, leaf, self.codec, picks.rows)? {
                Way::Crate => Pages::Crate(writers),
                way => Pages::Own(Box::new(OwnPages::new(leaf.clone(), self.codec, way)?)),
            },
        )
    }
}

/// A column of a window in work.
struct Work<'a> {
    field: &'a Field,
    gather: Gather<'a>,
    pages: Pages,
    hash: RowHash,
    /// Hashes of the entries of its dictionary, if it has one.
    hashed: Option<Vec<u128>>,
    times: Option<TimeSpan>,
}

impl Work<'_> {
    /// Gathers the next rows, hashes them and writes them; gives them back as they were written.
    fn write(&mut self, number: usize, piece: &Piece, sums: &Sums) -> Result<ArrayRef, MergeError> {
        let rows = self.gather.piece(piece)?;
        let mut hashes = sums.of_piece(number);
        match (&self.hashed, rows.as_dictionary_opt::<Int32Type>()) {
            (Some(entries), Some(coded)) => hashes.add_codes(entries, coded.keys()),
            _ => hashes
                .add_column(self.hash, self.field.name(), &rows)
                .map_err(|why| odd(&why))?,
        }
        drop(hashes);
        if let Some(times) = &mut self.times {
            times.add(&rows).map_err(|why| odd(&why))?;
        }
        #[cfg(debug_assertions)]
        let handed = &crate::hook::damaged_in_encoder(ArrayRef::clone(&rows));
        #[cfg(not(debug_assertions))]
        let handed = &rows;
        self.pages.write(self.field, handed)?;
        Ok(rows)
    }

    fn finish(self) -> Result<ColumnDone, MergeError> {
        Ok(ColumnDone {
            chunks: self.pages.finish()?,
            times: self.times,
        })
    }
}

/// Gathered bytes as the strings that they are.
fn as_strings(field: &Field, rows: &ArrayRef) -> Result<ArrayRef, MergeError> {
    match (rows.data_type(), field.data_type()) {
        (DataType::Binary, DataType::Utf8) | (DataType::LargeBinary, DataType::LargeUtf8) => {
            strict_cast(rows, field.data_type()).map_err(|why| odd(&why))
        }
        _ => Ok(ArrayRef::clone(rows)),
    }
}

fn odd(why: &ArrowError) -> MergeError {
    MergeError::Proof(why.to_string())
}
