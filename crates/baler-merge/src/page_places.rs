//! Where the pages of row groups lie, as their file's page index says; so that pages that nobody needs are not read.
//!
//! An index that does not fit its chunk page by page is as good as absent. One that fits and still lies shows when a page is read: each
//! holds as many rows as the index says, or the file is refused.

use crate::decode::OpenFile;
use crate::error::FileError;
use crate::footer::read_exactly;
use crate::limits::PAGE_INDEX_BYTES_MAX;
use crate::thrift::check_offset_index;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::file::metadata::page_index::{PageIndex, PageIndexBuilder};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::page_index::index_reader::{decode_column_index, decode_offset_index};
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use std::ops::Range;

/// An index is read if the row groups it tells about are so many times as long.
const WORTH: u64 = 4;

/// Rows of a row group, and where they lie.
pub(crate) struct GroupPages {
    /// Those to be read: ascending, neither empty nor adjacent.
    pub(crate) rows: Vec<Range<u64>>,
    /// The pages of each leaf.
    pub(crate) places: Vec<OffsetIndexMetaData>,
}

impl GroupPages {
    /// How many rows are to be read.
    pub(crate) fn count(&self) -> u64 {
        self.rows.iter().map(|rows| rows.end - rows.start).sum()
    }

    /// Whether some of these rows are to be read.
    pub(crate) fn meets(&self, rows: &Range<u64>) -> bool {
        self.rows
            .iter()
            .any(|read| read.start < rows.end && rows.start < read.end)
    }
}

/// Which rows of a row group to read and which to skip.
pub(crate) fn selectors(group: &RowGroupMetaData, pages: Option<&GroupPages>) -> Vec<RowSelector> {
    let rows = group.num_rows() as usize;
    let Some(pages) = pages else {
        return vec![RowSelector::select(rows)];
    };
    let read = pages
        .rows
        .iter()
        .map(|rows| rows.start as usize..rows.end as usize);
    RowSelection::from_consecutive_ranges(read, rows).into()
}

/// The page index of some row groups, in one read: places of all leaves, bounds of some. Nothing if it is not worth a read; row groups
/// without a sound index are left out.
pub(crate) fn read_page_index(
    file: &OpenFile,
    groups: &[usize],
    bounded: &[usize],
) -> Result<Option<PageIndex>, FileError> {
    let footer = file.footer();
    let chosen = || groups.iter().map(|number| (*number, footer.row_group(*number)));
    let ranges: Vec<Range<u64>> = chosen()
        .filter_map(|(_, group)| ranges_of(group, bounded))
        .flatten()
        .collect();
    let start = ranges.iter().map(|range| range.start).min();
    let end = ranges.iter().map(|range| range.end).max();
    let (Some(start), Some(end)) = (start, end) else {
        return Ok(None);
    };
    let data: u64 = chosen()
        .map(|(_, group)| group.compressed_size().unsigned_abs())
        .sum();
    let worth = file.is_held() || (end - start).saturating_mul(WORTH) <= data;
    if end > file.input().len() || end - start > PAGE_INDEX_BYTES_MAX || !worth {
        return Ok(None);
    }
    let bytes = read_exactly(file.input(), start, (end - start) as usize)?;
    let slice = |range: Range<u64>| &bytes[(range.start - start) as usize..(range.end - start) as usize];
    let mut index = PageIndexBuilder::new(footer.num_row_groups(), file.leaves());
    for (number, group) in chosen().filter(|(_, group)| ranges_of(group, bounded).is_some()) {
        let Some(places) = places(group, slice) else {
            continue;
        };
        for leaf in bounded {
            let chunk = group.column(*leaf);
            let found = chunk.column_index_range().map(slice);
            if let Some(Ok(bounds)) = found.map(|bytes| decode_column_index(bytes, chunk.column_type())) {
                index.put_column_index(bounds, number, *leaf);
            }
        }
        for (leaf, places) in places.into_iter().enumerate() {
            index.put_offset_index(places, number, leaf);
        }
    }
    Ok(Some(index.build()))
}

/// Where the index of a row group lies; nothing if a part of it is missing.
fn ranges_of(group: &RowGroupMetaData, bounded: &[usize]) -> Option<Vec<Range<u64>>> {
    let places = group.columns().iter().map(|chunk| chunk.offset_index_range());
    let bounds = bounded
        .iter()
        .map(|leaf| group.column(*leaf).column_index_range());
    places.chain(bounds).collect()
}

/// The pages of all leaves, if they are sound.
fn places<'a>(
    group: &RowGroupMetaData,
    slice: impl Fn(Range<u64>) -> &'a [u8],
) -> Option<Vec<OffsetIndexMetaData>> {
    let of_chunk = |chunk: &ColumnChunkMetaData| {
        let bytes = slice(chunk.offset_index_range()?);
        check_offset_index(bytes).ok()?;
        let found = decode_offset_index(bytes).ok()?;
        is_sound(&found.page_locations, chunk, group.num_rows()).then_some(found)
    };
    group.columns().iter().map(of_chunk).collect()
}

/// Whether pages follow each other from the first row to the last and fill their chunk, but for a dictionary before them.
fn is_sound(places: &[PageLocation], chunk: &ColumnChunkMetaData, rows: i64) -> bool {
    let (start, length) = chunk.byte_range();
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return false;
    };
    let end_of = |place: &PageLocation| place.offset.checked_add(place.compressed_page_size.into());
    let follow = |pair: &[PageLocation]| {
        end_of(&pair[0]) == Some(pair[1].offset) && pair[0].first_row_index < pair[1].first_row_index
    };
    let begins = first.first_row_index == 0 && first.offset >= 0 && first.offset as u64 >= start;
    let ends = last.first_row_index < rows && end_of(last).map(i64::cast_unsigned) == Some(start + length);
    begins
        && ends
        && places.iter().all(|place| place.compressed_page_size > 0)
        && places.windows(2).all(follow)
}

/// The rows of page number `page`, of a row group of so many.
pub(crate) fn rows_of(places: &[PageLocation], page: usize, rows: u64) -> Range<u64> {
    let first = places[page].first_row_index.unsigned_abs();
    let end = places
        .get(page + 1)
        .map_or(rows, |next| next.first_row_index.unsigned_abs());
    first..end
}
