//! Writes a stitched column: copies pages, retypes dictionaries, and has all other rows gathered into pages of even size. What is
//! read is sealed on the way.

use super::AtChunk;
use super::Unfit;
use super::bench::Workbench;
use super::choose::{Layouts, Shape};
use super::chunk::{Dictionary, Part, ReadChunk};
use super::draft::Draft;
use super::read_back::ReadBack;
use super::seal::{Seal, Sealing};
use crate::group::EncodedColumn;
use crate::pages::bounds::{Bounds, Order};
use crate::pages::chunk_writer::{ChunkWriter, Head, PageFacts};
use crate::pages::dictionary::Values;
use crate::pages::plain::Layout;
use crate::spec::Codec;
use parquet::schema::types::ColumnDescPtr;
use std::io;
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
    /// Its values are the differences that keys were kept as.
    Kept,
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
        made: ReadBack::new(layout, merged.map_or(0, Values::len)),
        looked_up: Vec::new(),
        renumbered: Vec::new(),
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
    pub(super) made: ReadBack,
    /// Values, or new numbers, of a page of codes.
    pub(super) looked_up: Vec<u8>,
    pub(super) renumbered: Vec<u32>,
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
        if let (Shape::Dictionary(merged), Some(values)) = (self.shape, values)
            && !merged.has(number, values)
        {
            self.made
                .refuse("a value has another's number in the merged dictionary");
        }
        for part in &chunk.parts {
            match part {
                Part::Nulls(rows) => {
                    self.read.nulls(*rows);
                    self.nulls(*rows).map_err(Unfit::Node)?;
                }
                Part::Kept(kept) if self.lifts(kept.rows) => self.lift_kept(kept).map_err(Unfit::Node)?,
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
                    match (self.shape, values) {
                        (Shape::Dictionary(merged), _) => self.renumber(&merged.renumbered[number], &rows),
                        (_, Some(values)) => self.look_up(values, &rows),
                        // Without a dictionary all rows are null.
                        (_, None) => self.numbers(&rows),
                    }
                    .map_err(Unfit::Node)?;
                }
                Part::Bits(page) => {
                    let rows = with.bits(chunk, page)?;
                    self.read.rows(rows.rows, rows.validity.as_ref());
                    self.numbers(&rows).map_err(Unfit::Node)?;
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

    pub(super) fn flush_if_full(&mut self) -> io::Result<()> {
        match self.draft.room() {
            0 => self.flush(),
            _ => Ok(()),
        }
    }

    /// A page holds codes or values, not both.
    pub(super) fn flush_unless(&mut self, as_codes: bool) -> io::Result<()> {
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
