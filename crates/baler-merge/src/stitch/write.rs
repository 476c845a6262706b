//! Writes a stitched column: copies pages, retypes dictionaries, and gathers all other rows into pages of even size. What is read
//! is sealed on the way, before anything is done to it.

use super::AtChunk;
use super::Unfit;
use super::bench::{Rows, Workbench};
use super::choose::{Layouts, Shape};
use super::chunk::{Dictionary, Disguise, Part, ReadChunk};
use super::draft::Draft;
use super::marks::Marks;
use super::read_back::ReadBack;
use super::seal::{Seal, Sealing};
use crate::group::EncodedColumn;
use crate::pages::bounds::{Bounds, Order};
use crate::pages::chunk_writer::{ChunkWriter, Head, PageFacts};
use crate::pages::dictionary::Values;
use crate::pages::plain::Layout;
use crate::spec::Codec;
use arrow::buffer::NullBuffer;
use parquet::schema::types::ColumnDescPtr;
use std::io;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_128;

/// Where a data page of the output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is a page of a source, as it lay.
    Copied { nulls: usize },
    /// It is a page of a source, packed with another codec.
    Repacked { nulls: usize, was_packed: bool },
    /// Its values are the dictionary of a source, as it lay.
    Retyped,
    /// Its rows were written anew.
    Written { nulls: usize, head: Head },
}

/// A column that is not proved yet, and where each of its data pages came from.
pub(crate) struct Written {
    pub(crate) column: EncodedColumn,
    pub(crate) origins: Vec<Origin>,
    /// Hash of the values of its dictionary.
    pub(crate) dictionary: Option<u128>,
    /// Seal of what was read for it.
    pub(crate) read: Seal,
    /// Seal of the rows that were written, and not of whole pages; or why they cannot be read.
    pub(crate) made: Result<Seal, String>,
}

/// Writes all chunks, one after another.
pub(crate) fn write_column(
    chunks: &mut [ReadChunk],
    layouts: &Layouts,
    leaf: &ColumnDescPtr,
    codec: Codec,
    with: &mut Workbench,
) -> Result<Written, AtChunk> {
    let at_last = chunks.len().saturating_sub(1);
    let odd = |why: io::Error| (at_last, Unfit::Node(why));
    let layout = Layout::of(leaf);
    let merged = match &layouts.shape {
        Shape::Dictionary(merged) => Some(&merged.values),
        _ => None,
    };
    let mut writer = Writer {
        chunk: ChunkWriter::new(leaf.clone(), codec).map_err(odd)?,
        codec,
        leaf,
        layout,
        shape: &layouts.shape,
        order: Order::of(leaf),
        draft: Draft::new(leaf.max_def_level() == 1),
        origins: Vec::new(),
        bounds: None,
        in_doubt: false,
        read: Sealing::default(),
        made: ReadBack::new(layout, merged),
        looked_up: Vec::new(),
    };
    for (number, chunk) in chunks.iter_mut().enumerate() {
        let written = match layouts.retyped[number] {
            true => writer.retype(chunk, with),
            false => writer.chunk(number, chunk, with),
        };
        written.map_err(|unfit| (number, unfit))?;
    }
    writer.finish().map_err(odd)
}

pub(super) struct Writer<'a> {
    pub(super) chunk: ChunkWriter,
    pub(super) codec: Codec,
    pub(super) leaf: &'a ColumnDescPtr,
    pub(super) layout: Layout,
    pub(super) shape: &'a Shape,
    pub(super) order: Option<Order>,
    pub(super) draft: Draft,
    pub(super) origins: Vec<Origin>,
    bounds: Option<Bounds>,
    /// Some page's bounds are not known.
    in_doubt: bool,
    pub(super) read: Sealing,
    pub(super) made: ReadBack<'a>,
    /// Values of a page of codes.
    looked_up: Vec<u8>,
}

impl Writer<'_> {
    fn chunk(&mut self, number: usize, chunk: &mut ReadChunk, with: &mut Workbench) -> Result<(), Unfit> {
        let in_merged = matches!(self.shape, Shape::Dictionary(_));
        with.dictionary(chunk, self.layout)?;
        let values = chunk.dictionary.as_ref().and_then(Dictionary::values);
        match (&chunk.disguise, values) {
            (Some(disguise), Some(values)) if !in_merged => self.disguised(disguise, values)?,
            _ => self.parts(number, chunk, values, with)?,
        }
        with.forget(chunk);
        Ok(())
    }

    fn parts(
        &mut self,
        number: usize,
        chunk: &ReadChunk,
        values: Option<&Values>,
        with: &mut Workbench,
    ) -> Result<(), Unfit> {
        let as_codes = matches!(self.shape, Shape::Dictionary(_));
        let by_code = values.filter(|_| as_codes || self.layout == Layout::Bytes);
        let marks = by_code.map_or_else(Marks::of_bits, Marks::of);
        for part in &chunk.parts {
            match part {
                Part::Nulls(rows) => {
                    self.read.nulls(*rows);
                    self.nulls(*rows).map_err(Unfit::Node)?;
                }
                Part::Kept(kept) => {
                    let values = with.kept(kept)?;
                    self.read.rows(kept.rows, None);
                    let sealed = self.read.plain(values.bytes(), self.layout, kept.rows);
                    sealed.map_err(Unfit::damaged)?;
                    self.plain(kept.rows, None, &values, 0).map_err(Unfit::Node)?;
                    with.take_back(values);
                }
                Part::Indices(page) => {
                    let rows = with.indices(chunk, page)?;
                    self.read.rows(rows.rows, rows.validity.as_ref());
                    match values.filter(|_| by_code.is_none()) {
                        Some(values) => self.look_up(values, &rows)?,
                        None => {
                            self.read.codes(rows.held, &marks);
                            self.codes(number, values, &rows).map_err(Unfit::Node)?;
                        }
                    }
                }
                Part::Bits(page) => {
                    let rows = with.bits(chunk, page)?;
                    self.read.rows(rows.rows, rows.validity.as_ref());
                    self.read.codes(rows.held, &Marks::of_bits());
                    self.codes(number, None, &rows).map_err(Unfit::Node)?;
                }
                Part::Plain(page) => {
                    let rows = with.plain(chunk, page, self.layout)?;
                    self.read.rows(rows.rows, rows.validity.as_ref());
                    let sealed = self.read.plain(rows.held.bytes(), self.layout, rows.held.len());
                    sealed.map_err(Unfit::damaged)?;
                    self.plain(rows.rows, rows.validity.as_ref(), &rows.held, 0)
                        .map_err(Unfit::Node)?;
                }
                Part::Page(page, facts) => self.copy(chunk, page, facts, with)?,
            }
        }
        Ok(())
    }

    fn nulls(&mut self, rows: usize) -> io::Result<()> {
        let mut due = rows;
        while due > 0 {
            let here = due.min(self.draft.room());
            self.draft.add_nulls(here);
            self.flush_if_full()?;
            due -= here;
        }
        Ok(())
    }

    fn codes(&mut self, number: usize, values: Option<&Values>, rows: &Rows<&[u32]>) -> io::Result<()> {
        let as_codes = matches!(self.shape, Shape::Dictionary(_) | Shape::Bits);
        self.flush_unless(as_codes)?;
        let shape = self.shape;
        self.pieces(rows.rows, rows.validity.as_ref(), |draft, held| {
            let codes = &rows.held[held];
            match (shape, values) {
                (Shape::Dictionary(merged), _) => {
                    let renumbered = &merged.renumbered[number];
                    let codes = codes.iter().map(|code| renumbered[*code as usize]);
                    draft.codes.extend(codes);
                }
                (Shape::Bits, _) | (_, None) => draft.codes.extend_from_slice(codes),
                (_, Some(values)) => values.gather(codes, &mut draft.plain),
            }
        })
    }

    /// Values of one width take the place of their codes.
    fn look_up(&mut self, values: &Values, rows: &Rows<&[u32]>) -> Result<(), Unfit> {
        let mut found = std::mem::take(&mut self.looked_up);
        found.clear();
        values.gather(rows.held, &mut found);
        let sealed = self.read.plain(&found, self.layout, rows.held.len());
        sealed.map_err(Unfit::damaged)?;
        self.flush_unless(false).map_err(Unfit::Node)?;
        let width = found.len().checked_div(rows.held.len()).unwrap_or(0);
        let taken = self.pieces(rows.rows, rows.validity.as_ref(), |draft, held| {
            draft
                .plain
                .extend_from_slice(&found[held.start * width..held.end * width]);
        });
        self.looked_up = found;
        taken.map_err(Unfit::Node)
    }

    /// A dictionary in disguise: its values are what the rows hold, one after another.
    fn disguised(&mut self, disguise: &Disguise, values: &Values) -> Result<(), Unfit> {
        let mut first = 0;
        for (rows, validity) in &disguise.0 {
            let present = rows - validity.as_ref().map_or(0, NullBuffer::null_count);
            let held = values.plain_range(first..first + present);
            self.read.rows(*rows, validity.as_ref());
            let sealed = self.read.plain(held, self.layout, present);
            sealed.map_err(Unfit::damaged)?;
            self.plain(*rows, validity.as_ref(), values, first)
                .map_err(Unfit::Node)?;
            first += present;
        }
        Ok(())
    }

    /// Rows that hold `values` from number `first` on.
    fn plain(
        &mut self,
        rows: usize,
        validity: Option<&NullBuffer>,
        values: &Values,
        first: usize,
    ) -> io::Result<()> {
        self.flush_unless(false)?;
        self.pieces(rows, validity, |draft, held| {
            let held = first + held.start..first + held.end;
            draft.plain.extend_from_slice(values.plain_range(held));
        })
    }

    /// Takes rows into the draft, page by page.
    fn pieces(
        &mut self,
        rows: usize,
        validity: Option<&NullBuffer>,
        mut take: impl FnMut(&mut Draft, Range<usize>),
    ) -> io::Result<()> {
        let (mut row, mut held) = (0, 0);
        while row < rows {
            let here = (rows - row).min(self.draft.room());
            let piece = validity.map(|validity| validity.slice(row, here));
            let present = self.draft.add_rows(here, piece.as_ref());
            take(&mut self.draft, held..held + present);
            (row, held) = (row + here, held + present);
            self.flush_if_full()?;
        }
        Ok(())
    }

    pub(super) fn byte_array_bytes(&self, plain_bytes: usize, values: usize) -> Option<u64> {
        let lengths = plain_bytes.checked_sub(4 * values)?;
        (self.layout == Layout::Bytes).then_some(lengths as u64)
    }

    pub(super) fn widen(&mut self, bounds: Option<&Bounds>, facts: &PageFacts) {
        match (self.order, bounds) {
            (Some(order), Some(bounds)) => order.widen(&mut self.bounds, bounds),
            _ => self.in_doubt |= facts.nulls < facts.rows,
        }
    }

    fn flush_if_full(&mut self) -> io::Result<()> {
        match self.draft.room() {
            0 => self.flush(),
            _ => Ok(()),
        }
    }

    /// A page holds codes or values, not both.
    fn flush_unless(&mut self, as_codes: bool) -> io::Result<()> {
        let odd = if as_codes {
            !self.draft.plain.is_empty()
        } else {
            !self.draft.codes.is_empty()
        };
        if odd { self.flush() } else { Ok(()) }
    }

    fn finish(mut self) -> io::Result<Written> {
        self.flush()?;
        let mut dictionary = None;
        if let Shape::Dictionary(merged) = self.shape {
            let values = merged.values.bytes();
            self.chunk.set_dictionary(values, merged.values.len())?;
            dictionary = Some(xxh3_128(values));
        }
        let bounds = self.bounds.filter(|_| !self.in_doubt);
        Ok(Written {
            column: self.chunk.finish_with(bounds)?,
            origins: self.origins,
            dictionary,
            read: self.read.done(),
            made: self.made.done(),
        })
    }
}
