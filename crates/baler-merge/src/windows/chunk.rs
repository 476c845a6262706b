//! A column chunk, or those of its pages that are read: where they lie, what they may claim, and what is kept of them.

use crate::page_claims::PageClaims;
use crate::page_places::{GroupPages, rows_of};
use crate::pages::header::{PageHeader, PageKind};
use crate::pages::parse_header::parse_header;
use bytes::Bytes;
use parquet::file::metadata::ColumnChunkMetaData;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is read of a column chunk.
pub(super) struct Chunk {
    pub(super) group: usize,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) claims: PageClaims,
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

/// What is kept of it.
#[derive(Default)]
pub(super) struct Window {
    pub(super) start: u64,
    pub(super) bytes: Bytes,
    /// Something of the chunk was read already.
    pub(super) begun: bool,
    /// A page whose body is to be looked at when it is read, and where that begins.
    pub(super) page: Option<(u64, PageHeader)>,
}

impl Chunk {
    pub(super) fn of(group: usize, column: &ColumnChunkMetaData) -> Self {
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
    pub(super) fn parts(
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

    pub(super) fn lock(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks what a page header of so many bytes claims.
    pub(super) fn check_page(&self, at: u64, header: &PageHeader, length: usize) -> Result<(), String> {
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
    pub(super) fn check_read(&self, start: u64, bytes: &Bytes) -> Result<(), String> {
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
    pub(super) fn begun(start: u64, bytes: Bytes) -> Self {
        Self {
            start,
            bytes,
            begun: true,
            page: None,
        }
    }
}
