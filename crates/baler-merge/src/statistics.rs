//! Bounds of a file's sort key and row times, and columns of one value, from its footer alone. They may be loose, never wrong: where the statistics leave a doubt
//! (absent, of the order that old writers used, floats that may hide a NaN) the bound is widened or there is none.

use crate::decode::OpenFile;
use crate::key_range::{Bound, KeyRange, Value, value_at};
use crate::limits::KEY_STRING_BYTES_MAX;
use crate::row_time::{RowTimes, Span, TimeColumn, Times};
use crate::spec::SortColumn;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type;
use std::ops::Range;

/// Bounds of the keys of all rows, or nothing if the footer does not tell.
pub(crate) fn key_range(file: &OpenFile, sort: &[SortColumn]) -> Option<KeyRange> {
    if file.rows() == 0 {
        return None;
    }
    range_of(sort, |name| Ends::of(file, name))
}

/// The same of one row group.
pub(crate) fn row_group_key_range(file: &OpenFile, group: usize, sort: &[SortColumn]) -> Option<KeyRange> {
    if file.footer().row_groups().get(group)?.num_rows() == 0 {
        return None;
    }
    range_of(sort, |name| Ends::of_groups(file, name, group..group + 1))
}

pub(crate) fn range_of(sort: &[SortColumn], ends: impl Fn(&str) -> Option<Ends>) -> Option<KeyRange> {
    if sort.is_empty() {
        return None;
    }
    let (mut min, mut max) = (Bound::new(), Bound::new());
    for column in sort {
        let ends = ends(&column.name)?;
        // A null stands where nulls stand; otherwise the key begins with the least value, or the greatest if descending.
        let (first, last) = if column.descending {
            (ends.greatest(), ends.least())
        } else {
            (ends.least(), ends.greatest())
        };
        match first.filter(|_| !(ends.nulls && column.nulls_first)) {
            Some(value) => min.push(&value, column),
            None => min.push_null(column),
        }
        match last.filter(|_| !ends.nulls || column.nulls_first) {
            Some(value) => max.push(&value, column),
            None => max.push_null(column),
        }
    }
    Some(KeyRange {
        min: min.min(),
        max: max.max(),
    })
}

/// Bounds of the row times of all rows; nothing if the footer does not tell, or some row has or may have no time.
pub(crate) fn row_times(file: &OpenFile, column: &TimeColumn) -> Option<RowTimes> {
    let times = Times::of(file.schema(), column).ok().flatten()?;
    let ends = Ends::of(file, &column.name).filter(|ends| !ends.nulls)?;
    let (mins, maxes) = ends.values.as_ref()?;
    let mut span = Span::default();
    span.add(mins).ok()?;
    span.add(maxes).ok()?;
    span.times(&times)
}

/// The one value that a column has in every row, as text; nothing if it has several, nulls, or the footer does not tell.
///
/// Bounds that meet prove it, since every value lies between them. Floats never do, because bounds do not count NaN; nor do long
/// strings unless the file says that they are whole, because some writers cut both ends alike.
pub(crate) fn constant(file: &OpenFile, name: &str) -> Option<String> {
    let ends = Ends::of(file, name).filter(|ends| !ends.nulls && !ends.nan)?;
    let (mins, maxes) = ends.values.as_ref()?;
    if matches!(mins.data_type(), DataType::Binary | DataType::LargeBinary) || mins.data_type().is_nested() {
        return None;
    }
    let options = FormatOptions::default();
    let (mins, maxes) = (
        ArrayFormatter::try_new(mins, &options).ok()?,
        ArrayFormatter::try_new(maxes, &options).ok()?,
    );
    let only = mins.value(0).try_to_string().ok()?;
    let groups = ends.values.as_ref().map_or(0, |(mins, _)| mins.len());
    let same = |group| {
        let both = [&mins, &maxes].map(|ends| ends.value(group).try_to_string().ok());
        both.iter().all(|value| value.as_ref() == Some(&only))
    };
    let whole = ends.exact || only.len() < KEY_STRING_BYTES_MAX;
    ((0..groups).all(same) && whole).then_some(only)
}

/// A column's least and greatest value in each row group, or in a page.
#[derive(Clone)]
pub(crate) struct Ends {
    /// None: there are only nulls.
    pub(crate) values: Option<(ArrayRef, ArrayRef)>,
    pub(crate) nulls: bool,
    pub(crate) nan: bool,
    /// The file says that no bound was cut.
    pub(crate) exact: bool,
}

impl Ends {
    pub(crate) const NULLS: Ends = Ends {
        values: None,
        nulls: true,
        nan: false,
        exact: true,
    };

    fn of(file: &OpenFile, name: &str) -> Option<Self> {
        Ends::of_groups(file, name, 0..file.footer().num_row_groups())
    }

    fn of_groups(file: &OpenFile, name: &str, among: Range<usize>) -> Option<Self> {
        let Some((_, field)) = file.schema().column_with_name(name) else {
            return Some(Ends::NULLS);
        };
        let footer = file.footer();
        let among = &footer.row_groups()[among];
        let groups = || among.iter().filter(|group| group.num_rows() > 0);
        let parquet = footer.file_metadata().schema_descr();
        let converter = StatisticsConverter::try_new(name, file.schema(), parquet).ok()?;
        let converter = converter.with_missing_null_counts_as_zero(false);
        let leaf = converter.parquet_column_index()?;
        // Old readers and writers never agreed on the order of these.
        if parquet.column(leaf).physical_type() == Type::INT96 {
            return None;
        }
        let mut exact = true;
        for group in groups() {
            let statistics = group.column(leaf).statistics()?;
            exact &= statistics.min_is_exact() && statistics.max_is_exact();
            if statistics.is_min_max_deprecated() && !signed(field.data_type()) {
                return None;
            }
        }
        let null_counts = converter.row_group_null_counts(groups()).ok()?;
        let nulls = field.is_nullable()
            && (null_counts.null_count() > 0 || null_counts.values().iter().any(|n| *n > 0));
        let rows: u64 = groups().map(|group| group.num_rows().unsigned_abs()).sum();
        if null_counts.null_count() == 0 && null_counts.values().iter().sum::<u64>() == rows {
            return Some(Ends::NULLS);
        }
        let mins = converter.row_group_mins(groups()).ok()?;
        let maxes = converter.row_group_maxes(groups()).ok()?;
        let all_null = |group: usize| {
            null_counts.is_valid(group)
                && Some(null_counts.value(group))
                    == groups().nth(group).map(|group| group.num_rows().unsigned_abs())
        };
        let silent = |group: usize| (mins.is_null(group) || maxes.is_null(group)) && !all_null(group);
        if (0..mins.len()).any(silent) {
            return None;
        }
        Some(Ends {
            values: Some((mins, maxes)),
            nulls,
            nan: is_floating(field.data_type()),
            exact,
        })
    }

    fn least(&self) -> Option<Value<'_>> {
        let (mins, _) = self.values.as_ref()?;
        match pick(mins, |a, b| a < b)? {
            // Writers may call -0.0 by 0.0.
            Value::Float(0.0) => Some(Value::Float(-0.0)),
            value => Some(value),
        }
    }

    fn greatest(&self) -> Option<Value<'_>> {
        let (_, maxes) = self.values.as_ref()?;
        // Statistics do not count NaN, which is greater than all they count.
        if self.nan {
            Some(Value::Float(f64::NAN))
        } else {
            pick(maxes, |a, b| a > b)
        }
    }
}

/// The value that beats all others; compared as they are encoded.
fn pick(values: &ArrayRef, beats: impl Fn(&[u8], &[u8]) -> bool) -> Option<Value<'_>> {
    let ascending = SortColumn::ascending("");
    let mut best: Option<(Vec<u8>, Value<'_>)> = None;
    for row in (0..values.len()).filter(|row| values.is_valid(*row)) {
        let value = value_at(values, row)?;
        let mut bound = Bound::new();
        bound.push(&value, &ascending);
        let bytes = bound.min();
        if best.as_ref().is_none_or(|(held, _)| beats(&bytes, held)) {
            best = Some((bytes, value));
        }
    }
    best.map(|(_, value)| value)
}

/// Types whose statistics do not count NaN.
pub(crate) fn is_floating(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Float16 | DataType::Float32 | DataType::Float64
    )
}

/// Types whose order old writers got right.
pub(crate) fn signed(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(
        data_type,
        Int8 | Int16
            | Int32
            | Int64
            | Date32
            | Date64
            | Time32(_)
            | Time64(_)
            | Timestamp(_, _)
            | Duration(_)
    )
}
