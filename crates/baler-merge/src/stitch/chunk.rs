//! One leaf column of one row group: its pages, still packed, and what is to become of each.

use super::Unfit;
use super::bench::Workbench;
use super::kept::Kept;
use crate::pages::bounds::Bounds;
use crate::pages::chunk_writer::PageFacts;
use crate::pages::codec::Unpacker;
use crate::pages::dictionary::Values;
use crate::pages::header::PageKind;
use crate::pages::plain::Layout;
use crate::pages::raw::RawPage;
use arrow::buffer::NullBuffer;
use parquet::basic::{Compression, Encoding};
use std::sync::Arc;

/// A stretch of rows.
pub(crate) enum Part {
    /// Nulls, for a column that the file lacks.
    Nulls(usize),
    /// Ascending integers that were unpacked already.
    Kept(Arc<Kept>),
    /// Numbers of values in the dictionary.
    Indices(RawPage),
    /// Booleans.
    Bits(RawPage),
    /// Values, so few that they are joined with their neighbours.
    Plain(RawPage),
    /// A page to be copied.
    Page(Box<RawPage>, PageFacts),
}

/// One leaf column of one row group.
pub(crate) struct ReadChunk {
    pub(crate) compression: Compression,
    /// Its pages have definition levels.
    pub(crate) nullable: bool,
    pub(crate) dictionary: Option<Dictionary>,
    pub(crate) parts: Vec<Part>,
    /// Bounds of all values, as the footer tells them.
    pub(crate) bounds: Option<Bounds>,
    /// Nulls, as the footer tells them.
    pub(crate) nulls: Option<u64>,
    /// Found by [`ReadChunk::see_through`].
    pub(crate) disguise: Option<Disguise>,
}

/// A dictionary that is a plain page in disguise: each of its values is used once, in order. Which rows are null, page by page.
pub(crate) struct Disguise(pub(crate) Vec<(usize, Option<NullBuffer>)>);

/// A dictionary as it lies, and its values once they were needed.
pub(crate) struct Dictionary {
    pub(crate) page: RawPage,
    pub(crate) count: usize,
    values: Option<Values>,
}

impl Dictionary {
    pub(super) fn of(page: RawPage) -> Result<Self, Unfit> {
        let PageKind::Dictionary { values, encoding } = page.header.kind else {
            return Err(Unfit::damaged("a dictionary is none"));
        };
        match encoding {
            Encoding::PLAIN | Encoding::PLAIN_DICTIONARY => Ok(Self {
                page,
                count: values as usize,
                values: None,
            }),
            _ => Err(Unfit::Decode(format!("its dictionary is in encoding {encoding}"))),
        }
    }

    /// Unpacks the values into `room`, unless they are already.
    pub(crate) fn unpack(
        &mut self,
        layout: Layout,
        unpacker: &mut Unpacker,
        room: &mut Vec<u8>,
    ) -> Result<&Values, Unfit> {
        let values = match self.values.take() {
            Some(values) => values,
            None => {
                let unpacked = unpacker.unpack(&self.page.body, self.page.header.unpacked, room);
                unpacked.map_err(Unfit::damaged)?;
                Values::parse(std::mem::take(room), layout, self.count).map_err(Unfit::damaged)?
            }
        };
        Ok(self.values.insert(values))
    }

    /// The values, if they were unpacked.
    pub(crate) fn values(&self) -> Option<&Values> {
        self.values.as_ref()
    }

    /// Lets go of the unpacked values, and gives back the room that they took.
    pub(crate) fn forget(&mut self) -> Vec<u8> {
        self.values.take().map(Values::into_bytes).unwrap_or_default()
    }
}

impl ReadChunk {
    /// A chunk of which nothing has to be read.
    pub(super) fn of(part: Part) -> Self {
        Self {
            compression: Compression::UNCOMPRESSED,
            nullable: true,
            dictionary: None,
            parts: vec![part],
            bounds: None,
            nulls: None,
            disguise: None,
        }
    }

    /// Rows that were kept.
    pub(crate) fn rows_kept(&self) -> usize {
        match self.parts.as_slice() {
            [Part::Kept(kept)] => kept.rows,
            _ => 0,
        }
    }

    /// Rows that are indices into the dictionary.
    pub(crate) fn rows_with_codes(&self) -> usize {
        let rows = self.parts.iter().map(|part| match part {
            Part::Indices(page) => page.rows(),
            _ => 0,
        });
        rows.sum()
    }

    /// Finds out whether the dictionary is a plain page in disguise. Where it cannot be, by the count of its values, no page is
    /// opened.
    pub(crate) fn see_through(&mut self, with: &mut Workbench) -> Result<(), Unfit> {
        let Some(dictionary) = &self.dictionary else {
            return Ok(());
        };
        let rows = self.rows_with_codes() as u64;
        let may_be = match self.nulls {
            Some(nulls) => rows.checked_sub(nulls) == Some(dictionary.count as u64),
            None => dictionary.count as u64 <= rows,
        };
        if !may_be {
            return Ok(());
        }
        let (mut pages, mut next) = (Vec::with_capacity(self.parts.len()), 0);
        for part in &self.parts {
            let Part::Indices(page) = part else { return Ok(()) };
            let Some(found) = with.counting(self, page, next)? else {
                return Ok(());
            };
            next += found.held;
            pages.push((found.rows, found.validity));
        }
        if next as usize == dictionary.count {
            self.disguise = Some(Disguise(pages));
        }
        Ok(())
    }
}
