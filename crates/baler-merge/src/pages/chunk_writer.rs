//! Makes a column chunk of pages: packs them, writes headers with checksums, and keeps what the footer and the page index
//! will say about them.

use super::bounds::{Bounds, Order};
use super::codec::{Packer, compression_of};
use super::header::{PageHeader, PageKind, PageStatistics};
use super::summary::{chunk_statistics, column_index, histogram};
use crate::group::{EncodedColumn, Rope};
use crate::spec::Codec;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::schema::types::ColumnDescPtr;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// What is known of a data page beside its bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageFacts {
    pub(crate) rows: usize,
    pub(crate) nulls: usize,
    /// Bounds of the values that are not null. None with values there: the chunk gets no column index.
    pub(crate) bounds: Option<Bounds>,
    /// For byte arrays: the sum of their lengths.
    pub(crate) byte_array_bytes: Option<u64>,
}

/// Stands for a page: a hash of its header, which has the checksum of all that follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head(u64);

impl Head {
    pub(crate) fn of(header: &[u8]) -> Self {
        Self(xxh3_64(header))
    }
}

/// A data page that lies packed already.
#[derive(Debug, Clone)]
pub(crate) struct PackedPage {
    /// V1 or V2; its statistics are not written.
    pub(crate) kind: PageKind,
    /// Length once unpacked.
    pub(crate) unpacked: usize,
    /// Everything after the header.
    pub(crate) body: Vec<Bytes>,
    pub(crate) facts: PageFacts,
}

/// Makes one column chunk. Data pages come in order; the dictionary may be given at any time before the end.
pub(crate) struct ChunkWriter {
    leaf: ColumnDescPtr,
    order: Option<Order>,
    compression: Compression,
    packer: Packer,
    /// Header and page, and their length with the page unpacked.
    dictionary: Option<(Bytes, usize)>,
    rope: Rope,
    unpacked_bytes: usize,
    pages: Vec<Placed>,
    scratch: Vec<u8>,
    /// Pages that need not be tried to pack.
    left_unpacked: usize,
}

/// After one page that does not pack, so many are not tried.
const DENSE_PAGES: usize = 15;

/// A data page and where it lies, counted from the first.
struct Placed {
    offset: u64,
    length: usize,
    page_type: PageType,
    encoding: Encoding,
    facts: PageFacts,
}

impl ChunkWriter {
    pub(crate) fn new(leaf: ColumnDescPtr, codec: Codec) -> io::Result<Self> {
        Ok(Self {
            order: Order::of(&leaf),
            leaf,
            compression: compression_of(codec)?,
            packer: Packer::new(codec)?,
            dictionary: None,
            rope: Rope::default(),
            unpacked_bytes: 0,
            pages: Vec::new(),
            scratch: Vec::new(),
            left_unpacked: 0,
        })
    }

    /// The dictionary that pages of indices point into: `count` values in PLAIN encoding.
    pub(crate) fn set_dictionary(&mut self, values: &[u8], count: usize) -> io::Result<()> {
        let packed = self.packer.pack(values)?;
        let kind = PageKind::Dictionary {
            values: count_of(count)?,
            encoding: Encoding::PLAIN,
        };
        let header = header(kind, values.len(), &[&packed])?.encode();
        let unpacked = header.len() + values.len();
        self.dictionary = Some(([header, packed].concat().into(), unpacked));
        Ok(())
    }

    /// Packs a data page. `levels` are the definition levels as [`super::levels`] makes them; columns that cannot be null have none.
    pub(crate) fn page(
        &mut self,
        encoding: Encoding,
        levels: Option<&[u8]>,
        values: &[u8],
        facts: PageFacts,
    ) -> io::Result<Head> {
        self.scratch.clear();
        if let Some(levels) = levels {
            self.scratch
                .extend_from_slice(&count_of(levels.len())?.to_le_bytes());
            self.scratch.extend_from_slice(levels);
        }
        self.scratch.extend_from_slice(values);
        let packed = self.packer.pack(&self.scratch)?;
        let kind = PageKind::V1 {
            values: count_of(facts.rows)?,
            encoding,
            level_encoding: Encoding::RLE,
            statistics: PageStatistics::default(),
        };
        let unpacked = self.scratch.len();
        self.packed_page(PackedPage {
            kind,
            unpacked,
            body: vec![packed.into()],
            facts,
        })
    }

    /// Writes a data page of numbers packed as narrow as they go. Where such pages were found to pack by less than a sixteenth, which
    /// costs every reader more than it saves, most are left as they are, and only some are tried again. Levels lie apart then, in a page of the second kind.
    pub(crate) fn narrow_page(
        &mut self,
        encoding: Encoding,
        levels: Option<Vec<u8>>,
        values: Vec<u8>,
        facts: PageFacts,
    ) -> io::Result<Head> {
        if self.left_unpacked == 0 {
            let unpacked = values.len();
            let head = self.page(encoding, levels.as_deref(), &values, facts)?;
            let packed = self.pages.last().map_or(0, |page| page.length);
            let is_dense = packed >= unpacked / 16 * 15 && self.compression != Compression::UNCOMPRESSED;
            self.left_unpacked = if is_dense { DENSE_PAGES } else { 0 };
            return Ok(head);
        }
        self.left_unpacked -= 1;
        let levels = levels.unwrap_or_default();
        self.packed_page(PackedPage {
            kind: PageKind::V2 {
                values: count_of(facts.rows)?,
                nulls: count_of(facts.nulls)?,
                rows: count_of(facts.rows)?,
                encoding,
                level_bytes: levels.len(),
                repetition_bytes: 0,
                is_packed: false,
                statistics: PageStatistics::default(),
            },
            unpacked: levels.len() + values.len(),
            body: vec![levels.into(), values.into()],
            facts,
        })
    }

    /// Takes a data page as it lies; it must have been packed with the chunk's codec.
    pub(crate) fn packed_page(&mut self, page: PackedPage) -> io::Result<Head> {
        let page_type = match page.kind {
            PageKind::V1 { .. } => PageType::DATA_PAGE,
            PageKind::V2 { .. } => PageType::DATA_PAGE_V2,
            PageKind::Dictionary { .. } => return Err(io::Error::other("a dictionary is no data page")),
        };
        let encoding = page.kind.encoding();
        let pieces: Vec<&[u8]> = page.body.iter().map(Bytes::as_ref).collect();
        let header = header(page.kind, page.unpacked, &pieces)?;
        let (head, offset) = (header.encode(), self.rope.len());
        let length = head.len() + header.packed;
        let hash = Head::of(&head);
        self.unpacked_bytes += head.len() + page.unpacked;
        self.rope.push(head.into());
        for piece in page.body.into_iter().filter(|piece| !piece.is_empty()) {
            self.rope.push(piece);
        }
        self.pages.push(Placed {
            offset,
            length,
            page_type,
            encoding,
            facts: page.facts,
        });
        Ok(hash)
    }

    /// `bytes`, packed with the chunk's codec.
    pub(crate) fn pack(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.packer.pack(bytes)
    }

    /// The chunk, with bounds taken from its pages.
    pub(crate) fn finish(self) -> io::Result<EncodedColumn> {
        let mut bounds = None;
        let told = self
            .pages
            .iter()
            .all(|page| page.facts.bounds.is_some() || page.facts.nulls == page.facts.rows);
        if let Some(order) = self.order.filter(|_| told) {
            let pages = self.pages.iter().filter_map(|page| page.facts.bounds.as_ref());
            pages.for_each(|page| order.widen(&mut bounds, page));
        }
        self.finish_with(bounds)
    }

    /// The chunk, with bounds that are known from elsewhere.
    pub(crate) fn finish_with(mut self, bounds: Option<Bounds>) -> io::Result<EncodedColumn> {
        let column_index = self.column_index()?;
        let offset_index = self.offset_index();
        let rows: usize = self.pages.iter().map(|page| page.facts.rows).sum();
        let nulls: usize = self.pages.iter().map(|page| page.facts.nulls).sum();
        let shift = self.dictionary.as_ref().map_or(0, |(page, _)| page.len());
        let mut unpacked = self.unpacked_bytes;
        let (encodings, encoding_stats) = self.encodings();
        if let Some((page, page_unpacked)) = self.dictionary.take() {
            unpacked += page_unpacked;
            self.rope.push_front(page);
        }
        let bytes = self.rope.len();
        let mut chunk = ColumnChunkMetaData::builder(self.leaf.clone())
            .set_compression(self.compression)
            .set_encodings_mask(encodings)
            .set_page_encoding_stats(encoding_stats)
            .set_total_compressed_size(bytes as i64)
            .set_total_uncompressed_size(unpacked as i64)
            .set_num_values(rows as i64)
            .set_data_page_offset(shift as i64)
            .set_dictionary_page_offset((shift > 0).then_some(0))
            .set_definition_level_histogram(histogram(&self.leaf, rows, nulls))
            .set_unencoded_byte_array_data_bytes(self.byte_array_bytes());
        chunk = chunk.set_statistics(chunk_statistics(&self.leaf, bounds, nulls as u64));
        Ok(EncodedColumn {
            close: ColumnCloseResult {
                bytes_written: bytes,
                rows_written: rows as u64,
                metadata: chunk.build().map_err(io::Error::other)?,
                bloom_filter: None,
                column_index,
                offset_index: Some(offset_index),
            },
            bytes: self.rope,
        })
    }

    fn column_index(&self) -> io::Result<Option<ColumnIndexMetaData>> {
        let facts = self.pages.iter().map(|page| &page.facts);
        match self.order {
            Some(order) => column_index(&self.leaf, order, facts),
            None => Ok(None),
        }
    }

    fn byte_array_bytes(&self) -> Option<i64> {
        let pages = self.pages.iter().map(|page| page.facts.byte_array_bytes);
        pages
            .sum::<Option<u64>>()
            .filter(|_| !self.pages.is_empty())
            .map(|bytes| bytes as i64)
    }

    /// Encodings used, and how many pages use each, in the order of the file.
    fn encodings(&self) -> (EncodingMask, Vec<PageEncodingStats>) {
        let mut stats: Vec<PageEncodingStats> = Vec::new();
        let dictionary = self
            .dictionary
            .iter()
            .map(|_| (PageType::DICTIONARY_PAGE, Encoding::PLAIN));
        let pages = self.pages.iter().map(|page| (page.page_type, page.encoding));
        for (page_type, encoding) in dictionary.chain(pages) {
            match stats
                .iter_mut()
                .find(|held| held.page_type == page_type && held.encoding == encoding)
            {
                Some(held) => held.count += 1,
                None => stats.push(PageEncodingStats {
                    page_type,
                    encoding,
                    count: 1,
                }),
            }
        }
        let used: Vec<Encoding> = stats
            .iter()
            .map(|held| held.encoding)
            .chain([Encoding::RLE])
            .collect();
        (EncodingMask::new_from_encodings(used.iter()), stats)
    }

    fn offset_index(&self) -> OffsetIndexMetaData {
        let shift = self.dictionary.as_ref().map_or(0, |(page, _)| page.len() as u64);
        let mut index = OffsetIndexBuilder::new();
        let sized = self.byte_array_bytes().is_some();
        for page in &self.pages {
            index.append_row_count(page.facts.rows as i64);
            index.append_offset_and_size((page.offset + shift) as i64, page.length as i32);
            let bytes = page.facts.byte_array_bytes.filter(|_| sized);
            index.append_unencoded_byte_array_data_bytes(bytes.map(|bytes| bytes as i64));
        }
        index.build()
    }
}

fn header(kind: PageKind, unpacked: usize, body: &[&[u8]]) -> io::Result<PageHeader> {
    let mut crc = crc32fast::Hasher::new();
    body.iter().for_each(|piece| crc.update(piece));
    let packed = body.iter().map(|piece| piece.len()).sum();
    if unpacked > i32::MAX as usize || packed > i32::MAX as usize {
        return Err(io::Error::other("a page is larger than 2 GiB"));
    }
    Ok(PageHeader {
        unpacked,
        packed,
        crc: Some(crc.finalize()),
        kind,
    })
}

fn count_of(count: usize) -> io::Result<u32> {
    i32::try_from(count)
        .map(i32::unsigned_abs)
        .map_err(|_| io::Error::other("a page has more than 2^31 values"))
}
