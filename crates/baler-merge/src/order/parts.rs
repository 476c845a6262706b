//! Columns that the heads of keys do not hold whole, as bytes: looked at only where heads are equal.

use super::field::Field;
use super::layout::odd;
use super::pack::packed;
use crate::error::MergeError;
use crate::sort_key::SortKey;
use crate::spec::SortColumn;
use arrow::array::*;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::row::Rows;
use std::cmp::Ordering;

/// How a column is written.
pub(super) enum PartForm {
    /// Strings and binaries stay where they are.
    Bytes(SortColumn),
    /// Anything of up to 128 bits.
    Code(Field),
    /// Arrow's row format: any type.
    Row(Box<SortKey>),
}

/// The values of one column.
#[derive(Debug)]
pub(super) struct Part {
    values: Values,
    descending: bool,
    nulls_first: bool,
}

#[derive(Debug)]
enum Values {
    Bytes(BinaryArray),
    LargeBytes(LargeBinaryArray),
    Fixed(FixedSizeBinaryArray),
    Rows(Rows),
}

impl PartForm {
    /// The values of a column in plain layout.
    pub(super) fn part(&self, column: &ArrayRef) -> Result<Part, MergeError> {
        let values = match self {
            PartForm::Bytes(_) => Values::of(column),
            PartForm::Code(field) => {
                let codes = packed::<u128>(std::slice::from_ref(field), std::slice::from_ref(column))?;
                let bytes: Vec<u8> = codes.into_iter().flat_map(u128::to_be_bytes).collect();
                FixedSizeBinaryArray::try_new(16, bytes.into(), None).map(Values::Fixed)
            }
            PartForm::Row(key) => key.keys_of(std::slice::from_ref(column)).map(Values::Rows),
        };
        // Codes and rows have direction and nulls in them.
        let (descending, nulls_first) = match self {
            PartForm::Bytes(sort) => (sort.descending, sort.nulls_first),
            PartForm::Code(_) | PartForm::Row(_) => (false, false),
        };
        Ok(Part {
            values: values.map_err(|why| odd(&why))?,
            descending,
            nulls_first,
        })
    }
}

impl Part {
    /// Nothing is a null.
    pub(super) fn value(&self, row: usize) -> Option<&[u8]> {
        match &self.values {
            Values::Bytes(values) => values.is_valid(row).then(|| values.value(row)),
            Values::LargeBytes(values) => values.is_valid(row).then(|| values.value(row)),
            Values::Fixed(values) => values.is_valid(row).then(|| values.value(row)),
            Values::Rows(rows) => Some(rows.row(row).data()),
        }
    }

    /// How two values of the column compare.
    pub(super) fn compare(&self, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if self.descending => b.cmp(a),
            (Some(a), Some(b)) => a.cmp(b),
            // A null is less than a value if nulls come first.
            _ if self.nulls_first => a.is_some().cmp(&b.is_some()),
            _ => a.is_none().cmp(&b.is_none()),
        }
    }
}

impl Values {
    /// Strings and binaries of any kind; nothing is copied.
    fn of(column: &ArrayRef) -> Result<Self, ArrowError> {
        Ok(match column.data_type() {
            DataType::Utf8 => Values::Bytes(column.as_string::<i32>().clone().into()),
            DataType::LargeUtf8 => Values::LargeBytes(column.as_string::<i64>().clone().into()),
            DataType::Binary => Values::Bytes(column.as_binary::<i32>().clone()),
            DataType::LargeBinary => Values::LargeBytes(column.as_binary::<i64>().clone()),
            DataType::FixedSizeBinary(_) => Values::Fixed(column.as_fixed_size_binary().clone()),
            other => {
                let why = format!("a column of bytes has values of type {other}");
                return Err(ArrowError::InvalidArgumentError(why));
            }
        })
    }
}
