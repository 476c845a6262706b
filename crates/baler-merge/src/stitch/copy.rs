//! Copying: a column chunk becomes one of the output, byte for byte. Every page is looked at on both sides: headers, checksums,
//! rows, and a hash of its bytes.

use super::Unfit;
use super::seal::Seals;
use super::source::{Leaf, SourceGroup};
use crate::error::MergeError;
use crate::group::{EncodedColumn, FoundChunk};
use crate::pages::codec::same_codec;
use crate::pages::raw::{RawPage, raw_chunk};
use crate::pages::summary::chunk_statistics;
use crate::spec::Codec;
use bytes::Bytes;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use parquet::file::statistics::Statistics;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use xxhash_rust::xxh3::xxh3_128;

/// Whether all chunks of a row group can stand in an output of this schema and codec as they lie.
pub(crate) fn can_copy(source: &SourceGroup<'_>, schema: &SchemaDescriptor, codec: Codec) -> bool {
    source.leaves.iter().enumerate().all(|(number, leaf)| match leaf {
        Some(Leaf::Same(found)) => {
            let chunk = source.metadata().column(*found);
            let output = schema.column(number);
            let same_levels = chunk.column_descr().max_def_level() == output.max_def_level();
            same_levels && same_codec(chunk.compression(), codec)
        }
        _ => false,
    })
}

/// A chunk that was copied and is not proved yet.
pub(crate) struct Copied {
    pub(crate) column: EncodedColumn,
    pages: Vec<(u128, usize)>,
}

/// Copies the chunk that becomes the output's leaf `number`.
pub(crate) fn copy_leaf(
    source: &SourceGroup<'_>,
    number: usize,
    leaf: &ColumnDescPtr,
) -> Result<Copied, MergeError> {
    match read(source, number, leaf) {
        Ok(copied) => Ok(copied),
        Err(unfit) => match unfit.of_input(source.input)? {
            Ok(copied) => Ok(copied),
            Err(reason) => Err(MergeError::Proof(format!(
                "a column was to be copied and cannot be: {reason}"
            ))),
        },
    }
}

fn read(source: &SourceGroup<'_>, number: usize, leaf: &ColumnDescPtr) -> Result<Copied, Unfit> {
    let chunk = source.chunk(number)?;
    let chunk = chunk.ok_or_else(|| Unfit::Decode("the file lacks it".into()))?;
    let bytes = source.read(chunk.byte_range())?;
    let pages = pages_of(&bytes, chunk.compression(), chunk.num_values(), leaf).map_err(Unfit::damaged)?;
    let evidence = source.evidence(chunk, false)?;
    let (statistics, nulls) = (chunk.statistics(), evidence.nulls);
    let column_index = match evidence.ordered {
        true => source.column_index(chunk)?,
        false => None,
    };
    let offset_index = match source.offset_index(chunk)? {
        Some(index) => Some(index),
        None if leaf.max_rep_level() == 0 => Some(locate(&pages, chunk.byte_range().0)),
        None => None,
    };
    let found = FoundChunk {
        bytes,
        metadata: chunk,
        rows: source.rows(),
        statistics: match evidence.bounds {
            Some(_) => statistics.cloned(),
            None => nulls.map(|nulls| without_bounds(leaf, nulls)),
        },
        column_index: column_index.filter(|_| offset_index.is_some()),
        offset_index,
    };
    let column = EncodedColumn::found(found, leaf.clone()).map_err(Unfit::damaged)?;
    Ok(Copied {
        column,
        pages: pages.iter().map(|page| (page.hash, page.rows)).collect(),
    })
}

/// Bounds in an order that the output does not claim are left away.
fn without_bounds(leaf: &ColumnDescPtr, nulls: u64) -> Statistics {
    chunk_statistics(leaf, None, nulls)
}

/// A page as it was found.
struct FoundPage {
    hash: u128,
    rows: usize,
    start: usize,
    length: usize,
    is_data: bool,
}

fn pages_of(
    bytes: &Bytes,
    compression: parquet::basic::Compression,
    values: i64,
    leaf: &ColumnDescPtr,
) -> Result<Vec<FoundPage>, String> {
    let chunk = raw_chunk(
        bytes,
        compression,
        values.unsigned_abs(),
        leaf.max_rep_level() == 0,
    )?;
    let dictionary = chunk.dictionary.iter().map(|page| (page, false));
    let pages = dictionary.chain(chunk.pages.iter().map(|page| (page, true)));
    let mut start = 0;
    let found = pages.map(|(page, is_data): (&RawPage, bool)| {
        let found = FoundPage {
            hash: xxh3_128(&bytes[start..start + page.length]),
            rows: page.rows(),
            start,
            length: page.length,
            is_data,
        };
        start += page.length;
        found
    });
    Ok(found.collect())
}

fn locate(pages: &[FoundPage], chunk_start: u64) -> OffsetIndexMetaData {
    let mut row = 0;
    let locations = pages.iter().filter(|page| page.is_data).map(|page| {
        let location = PageLocation {
            offset: (chunk_start + page.start as u64) as i64,
            compressed_page_size: page.length as i32,
            first_row_index: row,
        };
        row += page.rows as i64;
        location
    });
    OffsetIndexMetaData {
        page_locations: locations.collect(),
        unencoded_byte_array_data_bytes: None,
    }
}

/// One number for all pages of a column.
fn seal(pages: &[(u128, usize)], column: &str) -> u128 {
    let mut bytes = column.as_bytes().to_vec();
    for (hash, rows) in pages {
        bytes.extend(hash.to_le_bytes());
        bytes.extend((*rows as u64).to_le_bytes());
    }
    xxh3_128(&bytes)
}

impl Copied {
    /// The column, if its bytes hold the pages that the source holds, and both seals.
    pub(crate) fn proved(self) -> Result<(EncodedColumn, Seals), MergeError> {
        #[cfg(debug_assertions)]
        let this = Self {
            column: crate::hook::damaged_column(self.column),
            ..self
        };
        #[cfg(not(debug_assertions))]
        let this = self;
        let ColumnCloseResult { metadata, .. } = &this.column.close;
        let leaf = metadata.column_descr_ptr();
        let name = leaf.path().string();
        let refuse = |why: String| MergeError::Proof(format!("copying column {name}: {why}"));
        let bytes = this.column.bytes.to_bytes();
        let found = pages_of(&bytes, metadata.compression(), metadata.num_values(), &leaf).map_err(refuse)?;
        let found: Vec<(u128, usize)> = found.iter().map(|page| (page.hash, page.rows)).collect();
        match found == this.pages {
            true => Ok((
                this.column,
                Seals::of(seal(&this.pages, &name), seal(&found, &name)),
            )),
            false => Err(refuse("its pages are not those of the source".into())),
        }
    }
}
