//! Serves the decoder's many small reads from a few larger ones: a sliding window for each column chunk. Chunks that fit
//! into their windows whole are read together with their neighbours in the row group, in one read.
//!
//! It is also the place where every page header passes by, so sizes are checked here, before the decoder allocates what a
//! header asks for; and where a failed read is told apart from a damaged file.

use crate::io::Input;
use crate::limits::{GAP_BYTES_MAX, PAGE_HEADER_BYTES_MAX};
use crate::page_claims::PageClaims;
use crate::page_places::{GroupPages, rows_of};
use crate::pages::header::{PageHeader, PageKind};
use crate::pages::parse_header::parse_header;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

struct Chunk {
    group: usize,
    start: u64,
    end: u64,
    claims: PageClaims,
    /// If only some pages are read, where they lie; they are asked for one by one.
    places: Vec<Place>,
    window: Mutex<Window>,
}

/// A page whose place is known.
struct Place {
    start: u64,
    end: u64,
    /// Rows that it must hold, if its header tells how many it does.
    rows: Option<u64>,
}

#[derive(Default)]
struct Window {
    start: u64,
    bytes: Bytes,
    /// Something of the chunk was read already.
    begun: bool,
    /// A page whose body is to be looked at when it is read, and where that begins.
    page: Option<(u64, PageHeader)>,
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

impl Chunk {
    fn of(group: usize, column: &ColumnChunkMetaData) -> Self {
        let (start, length) = column.byte_range();
        Self {
            group,
            start,
            end: start + length,
            claims: PageClaims::of(column),
            places: Vec::new(),
            window: Mutex::default(),
        }
    }

    /// The dictionary and the pages to be read, those that touch each other together.
    fn parts(
        group: usize,
        column: &ColumnChunkMetaData,
        pages: &GroupPages,
        leaf: usize,
        rows: u64,
    ) -> Vec<Self> {
        let whole = Self::of(group, column);
        let flat = column.column_descr().max_rep_level() == 0;
        let places = &pages.places[leaf].page_locations;
        let first = places
            .first()
            .map_or(whole.end, |place| place.offset.unsigned_abs());
        let dictionary = (first > whole.start).then_some(Place {
            start: whole.start,
            end: first,
            rows: None,
        });
        let met = places.iter().enumerate().filter_map(|(page, place)| {
            let rows = rows_of(places, page, rows);
            let start = place.offset.unsigned_abs();
            pages.meets(&rows).then_some(Place {
                start,
                end: start + u64::from(place.compressed_page_size.unsigned_abs()),
                rows: flat.then_some(rows.end - rows.start),
            })
        });
        let mut parts: Vec<Self> = Vec::new();
        for place in dictionary.into_iter().chain(met) {
            match parts.last_mut().filter(|last| last.end == place.start) {
                Some(last) => {
                    last.end = place.end;
                    last.places.push(place);
                }
                None => parts.push(Self {
                    start: place.start,
                    end: place.end,
                    places: vec![place],
                    ..Self::of(group, column)
                }),
            }
        }
        parts
    }

    /// Checks a page that was asked for by its place.
    fn check_place(&self, start: u64, bytes: &Bytes) -> Result<(), String> {
        let place = self.places.iter().find(|place| place.start == start);
        let Some(place) = place.filter(|place| place.end == start + bytes.len() as u64) else {
            return Err("a page lies where its index does not say".into());
        };
        let (header, length) = parse_header(bytes)?;
        self.check_page(start, &header, length)?;
        match (&header.kind, place.rows) {
            (PageKind::V1 { values, .. } | PageKind::V2 { values, .. }, Some(rows))
                if u64::from(*values) != rows =>
            {
                return Err(format!("a page has {values} rows, its index says {rows}"));
            }
            (PageKind::Dictionary { .. }, Some(_)) => return Err("a page of values is a dictionary".into()),
            _ => {}
        }
        match self.claims.is_looked_into(&header) {
            true => self.claims.check_body(header, bytes.slice(length..)),
            false => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks what a page header of so many bytes claims.
    fn check_page(&self, at: u64, header: &PageHeader, length: usize) -> Result<(), String> {
        self.claims.check(header)?;
        let (whole, left) = (header.packed + length, self.end - at);
        match whole as u64 > left {
            true => Err(format!(
                "a page takes {whole} bytes with its header, more than the {left} that its column has left"
            )),
            false => Ok(()),
        }
    }

    /// Checks the body of a page whose header was read before, if that was asked for.
    fn check_read(&self, start: u64, bytes: &Bytes) -> Result<(), String> {
        if !self.places.is_empty() {
            return self.check_place(start, bytes);
        }
        let page = self.lock().page.take_if(|(body, _)| *body == start);
        match page {
            Some((_, header)) => self.claims.check_body(header, bytes.clone()),
            None => Ok(()),
        }
    }
}

impl Window {
    fn begun(start: u64, bytes: Bytes) -> Self {
        Self {
            start,
            bytes,
            begun: true,
            page: None,
        }
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
        Ok(PageHeaders {
            shared: Arc::clone(&self.0),
            start,
            header: None,
        })
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

/// Enough for any header without huge statistics; a longer one is fetched again at twice the length.
const HEADER_BYTES: usize = 4 << 10;

/// Reads a page header, after all that it claims was checked. The decoder asks for one of these also where it needs no header, so
/// nothing is fetched or checked before the first byte is read.
pub(crate) struct PageHeaders {
    shared: Arc<Shared>,
    start: u64,
    header: Option<(Bytes, usize)>,
}

impl Shared {
    /// The header of the page at `start`, and nothing behind it.
    fn checked_header(&self, start: u64) -> ParquetResult<Bytes> {
        let chunk = &self.chunks[self.chunk_at(start)?];
        let mut wanted = HEADER_BYTES;
        loop {
            let bytes = self.fetch(start, wanted)?;
            match parse_header(&bytes) {
                Ok((header, length)) => {
                    let checked = chunk.check_page(start, &header, length);
                    checked.map_err(ParquetError::General)?;
                    if chunk.claims.is_looked_into(&header) {
                        chunk.lock().page = Some((start + length as u64, header));
                    }
                    return Ok(bytes.slice(..length));
                }
                Err(_) if bytes.len() == wanted && wanted < PAGE_HEADER_BYTES_MAX => wanted *= 2,
                Err(_) if wanted >= PAGE_HEADER_BYTES_MAX => {
                    let why = format!("a page header is longer than {PAGE_HEADER_BYTES_MAX} bytes");
                    return Err(ParquetError::General(why));
                }
                Err(why) => return Err(ParquetError::General(why)),
            }
        }
    }
}

impl Read for PageHeaders {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (bytes, at) = match &mut self.header {
            Some(header) => header,
            none => {
                let header = self.shared.checked_header(self.start);
                none.insert((header.map_err(io::Error::other)?, 0))
            }
        };
        let length = into.len().min(bytes.len() - *at);
        into[..length].copy_from_slice(&bytes[*at..*at + length]);
        *at += length;
        Ok(length)
    }
}
