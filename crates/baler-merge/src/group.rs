//! A row group that is encoded and not written yet: one column chunk after another, each as the pages it is made of.

use crate::error::MergeError;
use bytes::{Buf, Bytes, BytesMut};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaDataPtr};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescPtr;
use std::collections::VecDeque;
use std::io::{self, Read, Write};

#[cfg(test)]
#[path = "group_for_tests.rs"]
mod for_tests;
#[cfg(test)]
pub(crate) use for_tests::EncodedGroup;

/// One leaf column of a row group.
#[derive(Debug, Clone)]
pub(crate) struct EncodedColumn {
    /// Headers and pages in the order of the file, the dictionary first.
    pub(crate) bytes: Rope,
    /// Sizes, statistics and indexes; offsets are counted from the first byte of `bytes`.
    pub(crate) close: ColumnCloseResult,
}

/// A chunk of a file, and what is to be said about it in another.
pub(crate) struct FoundChunk<'a> {
    /// All of its pages.
    pub(crate) bytes: Bytes,
    pub(crate) metadata: &'a ColumnChunkMetaData,
    pub(crate) rows: u64,
    pub(crate) statistics: Option<Statistics>,
    pub(crate) column_index: Option<ColumnIndexMetaData>,
    /// Offsets as they are in the file.
    pub(crate) offset_index: Option<OffsetIndexMetaData>,
}

impl EncodedColumn {
    /// A chunk of a file as a column of an output that has it as `leaf`.
    pub(crate) fn found(found: FoundChunk<'_>, leaf: ColumnDescPtr) -> ParquetResult<Self> {
        let chunk = found.metadata;
        let (start, _) = chunk.byte_range();
        // As in `settings`: of pages of lists nobody knows who counted their nulls.
        let tells_bounds = leaf.max_rep_level() == 0;
        let moved = |offset: i64| offset - start as i64;
        let mut builder = ColumnChunkMetaData::builder(leaf)
            .set_compression_codec(chunk.compression_codec())
            .set_encodings_mask(*chunk.encodings_mask())
            .set_total_compressed_size(chunk.compressed_size())
            .set_total_uncompressed_size(chunk.uncompressed_size())
            .set_num_values(chunk.num_values())
            .set_data_page_offset(moved(chunk.data_page_offset()))
            .set_dictionary_page_offset(chunk.dictionary_page_offset().map(moved))
            .set_unencoded_byte_array_data_bytes(chunk.unencoded_byte_array_data_bytes())
            .set_repetition_level_histogram(chunk.repetition_level_histogram().cloned())
            .set_definition_level_histogram(chunk.definition_level_histogram().cloned());
        if let Some(statistics) = found.statistics {
            builder = builder.set_statistics(statistics);
        }
        if let Some(pages) = chunk.page_encoding_stats() {
            builder = builder.set_page_encoding_stats(pages.clone());
        }
        let mut offset_index = found.offset_index;
        for page in offset_index
            .iter_mut()
            .flat_map(|index| &mut index.page_locations)
        {
            page.offset = moved(page.offset);
        }
        Ok(Self {
            close: ColumnCloseResult {
                bytes_written: found.bytes.len() as u64,
                rows_written: found.rows,
                metadata: builder.build()?,
                bloom_filter: None,
                column_index: found.column_index.filter(|_| tells_bounds),
                offset_index,
            },
            bytes: found.bytes.into(),
        })
    }
}

/// Writes the next row group of a file, column by column, so that no more than one of them is held.
pub(crate) fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    mut column: impl FnMut(usize) -> Result<EncodedColumn, MergeError>,
) -> Result<RowGroupMetaDataPtr, MergeError> {
    let odd = |why: parquet::errors::ParquetError| MergeError::Node {
        doing: "writing an output",
        source: io::Error::other(why.to_string()),
    };
    let leaves = file.schema_descr().num_columns();
    let mut group = file.next_row_group().map_err(odd)?;
    for leaf in 0..leaves {
        let column = column(leaf)?;
        group.append_column(&column.bytes, column.close).map_err(odd)?;
    }
    group.close().map_err(odd)
}

/// Bytes in several pieces, read as if they were one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rope {
    pieces: VecDeque<Bytes>,
    len: u64,
}

impl Rope {
    pub(crate) fn push(&mut self, piece: Bytes) {
        self.len += piece.len() as u64;
        self.pieces.push_back(piece);
    }

    pub(crate) fn push_front(&mut self, piece: Bytes) {
        self.len += piece.len() as u64;
        self.pieces.push_front(piece);
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter()
    }

    /// Reads it piece by piece, without copying what lies in one.
    pub(crate) fn cursor(&self) -> RopeCursor<'_> {
        let mut pieces = self.pieces.iter();
        RopeCursor {
            rest: pieces.next().cloned().unwrap_or_default(),
            pieces,
            at: 0,
        }
    }

    /// All of it in one piece.
    pub(crate) fn to_bytes(&self) -> Bytes {
        if let (Some(only), 1) = (self.pieces.front(), self.pieces.len()) {
            return only.clone();
        }
        let mut whole = Vec::with_capacity(self.len as usize);
        self.pieces().for_each(|piece| whole.extend_from_slice(piece));
        whole.into()
    }

    fn after(&self, mut skipped: u64) -> VecDeque<Bytes> {
        let mut rest = self.pieces.clone();
        while let Some(first) = rest.front_mut() {
            let here = skipped.min(first.len() as u64);
            first.advance(here as usize);
            skipped -= here;
            if !first.is_empty() {
                break;
            }
            rest.pop_front();
        }
        rest
    }
}

/// A place in a rope.
pub(crate) struct RopeCursor<'a> {
    /// What is left of the piece that it is in.
    rest: Bytes,
    pieces: std::collections::vec_deque::Iter<'a, Bytes>,
    at: u64,
}

impl RopeCursor<'_> {
    /// Bytes before this place.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// What is left of the piece at this place.
    pub(crate) fn piece(&mut self) -> &Bytes {
        while self.rest.is_empty()
            && let Some(next) = self.pieces.next()
        {
            self.rest = next.clone();
        }
        &self.rest
    }

    /// The next bytes; they are copied only if they lie in several pieces.
    pub(crate) fn take(&mut self, length: usize) -> Result<Bytes, String> {
        self.at += length as u64;
        if self.piece().len() >= length {
            return Ok(self.rest.split_to(length));
        }
        let mut taken = BytesMut::with_capacity(length.min(1 << 20));
        while taken.len() < length {
            let here = self.piece().len().min(length - taken.len());
            if here == 0 {
                return Err("a column ends in the middle of a page".into());
            }
            taken.extend_from_slice(&self.rest.split_to(here));
        }
        Ok(taken.freeze())
    }
}

impl From<Bytes> for Rope {
    fn from(piece: Bytes) -> Self {
        let mut rope = Self::default();
        rope.push(piece);
        rope
    }
}

impl Length for Rope {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Rope {
    type T = RopeReader;

    fn get_read(&self, start: u64) -> ParquetResult<RopeReader> {
        Ok(RopeReader(self.after(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let mut bytes = vec![0; length];
        RopeReader(self.after(start)).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Reads a rope from some place on.
pub(crate) struct RopeReader(VecDeque<Bytes>);

impl Read for RopeReader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let Some(first) = self.0.front_mut() else {
            return Ok(0);
        };
        let length = first.len().min(into.len());
        first.copy_to_slice(&mut into[..length]);
        if first.is_empty() {
            self.0.pop_front();
        }
        Ok(length)
    }
}
