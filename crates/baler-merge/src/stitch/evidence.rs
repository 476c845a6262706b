//! What a file says about the values of a chunk and its pages, as far as it can be believed under the order that the output
//! will claim. Where a doubt is left there is no evidence, and bounds are computed or left away.

use crate::pages::bounds::{Bounds, Order};
use crate::pages::header::{PageKind, PageStatistics};
use crate::pages::raw::RawPage;
use parquet::basic::ColumnOrder;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

/// What is said about one chunk.
#[derive(Default)]
pub(crate) struct Evidence {
    order: Option<Order>,
    /// Bounds are in the order that the output claims.
    pub(crate) ordered: bool,
    /// Bounds of all values.
    pub(crate) bounds: Option<Bounds>,
    pub(crate) nulls: Option<u64>,
    column_index: Option<ColumnIndexMetaData>,
    page_bytes: Option<Vec<i64>>,
}

impl Evidence {
    /// `column_order` is what the file's footer says about the column.
    pub(crate) fn of(
        chunk: &ColumnChunkMetaData,
        column_order: ColumnOrder,
        column_index: Option<ColumnIndexMetaData>,
        offset_index: Option<&OffsetIndexMetaData>,
    ) -> Self {
        let order = Order::of(chunk.column_descr());
        let ordered = order.is_some_and(|order| is_claimed(order, column_order));
        let statistics = chunk.statistics();
        let bounds = statistics.filter(|s| ordered && !s.is_min_max_deprecated());
        let bounds = bounds.and_then(|statistics| {
            Some(Bounds {
                min: statistics.min_bytes_opt()?.to_vec(),
                max: statistics.max_bytes_opt()?.to_vec(),
                nans: statistics.nan_count_opt(),
                min_exact: statistics.min_is_exact(),
                max_exact: statistics.max_is_exact(),
            })
        });
        Self {
            order,
            ordered,
            bounds: bounds.filter(|bounds| order.is_some_and(|order| is_sound(order, bounds))),
            nulls: statistics.and_then(|s| s.null_count_opt()),
            column_index,
            page_bytes: offset_index.and_then(|index| index.unencoded_byte_array_data_bytes.clone()),
        }
    }

    /// How many nulls the data page of this number has, if that is told.
    pub(crate) fn nulls_of(&self, number: usize, page: &RawPage) -> Option<usize> {
        if self.nulls == Some(0) || page.rows() == 0 {
            return Some(0);
        }
        let told = match &page.header.kind {
            PageKind::V2 { nulls, .. } => Some(u64::from(*nulls)),
            PageKind::V1 { statistics, .. } => statistics.nulls,
            PageKind::Dictionary { .. } => None,
        };
        let indexed = || u64::try_from(self.indexed(number)?.null_count(number)?).ok();
        told.or_else(indexed)
            .map(|nulls| nulls as usize)
            .filter(|nulls| *nulls <= page.rows())
    }

    /// Bounds of the data page of this number, one of `pages`.
    pub(crate) fn bounds_of(&self, number: usize, page: &RawPage, pages: usize) -> Option<Bounds> {
        let order = self.order.filter(|_| self.ordered)?;
        if pages == 1 && self.bounds.is_some() {
            return self.bounds.clone();
        }
        let statistics = match &page.header.kind {
            PageKind::V1 { statistics, .. } | PageKind::V2 { statistics, .. } => statistics,
            PageKind::Dictionary { .. } => return None,
        };
        let found = self.indexed_bounds(number).or_else(|| header_bounds(statistics));
        let whole = !order.can_be_cut();
        found
            .map(|(min, max, nans)| Bounds {
                min,
                max,
                nans,
                min_exact: whole,
                max_exact: whole,
            })
            .filter(|bounds| is_sound(order, bounds))
    }

    /// Lengths of the byte arrays of a data page, together.
    pub(crate) fn bytes_of(&self, number: usize) -> Option<u64> {
        u64::try_from(*self.page_bytes.as_ref()?.get(number)?).ok()
    }

    fn indexed(&self, number: usize) -> Option<&ColumnIndexMetaData> {
        self.column_index
            .as_ref()
            .filter(|index| (number as u64) < index.num_pages())
    }

    fn indexed_bounds(&self, number: usize) -> Option<(Vec<u8>, Vec<u8>, Option<u64>)> {
        let index = self.indexed(number)?;
        let nans = index.nan_count(number).and_then(|nans| u64::try_from(nans).ok());
        macro_rules! ends {
            ($index:expr, $bytes:expr) => {
                (
                    $bytes($index.min_value(number)?),
                    $bytes($index.max_value(number)?),
                )
            };
        }
        let (min, max) = match index {
            ColumnIndexMetaData::BOOLEAN(index) => ends!(index, |value: &bool| vec![u8::from(*value)]),
            ColumnIndexMetaData::INT32(index) => ends!(index, |value: &i32| value.to_le_bytes().to_vec()),
            ColumnIndexMetaData::INT64(index) => ends!(index, |value: &i64| value.to_le_bytes().to_vec()),
            ColumnIndexMetaData::FLOAT(index) => ends!(index, |value: &f32| value.to_le_bytes().to_vec()),
            ColumnIndexMetaData::DOUBLE(index) => ends!(index, |value: &f64| value.to_le_bytes().to_vec()),
            ColumnIndexMetaData::BYTE_ARRAY(index) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => {
                ends!(index, <[u8]>::to_vec)
            }
            _ => return None,
        };
        Some((min, max, nans))
    }
}

fn header_bounds(statistics: &PageStatistics) -> Option<(Vec<u8>, Vec<u8>, Option<u64>)> {
    Some((statistics.min.clone()?, statistics.max.clone()?, statistics.nans))
}

/// Whether bounds under the file's order are bounds under ours.
fn is_claimed(order: Order, found: ColumnOrder) -> bool {
    match found {
        ColumnOrder::IEEE_754_TOTAL_ORDER => order.is_float(),
        ColumnOrder::INT96_TIMESTAMP_ORDER => order == Order::Time96,
        ColumnOrder::TYPE_DEFINED_ORDER(_) => !order.is_float() && order != Order::Time96,
        ColumnOrder::UNDEFINED => matches!(order, Order::Signed32 | Order::Signed64),
        ColumnOrder::UNKNOWN => false,
    }
}

/// Bounds that are the wrong way round, or of floats without a count of NaN, are none.
fn is_sound(order: Order, bounds: &Bounds) -> bool {
    order.compare(&bounds.min, &bounds.max).is_le() && bounds.nans.is_some() == order.is_float()
}
