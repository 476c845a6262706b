//! Reads one leaf column of one row group for stitching, and decides what is to become of each page. Pages are opened only where
//! the file does not tell enough about one that is copied.

use super::Unfit;
use super::bench::Workbench;
use super::chunk::{Dictionary, Part, ReadChunk};
use super::source::SourceGroup;
use crate::limits::PAGE_ROWS;
use crate::pages::bounds::Order;
use crate::pages::chunk_writer::PageFacts;
use crate::pages::dictionary::Values;
use crate::pages::header::PageKind;
use crate::pages::plain::Layout;
use crate::pages::raw::{RawPage, raw_chunk};
use parquet::basic::Encoding;
use parquet::schema::types::ColumnDescriptor;
use std::sync::Arc;

/// Plain pages with fewer rows are joined with their neighbours.
const JOINED_ROWS_MAX: usize = PAGE_ROWS / 8;

/// Reads the chunk of `source` that becomes a part of the output's leaf number `leaf`.
pub(crate) fn read_chunk(
    source: &SourceGroup<'_>,
    leaf: usize,
    into: &ColumnDescriptor,
    with: &mut Workbench,
) -> Result<ReadChunk, Unfit> {
    let rows = source.rows() as usize;
    if let Some((_, kept)) = source.kept.filter(|(kept, _)| *kept == leaf) {
        return Ok(ReadChunk::of(Part::Kept(Arc::clone(kept))));
    }
    let Some(chunk) = source.chunk(leaf)? else {
        return match into.max_def_level() == 1 {
            true => Ok(ReadChunk::of(Part::Nulls(rows))),
            false => Err(Unfit::Decode("it is missing and cannot be null".into())),
        };
    };
    with.unpacker(chunk.compression())?;
    let bytes = source.read(chunk.byte_range())?;
    let raw = raw_chunk(&bytes, chunk.compression(), rows as u64, true).map_err(Unfit::damaged)?;
    let is_copied = |page: &RawPage| !is_dictionary(page.header.kind.encoding());
    let evidence = source.evidence(chunk, raw.pages.iter().any(is_copied))?;
    let found = chunk.column_descr();
    let mut read = ReadChunk {
        compression: chunk.compression(),
        nullable: found.max_def_level() == 1,
        dictionary: raw.dictionary.map(Dictionary::of).transpose()?,
        parts: Vec::with_capacity(raw.pages.len()),
        bounds: evidence.bounds.clone(),
        nulls: evidence.nulls,
        disguise: None,
    };
    if read.dictionary.is_some() && Layout::of(into) == Layout::Bits {
        return Err(Unfit::Decode(
            "booleans cannot be looked up in a dictionary".into(),
        ));
    }
    let pages = raw.pages.len();
    let mut reader = Reader {
        must_open: found.max_def_level() != into.max_def_level(),
        layout: Layout::of(into),
        order: Order::of(into),
        with,
    };
    for (number, page) in raw.pages.into_iter().enumerate() {
        let told = evidence.nulls_of(number, &page).map(|nulls| PageFacts {
            rows: page.rows(),
            nulls,
            bounds: evidence.bounds_of(number, &page, pages),
            byte_array_bytes: evidence.bytes_of(number),
        });
        let part = reader.part(&read, page, told)?;
        read.parts.push(part);
    }
    Ok(read)
}

fn is_dictionary(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

struct Reader<'a> {
    /// Pages cannot be copied, because the output's have levels and these have none.
    must_open: bool,
    layout: Layout,
    order: Option<Order>,
    with: &'a mut Workbench,
}

impl Reader<'_> {
    /// `told` is what the file tells about the page, if it tells enough to copy it unopened.
    fn part(&mut self, chunk: &ReadChunk, page: RawPage, told: Option<PageFacts>) -> Result<Part, Unfit> {
        let encoding = page.header.kind.encoding();
        if let PageKind::V1 { level_encoding, .. } = &page.header.kind
            && chunk.nullable
            && *level_encoding != Encoding::RLE
        {
            return Err(Unfit::Decode(format!(
                "its levels are in encoding {level_encoding}"
            )));
        }
        let is_joined = self.must_open || page.rows() <= JOINED_ROWS_MAX;
        let is_bits = self.layout == Layout::Bits;
        Ok(match encoding {
            _ if is_dictionary(encoding) => Part::Indices(page),
            Encoding::PLAIN | Encoding::RLE if is_bits && is_joined => Part::Bits(page),
            Encoding::PLAIN if !is_bits && is_joined => Part::Plain(page),
            _ if self.must_open => {
                return Err(Unfit::Decode(format!(
                    "it is in encoding {encoding} and cannot be null"
                )));
            }
            _ => {
                let facts = match told {
                    Some(facts) if facts.bounds.is_some() || facts.nulls == facts.rows => facts,
                    told => self.facts(chunk, &page, told)?,
                };
                Part::Page(Box::new(page), facts)
            }
        })
    }

    /// What the file does not tell is found by opening the page; bounds only where values lie plain.
    fn facts(
        &mut self,
        chunk: &ReadChunk,
        page: &RawPage,
        told: Option<PageFacts>,
    ) -> Result<PageFacts, Unfit> {
        let (layout, order) = (self.layout, self.order);
        let is_plain = page.header.kind.encoding() == Encoding::PLAIN && layout != Layout::Bits;
        if let Some(facts) = told.filter(|_| !is_plain) {
            return Ok(facts);
        }
        if !is_plain && !chunk.nullable {
            return Ok(PageFacts {
                rows: page.rows(),
                ..PageFacts::default()
            });
        }
        let open = self.with.open(chunk, page)?;
        let mut facts = PageFacts {
            rows: open.rows,
            nulls: open.rows - open.present(),
            ..PageFacts::default()
        };
        if is_plain {
            let values =
                Values::parse(open.values.to_vec(), layout, open.present()).map_err(Unfit::damaged)?;
            facts.bounds = order.and_then(|order| values.bounds(order));
            facts.byte_array_bytes =
                (layout == Layout::Bytes).then(|| (values.bytes().len() - 4 * values.len()) as u64);
        }
        Ok(facts)
    }
}
