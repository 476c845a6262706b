//! Reads one leaf column of one row group for stitching: pages that can be copied stay packed, indices are decoded, small pages
//! of plain values are opened so that they can be joined.

use super::Unfit;
use super::source::SourceGroup;
use crate::limits::PAGE_ROWS;
use crate::pages::bits;
use crate::pages::bounds::{Bounds, Order};
use crate::pages::chunk_writer::PageFacts;
use crate::pages::codec::{Unpacker, Unpackers};
use crate::pages::dictionary::Values;
use crate::pages::header::PageKind;
use crate::pages::open_page::{OpenPage, open_page};
use crate::pages::plain::Layout;
use crate::pages::raw::{RawPage, raw_chunk};
use crate::pages::rle;
use arrow::buffer::NullBuffer;
use parquet::basic::{Compression, Encoding};
use parquet::schema::types::ColumnDescriptor;

/// Plain pages with fewer rows are joined with their neighbours.
const JOINED_ROWS_MAX: usize = PAGE_ROWS / 8;

/// A stretch of rows.
pub(crate) enum Part {
    /// Nulls, for a column that the file lacks.
    Nulls(usize),
    /// Numbers of values in the dictionary, for rows that have one. For booleans the values are false and true.
    Codes(Rows<Vec<u32>>),
    /// Values.
    Plain(Rows<Values>),
    /// A page to be copied.
    Page(Box<RawPage>, PageFacts),
}

/// Rows, and what those of them hold that are not null.
pub(crate) struct Rows<T> {
    pub(crate) rows: usize,
    pub(crate) validity: Option<NullBuffer>,
    pub(crate) held: T,
}

/// One leaf column of one row group.
pub(crate) struct ReadChunk {
    pub(crate) compression: Compression,
    pub(crate) dictionary: Option<Dictionary>,
    pub(crate) parts: Vec<Part>,
    /// Bounds of all values, as the footer tells them.
    pub(crate) bounds: Option<Bounds>,
}

/// A dictionary as it lies, and its values once they were needed.
pub(crate) struct Dictionary {
    pub(crate) page: RawPage,
    pub(crate) count: usize,
    values: Option<Values>,
}

impl Dictionary {
    fn of(page: RawPage) -> Result<Self, Unfit> {
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

    /// Unpacks the values, unless they are already.
    pub(crate) fn unpack(&mut self, layout: Layout, unpacker: &mut Unpacker) -> Result<(), Unfit> {
        if self.values.is_none() {
            let mut bytes = Vec::new();
            let unpacked = unpacker.unpack(&self.page.body, self.page.header.unpacked, &mut bytes);
            unpacked.map_err(Unfit::damaged)?;
            self.values = Some(Values::parse(bytes, layout, self.count).map_err(Unfit::damaged)?);
        }
        Ok(())
    }

    /// The values, which must have been unpacked.
    pub(crate) fn values(&self) -> Result<&Values, String> {
        self.values
            .as_ref()
            .ok_or_else(|| "a dictionary was not unpacked".to_owned())
    }
}

impl ReadChunk {
    fn nulls(rows: usize) -> Self {
        Self {
            compression: Compression::UNCOMPRESSED,
            dictionary: None,
            parts: vec![Part::Nulls(rows)],
            bounds: None,
        }
    }

    /// Whether the dictionary is a plain page in disguise: each of its values is used once, in order.
    pub(crate) fn is_disguised(&self) -> bool {
        let Some(dictionary) = &self.dictionary else {
            return false;
        };
        let mut next = 0u32;
        for part in &self.parts {
            let Part::Codes(rows) = part else { return false };
            if !rows
                .held
                .iter()
                .enumerate()
                .all(|(place, code)| *code == next + place as u32)
            {
                return false;
            }
            next += rows.held.len() as u32;
        }
        next as usize == dictionary.count
    }
}

/// Reads the chunk of `source` that becomes a part of the output's leaf number `leaf`.
pub(crate) fn read_chunk(
    source: &SourceGroup<'_>,
    leaf: usize,
    into: &ColumnDescriptor,
    with: &mut Workbench,
) -> Result<ReadChunk, Unfit> {
    let rows = source.rows() as usize;
    let Some(chunk) = source.chunk(leaf)? else {
        return match into.max_def_level() == 1 {
            true => Ok(ReadChunk::nulls(rows)),
            false => Err(Unfit::Decode("it is missing and cannot be null".into())),
        };
    };
    let unpacker = with.unpackers.of(chunk.compression()).map_err(Unfit::Node)?;
    let Some(unpacker) = unpacker else {
        return Err(Unfit::Decode(format!("it is packed as {}", chunk.compression())));
    };
    let bytes = source.read(chunk.byte_range())?;
    let raw = raw_chunk(&bytes, chunk.compression(), rows as u64, true).map_err(Unfit::damaged)?;
    let is_copied = |page: &RawPage| !is_dictionary(page.header.kind.encoding());
    let evidence = source.evidence(chunk, raw.pages.iter().any(is_copied))?;
    let found = chunk.column_descr();
    let mut reader = Reader {
        unpacker,
        scratch: &mut with.scratch,
        nullable: found.max_def_level() == 1,
        must_open: found.max_def_level() != into.max_def_level(),
        layout: Layout::of(into),
        order: Order::of(into),
        values: 0,
    };
    let dictionary = raw.dictionary.map(Dictionary::of).transpose()?;
    reader.values = dictionary.as_ref().map_or(0, |dictionary| dictionary.count);
    let pages = raw.pages.len();
    let parts = raw.pages.into_iter().enumerate().map(|(number, page)| {
        let facts = |nulls| PageFacts {
            rows: page.rows(),
            nulls,
            bounds: evidence.bounds_of(number, &page, pages),
            byte_array_bytes: evidence.bytes_of(number),
        };
        let told = evidence.nulls_of(number, &page).map(facts);
        reader.part(page, told)
    });
    let parts = parts.collect::<Result<Vec<Part>, Unfit>>()?;
    Ok(ReadChunk {
        compression: chunk.compression(),
        dictionary,
        parts,
        bounds: evidence.bounds,
    })
}

fn is_dictionary(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

/// What is kept from one chunk to the next.
#[derive(Default)]
pub(crate) struct Workbench {
    pub(crate) unpackers: Unpackers,
    scratch: Vec<u8>,
}

struct Reader<'a> {
    unpacker: &'a mut Unpacker,
    scratch: &'a mut Vec<u8>,
    nullable: bool,
    /// Pages cannot be copied, because the output's have levels and these have none.
    must_open: bool,
    layout: Layout,
    order: Option<Order>,
    /// Values in the dictionary.
    values: usize,
}

impl Reader<'_> {
    /// `told` is what the file tells about the page, if it tells enough to copy it unopened.
    fn part(&mut self, page: RawPage, told: Option<PageFacts>) -> Result<Part, Unfit> {
        let encoding = page.header.kind.encoding();
        if let PageKind::V1 { level_encoding, .. } = &page.header.kind
            && self.nullable
            && *level_encoding != Encoding::RLE
        {
            return Err(Unfit::Decode(format!(
                "its levels are in encoding {level_encoding}"
            )));
        }
        let is_small = page.rows() <= JOINED_ROWS_MAX;
        let nullable = self.nullable;
        match encoding {
            _ if is_dictionary(encoding) => self.codes(&page),
            Encoding::PLAIN | Encoding::RLE
                if self.layout == Layout::Bits && (is_small || self.must_open) =>
            {
                self.booleans(&page)
            }
            Encoding::PLAIN if self.layout != Layout::Bits && (is_small || self.must_open) => {
                self.plain(&page)
            }
            _ if self.must_open => Err(Unfit::Decode(format!(
                "it is in encoding {encoding} and cannot be null"
            ))),
            _ => {
                let facts = match told {
                    Some(facts) if facts.bounds.is_some() || facts.nulls == facts.rows => facts,
                    told => self.facts(&page, told, nullable)?,
                };
                Ok(Part::Page(Box::new(page), facts))
            }
        }
    }

    fn open(&mut self, page: &RawPage) -> Result<OpenPage<'_>, Unfit> {
        open_page(page, self.nullable, self.unpacker, self.scratch).map_err(Unfit::damaged)
    }

    fn codes(&mut self, page: &RawPage) -> Result<Part, Unfit> {
        let values = self.values;
        let open = self.open(page)?;
        let mut codes = Vec::with_capacity(open.present());
        rle::decode_indices(open.values, open.present(), &mut codes).map_err(Unfit::damaged)?;
        if codes.iter().fold(0, |all, code| all.max(*code)) as usize >= values && !codes.is_empty() {
            return Err(Unfit::damaged("an index points behind the dictionary"));
        }
        Ok(Part::Codes(Rows {
            rows: open.rows,
            validity: open.validity,
            held: codes,
        }))
    }

    fn booleans(&mut self, page: &RawPage) -> Result<Part, Unfit> {
        let open = self.open(page)?;
        let (present, mut codes) = (open.present(), Vec::new());
        match open.encoding {
            Encoding::PLAIN if open.values.len() * 8 < present => {
                return Err(Unfit::damaged("a page of booleans ends in the middle"));
            }
            Encoding::PLAIN => bits::unpack(open.values, 1, present, &mut codes),
            _ => {
                let values = open.values.get(4..).unwrap_or_default();
                rle::decode(values, 1, present, &mut codes).map_err(Unfit::damaged)?;
            }
        }
        Ok(Part::Codes(Rows {
            rows: open.rows,
            validity: open.validity,
            held: codes,
        }))
    }

    fn plain(&mut self, page: &RawPage) -> Result<Part, Unfit> {
        let layout = self.layout;
        let open = self.open(page)?;
        let values = Values::parse(open.values.to_vec(), layout, open.present()).map_err(Unfit::damaged)?;
        Ok(Part::Plain(Rows {
            rows: open.rows,
            validity: open.validity,
            held: values,
        }))
    }

    /// What the file does not tell is found by opening the page; bounds only where values lie plain.
    fn facts(&mut self, page: &RawPage, told: Option<PageFacts>, nullable: bool) -> Result<PageFacts, Unfit> {
        let (layout, order) = (self.layout, self.order);
        let is_plain = page.header.kind.encoding() == Encoding::PLAIN && layout != Layout::Bits;
        if let Some(facts) = told.filter(|_| !is_plain) {
            return Ok(facts);
        }
        if !is_plain && !nullable {
            return Ok(PageFacts {
                rows: page.rows(),
                ..PageFacts::default()
            });
        }
        let open = self.open(page)?;
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
