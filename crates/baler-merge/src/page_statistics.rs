//! Bounds of the sort key for stretches of a row group, from its page index. As loose as those of row groups, and never wrong if the
//! file is not.

use crate::decode::OpenFile;
use crate::key_range::KeyRange;
use crate::spec::SortColumn;
use crate::statistics::{Ends, is_floating, range_of, signed};
use arrow::array::Array;
use arrow::datatypes::Schema;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type;
use parquet::file::metadata::page_index::{PageIndex, PageIndexProvider};
use std::ops::Range;

/// The pages of one sort column.
struct ColumnPages {
    /// The first row of each.
    starts: Vec<u64>,
    /// What is known of each.
    ends: Vec<Option<Ends>>,
}

/// The leaves of the sort columns that a file has, if all can be told apart by bounds.
pub(crate) fn sort_leaves(file: &OpenFile, sort: &[SortColumn]) -> Option<Vec<usize>> {
    let present = sort
        .iter()
        .filter(|column| file.schema().column_with_name(&column.name).is_some());
    present.map(|column| leaf_of(file, &column.name)).collect()
}

fn leaf_of(file: &OpenFile, name: &str) -> Option<usize> {
    let parquet = file.footer().file_metadata().schema_descr();
    let converter = StatisticsConverter::try_new(name, file.schema(), parquet).ok()?;
    converter.parquet_column_index()
}

/// Stretches of a row group in file order, cut where a page of a sort column ends, each with bounds of its keys if they are known. Nothing
/// if the index does not tell.
pub(crate) fn stretches(
    file: &OpenFile,
    group: usize,
    index: &PageIndex,
    sort: &[SortColumn],
) -> Option<Vec<(Range<u64>, Option<KeyRange>)>> {
    let rows = file.footer().row_group(group).num_rows().unsigned_abs();
    let columns = sort.iter().map(|column| {
        let pages = match file.schema().column_with_name(&column.name) {
            Some(_) => column_pages(file, group, index, &column.name)?,
            None => ColumnPages {
                starts: vec![0],
                ends: vec![Some(Ends::NULLS)],
            },
        };
        Some((column.name.as_str(), pages))
    });
    let columns: Vec<(&str, ColumnPages)> = columns.collect::<Option<_>>()?;
    let mut starts: Vec<u64> = columns
        .iter()
        .flat_map(|(_, pages)| pages.starts.iter().copied())
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let until = starts.iter().skip(1).copied().chain([rows]);
    let stretch = |(start, end): (&u64, u64)| {
        let ends = |name: &str| {
            let (_, pages) = columns.iter().find(|(known, _)| *known == name)?;
            let page = pages.starts.partition_point(|first| first <= start);
            pages.ends.get(page.checked_sub(1)?)?.clone()
        };
        (*start..end, range_of(sort, ends))
    };
    Some(starts.iter().zip(until).map(stretch).collect())
}

fn column_pages(file: &OpenFile, group: usize, index: &PageIndex, name: &str) -> Option<ColumnPages> {
    let schema: &Schema = file.schema();
    let field = schema.field_with_name(name).ok()?;
    let metadata = file.footer().file_metadata();
    let parquet = metadata.schema_descr();
    let leaf = leaf_of(file, name)?;
    let ordered = metadata.column_orders().is_some() || signed(field.data_type());
    if parquet.column(leaf).physical_type() == Type::INT96 || !ordered {
        return None;
    }
    let (bounds, places) = (
        index.column_index(group, leaf)?,
        index.page_locations(group, leaf)?,
    );
    let converter = StatisticsConverter::try_new(name, schema, parquet).ok()?;
    let mins = converter.data_page_mins(index, &[group]).ok()?;
    let maxes = converter.data_page_maxes(index, &[group]).ok()?;
    let pages = places.len();
    let null_counts = bounds.null_counts().filter(|counts| counts.len() == pages);
    if mins.len() != pages || maxes.len() != pages || bounds.num_pages() as usize != pages {
        return None;
    }
    let ends = (0..pages).map(|page| match () {
        () if bounds.is_null_page(page) => Some(Ends::NULLS),
        () if mins.is_null(page) || maxes.is_null(page) => None,
        () => Some(Ends {
            values: Some((mins.slice(page, 1), maxes.slice(page, 1))),
            nulls: field.is_nullable() && null_counts.is_none_or(|counts| counts[page] > 0),
            nan: is_floating(field.data_type()),
            exact: false,
        }),
    });
    Some(ColumnPages {
        starts: places
            .iter()
            .map(|place| place.first_row_index.unsigned_abs())
            .collect(),
        ends: ends.collect(),
    })
}
