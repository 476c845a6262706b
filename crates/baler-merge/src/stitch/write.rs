//! Writes a stitched column: copies pages, retypes dictionaries, and gathers all other rows into pages of even size.

use super::choose::{Merged, Shape};
use super::read::{Dictionary, Part, ReadChunk, Rows};
use crate::group::EncodedColumn;
use crate::limits::PAGE_ROWS;
use crate::pages::bounds::{Bounds, Order};
use crate::pages::chunk_writer::{ChunkWriter, PackedPage, PageFacts};
use crate::pages::codec::{Unpacker, same_codec};
use crate::pages::dictionary::Values;
use crate::pages::header::{PageKind, PageStatistics};
use crate::pages::open_page::open_page;
use crate::pages::plain::Layout;
use crate::pages::raw::RawPage;
use crate::pages::{bits, delta, levels, rle};
use crate::spec::Codec;
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::NullBuffer;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::schema::types::ColumnDescPtr;
use std::io;

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
    Written,
}

/// The column, and where each of its data pages came from.
pub(crate) fn write_column(
    chunks: &[ReadChunk],
    shape: &Shape,
    retyped: &[bool],
    leaf: &ColumnDescPtr,
    codec: Codec,
) -> io::Result<(EncodedColumn, Vec<Origin>)> {
    let mut writer = Writer {
        chunk: ChunkWriter::new(leaf.clone(), codec)?,
        codec,
        leaf,
        shape,
        order: Order::of(leaf),
        draft: Draft::new(leaf.max_def_level() == 1),
        origins: Vec::new(),
        bounds: None,
        in_doubt: false,
    };
    for (number, chunk) in chunks.iter().enumerate() {
        match &chunk.dictionary {
            Some(dictionary) if retyped[number] => writer.retype(chunk, dictionary)?,
            _ => writer.parts(number, chunk)?,
        }
    }
    writer.finish()
}

struct Writer<'a> {
    chunk: ChunkWriter,
    codec: Codec,
    leaf: &'a ColumnDescPtr,
    shape: &'a Shape,
    order: Option<Order>,
    draft: Draft,
    origins: Vec<Origin>,
    bounds: Option<Bounds>,
    /// Some page's bounds are not known.
    in_doubt: bool,
}

/// The page in work.
struct Draft {
    rows: usize,
    nulls: usize,
    /// For columns that may be null.
    validity: Option<BooleanBufferBuilder>,
    codes: Vec<u32>,
    plain: Vec<u8>,
}

impl Draft {
    fn new(nullable: bool) -> Self {
        Self {
            rows: 0,
            nulls: 0,
            validity: nullable.then(|| BooleanBufferBuilder::new(PAGE_ROWS)),
            codes: Vec::new(),
            plain: Vec::new(),
        }
    }

    /// Counts rows in, and says how many of them have a value.
    fn add_rows(&mut self, rows: usize, validity: Option<&NullBuffer>) -> usize {
        let nulls = validity.map_or(0, NullBuffer::null_count);
        if let Some(held) = &mut self.validity {
            match validity {
                Some(validity) => held.append_buffer(validity.inner()),
                None => held.append_n(rows, true),
            }
        }
        self.rows += rows;
        self.nulls += nulls;
        rows - nulls
    }

    fn add_nulls(&mut self, rows: usize) {
        if let Some(held) = &mut self.validity {
            held.append_n(rows, false);
        }
        self.rows += rows;
        self.nulls += rows;
    }
}

impl Writer<'_> {
    fn parts(&mut self, number: usize, chunk: &ReadChunk) -> io::Result<()> {
        for part in &chunk.parts {
            match part {
                Part::Nulls(rows) => self.nulls(*rows)?,
                Part::Codes(rows) => self.codes(number, chunk, rows)?,
                Part::Plain(rows) => self.plain(rows)?,
                Part::Page(page, facts) => self.copy(chunk, page, facts)?,
            }
        }
        Ok(())
    }

    fn nulls(&mut self, rows: usize) -> io::Result<()> {
        let mut due = rows;
        while due > 0 {
            let here = due.min(PAGE_ROWS - self.draft.rows);
            self.draft.add_nulls(here);
            self.flush_if_full()?;
            due -= here;
        }
        Ok(())
    }

    fn codes(&mut self, number: usize, chunk: &ReadChunk, rows: &Rows<Vec<u32>>) -> io::Result<()> {
        let as_codes = matches!(self.shape, Shape::Dictionary(_) | Shape::Bits);
        self.flush_unless(as_codes)?;
        let shape = self.shape;
        let values = chunk.dictionary.as_ref().map(Dictionary::values);
        let values = values.transpose().map_err(io::Error::other);
        let values = if as_codes { None } else { values? };
        self.pieces(rows.rows, rows.validity.as_ref(), |draft, held| {
            let codes = &rows.held[held];
            match (shape, values) {
                (Shape::Dictionary(merged), _) => {
                    let renumbered = &merged.renumbered[number];
                    draft
                        .codes
                        .extend(codes.iter().map(|code| renumbered[*code as usize]));
                }
                (_, Some(values)) => values.gather(codes, &mut draft.plain),
                _ => draft.codes.extend_from_slice(codes),
            }
        })
    }

    fn plain(&mut self, rows: &Rows<Values>) -> io::Result<()> {
        self.flush_unless(false)?;
        self.pieces(rows.rows, rows.validity.as_ref(), |draft, held| {
            draft.plain.extend_from_slice(rows.held.plain_range(held));
        })
    }

    /// Takes rows into the draft, page by page.
    fn pieces(
        &mut self,
        rows: usize,
        validity: Option<&NullBuffer>,
        mut take: impl FnMut(&mut Draft, std::ops::Range<usize>),
    ) -> io::Result<()> {
        let (mut row, mut held) = (0, 0);
        while row < rows {
            let here = (rows - row).min(PAGE_ROWS - self.draft.rows);
            let piece = validity.map(|validity| validity.slice(row, here));
            let present = self.draft.add_rows(here, piece.as_ref());
            take(&mut self.draft, held..held + present);
            (row, held) = (row + here, held + present);
            self.flush_if_full()?;
        }
        Ok(())
    }

    fn copy(&mut self, chunk: &ReadChunk, page: &RawPage, facts: &PageFacts) -> io::Result<()> {
        self.flush()?;
        self.widen(chunk.bounds.as_ref().or(facts.bounds.as_ref()), facts);
        let nulls = facts.nulls;
        let mut packed = PackedPage {
            kind: page.header.kind.clone(),
            unpacked: page.header.unpacked,
            body: vec![page.body.clone()],
            facts: facts.clone(),
        };
        if same_codec(chunk.compression, self.codec) {
            self.origins.push(Origin::Copied { nulls });
            return self.chunk.packed_page(packed);
        }
        let was_packed = !matches!(packed.kind, PageKind::V2 { is_packed: false, .. });
        (packed.kind, packed.body) = self.repack(chunk.compression, page)?;
        self.origins.push(Origin::Repacked { nulls, was_packed });
        self.chunk.packed_page(packed)
    }

    /// The page, packed with the output's codec.
    fn repack(&mut self, compression: Compression, page: &RawPage) -> io::Result<(PageKind, Vec<Bytes>)> {
        let unpacker = Unpacker::new(compression)?;
        let mut unpacker = unpacker.ok_or_else(|| io::Error::other("the codec is not known"))?;
        let mut scratch = Vec::new();
        let mut kind = page.header.kind.clone();
        let body = match &mut kind {
            PageKind::V2 {
                level_bytes,
                is_packed,
                ..
            } => {
                let nullable = *level_bytes > 0;
                let open =
                    open_page(page, nullable, &mut unpacker, &mut scratch).map_err(io::Error::other)?;
                *is_packed = self.codec != Codec::None;
                let levels = page.body.slice(..*level_bytes);
                vec![levels, self.chunk.pack(open.values)?.into()]
            }
            _ => {
                let unpacked = unpacker.unpack(&page.body, page.header.unpacked, &mut scratch);
                unpacked.map_err(io::Error::other)?;
                vec![self.chunk.pack(&scratch)?.into()]
            }
        };
        Ok((kind, body))
    }

    /// The dictionary of a chunk as a data page: levels lie apart from values in pages of the second kind.
    fn retype(&mut self, chunk: &ReadChunk, dictionary: &Dictionary) -> io::Result<()> {
        self.flush()?;
        let mut all = Draft::new(self.leaf.max_def_level() == 1);
        for part in &chunk.parts {
            if let Part::Codes(rows) = part {
                all.add_rows(rows.rows, rows.validity.as_ref());
            }
        }
        let levels = all
            .validity
            .map(|mut validity| levels::encode(&validity.finish()));
        let levels = levels.unwrap_or_default();
        let bounds = chunk.bounds.clone();
        let facts = PageFacts {
            rows: all.rows,
            nulls: all.nulls,
            bounds: bounds.or_else(|| dictionary.values().ok()?.bounds(self.order?)),
            byte_array_bytes: self.byte_array_bytes(dictionary.page.header.unpacked, dictionary.count),
        };
        self.widen(facts.bounds.as_ref(), &facts);
        self.origins.push(Origin::Retyped);
        self.chunk.packed_page(PackedPage {
            kind: PageKind::V2 {
                values: all.rows as u32,
                nulls: all.nulls as u32,
                rows: all.rows as u32,
                encoding: Encoding::PLAIN,
                level_bytes: levels.len(),
                repetition_bytes: 0,
                is_packed: self.codec != Codec::None,
                statistics: PageStatistics::default(),
            },
            unpacked: levels.len() + dictionary.page.header.unpacked,
            body: vec![levels.into(), dictionary.page.body.clone()],
            facts,
        })
    }

    fn byte_array_bytes(&self, plain_bytes: usize, values: usize) -> Option<u64> {
        let lengths = plain_bytes.checked_sub(4 * values)?;
        (Layout::of(self.leaf) == Layout::Bytes).then_some(lengths as u64)
    }

    fn widen(&mut self, bounds: Option<&Bounds>, facts: &PageFacts) {
        match (self.order, bounds) {
            (Some(order), Some(bounds)) => order.widen(&mut self.bounds, bounds),
            _ => self.in_doubt |= facts.nulls < facts.rows,
        }
    }

    fn flush_if_full(&mut self) -> io::Result<()> {
        if self.draft.rows >= PAGE_ROWS {
            self.flush()
        } else {
            Ok(())
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

    fn flush(&mut self) -> io::Result<()> {
        if self.draft.rows == 0 {
            return Ok(());
        }
        let nullable = self.leaf.max_def_level() == 1;
        let mut draft = std::mem::replace(&mut self.draft, Draft::new(nullable));
        let levels = draft
            .validity
            .take()
            .map(|mut validity| levels::encode(&validity.finish()));
        let mut facts = PageFacts {
            rows: draft.rows,
            nulls: draft.nulls,
            ..PageFacts::default()
        };
        let (encoding, values) = match self.shape {
            Shape::Dictionary(merged) if !draft.codes.is_empty() => {
                self.describe_codes(merged, &draft.codes, &mut facts);
                let indices = rle::encode_indices(&draft.codes, merged.values.len());
                (Encoding::RLE_DICTIONARY, indices)
            }
            Shape::Bits => {
                facts.bounds = self.order.and_then(|order| {
                    let values = draft
                        .codes
                        .iter()
                        .map(|code| if *code == 0 { &[0u8][..] } else { &[1] });
                    order.bounds_of(values)
                });
                let mut packed = Vec::new();
                bits::pack(&draft.codes, 1, &mut packed);
                (Encoding::PLAIN, packed)
            }
            shape => {
                let plain = std::mem::take(&mut draft.plain);
                self.describe_plain(&plain, &mut facts)?;
                match shape {
                    Shape::Delta => (Encoding::DELTA_BINARY_PACKED, self.delta(&plain)),
                    _ => (Encoding::PLAIN, plain),
                }
            }
        };
        self.widen(facts.bounds.clone().as_ref(), &facts);
        self.origins.push(Origin::Written);
        self.chunk.page(encoding, levels.as_deref(), &values, facts)
    }

    fn delta(&self, plain: &[u8]) -> Vec<u8> {
        match self.leaf.physical_type() {
            Type::INT32 => {
                let values = plain.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes));
                delta::encode(&values.collect::<Vec<i32>>())
            }
            _ => {
                let values = plain.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes));
                delta::encode(&values.collect::<Vec<i64>>())
            }
        }
    }

    /// Codes are in the order of their values, so their ends are the values' ends; NaN stand apart.
    fn describe_codes(&self, merged: &Merged, codes: &[u32], facts: &mut PageFacts) {
        let Some(order) = self.order else { return };
        let nan_from = merged.nan_from;
        let nans = match order.is_float() {
            true => codes.iter().filter(|code| **code >= nan_from).count(),
            false => 0,
        };
        let all_nan = nans == codes.len();
        let (mut least, mut greatest) = (u32::MAX, 0);
        for code in codes.iter().filter(|code| all_nan || **code < nan_from) {
            least = least.min(*code);
            greatest = greatest.max(*code);
        }
        let value = |code: u32| merged.values.get(code as usize);
        let nans = order.is_float().then_some(nans as u64);
        facts.bounds = Some(Bounds::exact(value(least), value(greatest), nans));
        if Layout::of(self.leaf) == Layout::Bytes {
            let lengths = codes.iter().map(|code| u64::from(merged.lengths[*code as usize]));
            facts.byte_array_bytes = Some(lengths.sum());
        }
    }

    fn describe_plain(&self, plain: &[u8], facts: &mut PageFacts) -> io::Result<()> {
        let present = facts.rows - facts.nulls;
        facts.byte_array_bytes = self.byte_array_bytes(plain.len(), present);
        let Some(order) = self.order else { return Ok(()) };
        facts.bounds = match Layout::of(self.leaf) {
            Layout::Fixed(width) if width > 0 => order.bounds_of_fixed(plain, width),
            layout => {
                let values = Values::parse(plain.to_vec(), layout, present).map_err(io::Error::other)?;
                order.bounds_of(values.iter())
            }
        };
        Ok(())
    }

    fn finish(mut self) -> io::Result<(EncodedColumn, Vec<Origin>)> {
        self.flush()?;
        if let Shape::Dictionary(merged) = self.shape {
            self.chunk
                .set_dictionary(merged.values.bytes(), merged.values.len())?;
        }
        let bounds = self.bounds.filter(|_| !self.in_doubt);
        Ok((self.chunk.finish_with(bounds)?, self.origins))
    }
}
