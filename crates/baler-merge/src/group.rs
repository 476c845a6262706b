//! A row group that is encoded and not written yet: one column chunk after another, each as the pages it is made of.

use bytes::{Buf, Bytes};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::RowGroupMetaDataPtr;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::SerializedFileWriter;
use std::collections::VecDeque;
use std::io::{Read, Write};

/// One leaf column of a row group.
#[derive(Debug, Clone)]
pub(crate) struct EncodedColumn {
    /// Headers and pages in the order of the file, the dictionary first.
    pub(crate) bytes: Rope,
    /// Sizes, statistics and indexes; offsets are counted from the first byte of `bytes`.
    pub(crate) close: ColumnCloseResult,
}

/// All leaf columns of a row group, in the order of the schema.
#[derive(Debug, Clone)]
pub(crate) struct EncodedGroup {
    pub(crate) rows: u64,
    pub(crate) columns: Vec<EncodedColumn>,
}

impl EncodedGroup {
    /// Length of all pages as they will be written.
    pub(crate) fn bytes(&self) -> u64 {
        self.columns.iter().map(|column| column.bytes.len()).sum()
    }

    /// Writes it as the next row group of a file. What a column holds is let go as soon as it is written.
    pub(crate) fn append_to<W: Write + Send>(
        self,
        file: &mut SerializedFileWriter<W>,
    ) -> ParquetResult<RowGroupMetaDataPtr> {
        let mut group = file.next_row_group()?;
        for column in self.columns {
            group.append_column(&column.bytes, column.close)?;
        }
        group.close()
    }
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

    /// All of it in one piece.
    pub(crate) fn to_bytes(&self) -> Bytes {
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
