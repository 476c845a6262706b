//! What the footer and the page index say about the values of a chunk. Long strings are cut: a lower bound stands cut, an upper
//! one is counted up behind the cut.

use super::bounds::{Bounds, Order};
use super::chunk_writer::PageFacts;
use parquet::basic::{BoundaryOrder, ConvertedType, LogicalType, Type};
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::file::metadata::{ColumnIndexBuilder, LevelHistogram};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::schema::types::ColumnDescriptor;
use std::cmp::Ordering;
use std::io;

/// Bounds are cut to this.
const BOUND_BYTES_MAX: usize = 64;

/// Bounds of every page; nothing if some page with values has none.
pub(crate) fn column_index<'a>(
    leaf: &ColumnDescriptor,
    order: Order,
    pages: impl Iterator<Item = &'a PageFacts>,
) -> io::Result<Option<ColumnIndexMetaData>> {
    let mut index = ColumnIndexBuilder::new(leaf.physical_type());
    let (mut ascending, mut descending) = (true, true);
    let mut last: Option<&Bounds> = None;
    for facts in pages {
        let nulls = facts.nulls as i64;
        if facts.nulls == facts.rows {
            index.append(true, vec![], vec![], nulls, order.is_float().then_some(0));
        } else {
            let Some(bounds) = facts
                .bounds
                .as_ref()
                .filter(|b| b.nans.is_some() == order.is_float())
            else {
                return Ok(None);
            };
            if let Some(last) = last {
                let steps = [
                    order.compare(&last.min, &bounds.min),
                    order.compare(&last.max, &bounds.max),
                ];
                ascending &= !steps.contains(&Ordering::Greater);
                descending &= !steps.contains(&Ordering::Less);
            }
            last = Some(bounds);
            let (min, _) = cut_min(leaf, order, &bounds.min);
            let (max, _) = cut_max(leaf, order, &bounds.max);
            index.append(false, min, max, nulls, bounds.nans.map(|nans| nans as i64));
        }
        index.append_histograms(&None, &histogram(leaf, facts.rows, facts.nulls));
    }
    index.set_boundary_order(match (ascending, descending) {
        (true, _) => BoundaryOrder::ASCENDING,
        (false, true) => BoundaryOrder::DESCENDING,
        (false, false) => BoundaryOrder::UNORDERED,
    });
    index.build().map(Some).map_err(io::Error::other)
}

/// How often each definition level occurs, for columns that have any.
pub(crate) fn histogram(leaf: &ColumnDescriptor, rows: usize, nulls: usize) -> Option<LevelHistogram> {
    (leaf.max_def_level() == 1).then(|| vec![nulls as i64, (rows - nulls) as i64].into())
}

/// The statistics of a chunk.
pub(crate) fn chunk_statistics(leaf: &ColumnDescriptor, bounds: Option<Bounds>, nulls: u64) -> Statistics {
    let bounds = bounds.zip(Order::of(leaf)).map(|(bounds, order)| {
        let (min, min_cut) = cut_min(leaf, order, &bounds.min);
        let (max, max_cut) = cut_max(leaf, order, &bounds.max);
        Bounds {
            min,
            max,
            nans: bounds.nans,
            min_exact: bounds.min_exact && !min_cut,
            max_exact: bounds.max_exact && !max_cut,
        }
    });
    fn number<const LENGTH: usize>(bytes: &[u8]) -> [u8; LENGTH] {
        bytes.first_chunk().copied().unwrap_or([0; LENGTH])
    }
    macro_rules! typed {
        ($value:expr) => {{
            let ends = bounds.as_ref().map(|b| (b.min.as_slice(), b.max.as_slice()));
            ValueStatistics::new(
                ends.map(|(min, _)| $value(min)),
                ends.map(|(_, max)| $value(max)),
                None,
                Some(nulls),
                false,
            )
            .with_min_is_exact(bounds.as_ref().is_some_and(|b| b.min_exact))
            .with_max_is_exact(bounds.as_ref().is_some_and(|b| b.max_exact))
            .with_nan_count(bounds.as_ref().and_then(|b| b.nans))
            .with_backwards_compatible_min_max(leaf.sort_order().is_signed())
        }};
    }
    match leaf.physical_type() {
        Type::BOOLEAN => Statistics::Boolean(typed!(|bytes: &[u8]| bytes != [0])),
        Type::INT32 => Statistics::Int32(typed!(|bytes| i32::from_le_bytes(number(bytes)))),
        Type::INT64 => Statistics::Int64(typed!(|bytes| i64::from_le_bytes(number(bytes)))),
        Type::FLOAT => Statistics::Float(typed!(|bytes| f32::from_le_bytes(number(bytes)))),
        Type::DOUBLE => Statistics::Double(typed!(|bytes| f64::from_le_bytes(number(bytes)))),
        Type::INT96 => Statistics::Int96(typed!(|bytes: &[u8]| {
            let part = |place: usize| u32::from_le_bytes(number(bytes.get(place * 4..).unwrap_or_default()));
            Int96::from((0..3).map(part).collect::<Vec<u32>>())
        })),
        Type::BYTE_ARRAY => Statistics::ByteArray(typed!(ByteArray::from)),
        Type::FIXED_LEN_BYTE_ARRAY => {
            let value = |bytes: &[u8]| FixedLenByteArray::from(ByteArray::from(bytes));
            Statistics::FixedLenByteArray(typed!(value))
        }
    }
}

fn is_text(leaf: &ColumnDescriptor) -> bool {
    leaf.logical_type_ref() == Some(&LogicalType::String) || leaf.converted_type() == ConvertedType::UTF8
}

/// A lower bound of bounded length, and whether it was cut.
fn cut_min(leaf: &ColumnDescriptor, order: Order, min: &[u8]) -> (Vec<u8>, bool) {
    if !order.can_be_cut() || min.len() <= BOUND_BYTES_MAX {
        return (min.to_vec(), false);
    }
    let end = match std::str::from_utf8(min) {
        Ok(text) if is_text(leaf) => text.floor_char_boundary(BOUND_BYTES_MAX),
        _ => BOUND_BYTES_MAX,
    };
    (min[..end].to_vec(), true)
}

/// An upper bound of bounded length, and whether it was cut. Where nothing can be counted up it stays whole.
fn cut_max(leaf: &ColumnDescriptor, order: Order, max: &[u8]) -> (Vec<u8>, bool) {
    if !order.can_be_cut() || max.len() <= BOUND_BYTES_MAX {
        return (max.to_vec(), false);
    }
    let cut = match std::str::from_utf8(max) {
        Ok(text) if is_text(leaf) => next_text(&text[..text.floor_char_boundary(BOUND_BYTES_MAX)]),
        _ => next_bytes(&max[..BOUND_BYTES_MAX]),
    };
    cut.map_or_else(|| (max.to_vec(), false), |cut| (cut, true))
}

/// The least text that is greater than all that begin with this one and is no longer.
fn next_text(text: &str) -> Option<Vec<u8>> {
    text.char_indices().rev().find_map(|(at, last)| {
        let next = char::from_u32(last as u32 + 1).filter(|next| next.len_utf8() == last.len_utf8())?;
        let mut bytes = text.as_bytes()[..at].to_vec();
        bytes.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes());
        Some(bytes)
    })
}

fn next_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    let at = bytes.iter().rposition(|byte| *byte < 0xFF)?;
    let mut next = bytes[..=at].to_vec();
    next[at] += 1;
    Some(next)
}
