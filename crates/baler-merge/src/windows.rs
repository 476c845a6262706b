//! Serves the decoder's many small reads from a few larger ones: a sliding window for each column chunk. Chunks that fit
//! into their windows whole are read together with their neighbours in the row group, in one read.
//!
//! It is also the place where every page header passes by, so sizes are checked here, before the decoder allocates what a
//! header asks for; and where a failed read is told apart from a damaged file.

mod chunk;
mod headers;

use crate::io::Input;
use crate::limits::GAP_BYTES_MAX;
use crate::page_places::GroupPages;
use bytes::Bytes;
use chunk::{Chunk, Window};
use headers::PageHeaders;
use parquet::arrow::ProjectionMask;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// An input as the decoder reads it. Clones share their windows.
#[derive(Clone)]
pub(crate) struct Windows(Arc<Shared>);

struct Shared {
    input: Arc<dyn Input>,
    window_bytes: usize,
    /// By where they start; chunks do not overlap in any file that decodes.
    chunks: Vec<Chunk>,
    failure: Mutex<Option<io::Error>>,
}

impl Windows {
    /// `window_bytes` bounds what is kept of each column chunk; only leaves in `mask` will be read, and of row groups that `pages` names
    /// only those pages.
    pub(crate) fn new(
        input: Arc<dyn Input>,
        metadata: &ParquetMetaData,
        pages: &[Option<Arc<GroupPages>>],
        mask: &ProjectionMask,
        window_bytes: usize,
    ) -> Self {
        let chunks_of = |(number, group): (usize, &RowGroupMetaData)| {
            let leaves = group.columns().iter().enumerate();
            let chosen = leaves.filter(|(leaf, _)| mask.leaf_included(*leaf));
            let rows = group.num_rows().unsigned_abs();
            let parts = |(leaf, column): (usize, &ColumnChunkMetaData)| match pages.get(number) {
                Some(Some(pages)) => Chunk::parts(number, column, pages, leaf, rows),
                _ => vec![Chunk::of(number, column)],
            };
            chosen.flat_map(parts).collect::<Vec<_>>()
        };
        let groups = metadata.row_groups().iter().enumerate();
        let mut chunks: Vec<Chunk> = groups.flat_map(chunks_of).collect();
        chunks.sort_by_key(|chunk| chunk.start);
        Self(Arc::new(Shared {
            input,
            window_bytes,
            chunks,
            failure: Mutex::default(),
        }))
    }

    /// The failed read behind an error of the decoder, if that is what it was.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.0
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Shared {
    fn chunk_at(&self, offset: u64) -> ParquetResult<usize> {
        let after = self.chunks.partition_point(|chunk| chunk.start <= offset);
        match after
            .checked_sub(1)
            .filter(|index| offset < self.chunks[*index].end)
        {
            Some(index) => Ok(index),
            None => Err(ParquetError::General(format!(
                "a read at {offset}, where no column lies"
            ))),
        }
    }

    /// `length` bytes at `offset`, or what is left of the chunk if that is less.
    fn fetch(&self, offset: u64, length: usize) -> ParquetResult<Bytes> {
        let index = self.chunk_at(offset)?;
        let chunk = &self.chunks[index];
        let length = length.min((chunk.end - offset) as usize);
        let mut window = chunk.lock();
        let skipped = offset.wrapping_sub(window.start) as usize;
        if offset < window.start || skipped.saturating_add(length) > window.bytes.len() {
            let wanted = length.max(self.window_bytes).min((chunk.end - offset) as usize);
            // What is not needed any more goes before its successor comes.
            window.bytes = Bytes::new();
            let bytes = self.read_on(index, offset, wanted)?;
            let page = window.page.take();
            *window = Window::begun(offset, bytes);
            window.page = page;
            return Ok(window.bytes.slice(..length));
        }
        let bytes = window.bytes.slice(skipped..skipped + length);
        if offset + length as u64 == chunk.end {
            window.bytes = Bytes::new();
        }
        Ok(bytes)
    }

    /// Reads a part of a chunk. If that is the rest of it, the neighbours that follow come with it, into their windows.
    fn read_on(&self, index: usize, offset: u64, length: usize) -> ParquetResult<Bytes> {
        let end = offset + length as u64;
        let neighbours = match end == self.chunks[index].end {
            true => self.neighbours_after(index),
            false => index + 1..index + 1,
        };
        let read_end = self.chunks[neighbours.clone()]
            .last()
            .map_or(end, |last| last.end);
        let bytes = self.read(offset, (read_end - offset) as usize)?;
        for chunk in &self.chunks[neighbours] {
            let part = bytes.slice((chunk.start - offset) as usize..(chunk.end - offset) as usize);
            *chunk.lock() = Window::begun(chunk.start, part);
        }
        Ok(bytes.slice(..length))
    }

    /// The chunks of the same row group that follow closely, fit into their windows whole and were not read yet. So what a
    /// row group holds in memory is what it would hold without them, gaps aside.
    fn neighbours_after(&self, index: usize) -> Range<usize> {
        let gap_max = GAP_BYTES_MAX.min(self.window_bytes as u64);
        let mut last = index;
        for (next, chunk) in self.chunks.iter().enumerate().skip(index + 1) {
            let before = &self.chunks[last];
            let close = chunk.start >= before.end && chunk.start - before.end <= gap_max;
            let fits = chunk.end - chunk.start <= self.window_bytes as u64;
            if chunk.group != before.group || !close || !fits || chunk.lock().begun {
                break;
            }
            last = next;
        }
        index + 1..last + 1
    }

    fn read(&self, offset: u64, length: usize) -> ParquetResult<Bytes> {
        let read = self
            .input
            .read_at(offset, length)
            .and_then(|bytes| match bytes.len() == length {
                true => Ok(bytes),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            });
        read.map_err(|source| {
            let shown = ParquetError::General(source.to_string());
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
            shown
        })
    }
}

impl Length for Windows {
    fn len(&self) -> u64 {
        self.0.input.len()
    }
}

impl ChunkReader for Windows {
    type T = PageHeaders;

    fn get_read(&self, start: u64) -> ParquetResult<PageHeaders> {
        Ok(PageHeaders::at(Arc::clone(&self.0), start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        match self.0.fetch(start, length)? {
            bytes if bytes.len() == length => {
                let chunk = &self.0.chunks[self.0.chunk_at(start)?];
                let checked = chunk.check_read(start, &bytes);
                checked.map(|()| bytes).map_err(ParquetError::General)
            }
            _ => Err(ParquetError::EOF("a page reaches beyond its column".into())),
        }
    }
}
