//! Turns the sort columns of a batch into byte strings that compare as the rows do.
//!
//! The order is total: every NaN is one value, after all numbers; -0.0 comes before 0.0 and is another key.

use crate::error::MergeError;
use crate::spec::{MergeSpec, Rule, SortColumn};
use arrow::array::*;
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type, Schema};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};
use std::sync::Arc;

/// The sort key over a schema.
pub(crate) struct SortKey {
    sort: Vec<SortColumn>,
    order: Converter,
    /// Sort columns that make the rule's key, where there is a rule.
    group: Option<usize>,
}

impl SortKey {
    /// `sort` as the spec gives it, or as the inputs declare it. Fails if the columns cannot be ordered by.
    pub(crate) fn new(schema: &Schema, sort: Vec<SortColumn>, rule: &Rule) -> Result<Self, MergeError> {
        let order = Converter::new(schema, &sort)?;
        let group = match rule {
            Rule::KeepAll => None,
            Rule::LastWriteWins { key, version } => {
                Converter::new(schema, &[SortColumn::ascending(version)])?;
                Some(key.len())
            }
        };
        Ok(Self { sort, order, group })
    }

    /// The columns of the key.
    pub(crate) fn sort(&self) -> &[SortColumn] {
        &self.sort
    }

    /// The columns by which files are told apart: under a keyed rule the key alone, because rows of one key must meet
    /// wherever the rest of the sort key would put them.
    pub(crate) fn bounds(&self) -> &[SortColumn] {
        &self.sort[..self.group.unwrap_or(self.sort.len())]
    }

    /// Indices of the sort columns in the schema.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.order.columns
    }

    /// The sort keys of the sort columns alone, in key order.
    pub(crate) fn keys_of(&self, columns: &[ArrayRef]) -> Result<Rows, ArrowError> {
        self.order.convert_columns(columns)
    }
}

/// The order that a spec asks for; with a keyed rule its key must come first in it.
pub(crate) fn asked_sort(spec: &MergeSpec) -> Result<Vec<SortColumn>, MergeError> {
    let Rule::LastWriteWins { key, .. } = &spec.rule else {
        return Ok(spec.sort.clone());
    };
    if key.is_empty() {
        return Err(MergeError::Spec(
            "last write wins needs at least one key column".into(),
        ));
    }
    if spec.sort.is_empty() {
        return Ok(key.iter().map(SortColumn::ascending).collect());
    }
    let first = spec.sort.iter().take(key.len()).map(|column| &column.name);
    if spec.sort.len() < key.len() || !first.eq(key) {
        return Err(MergeError::Spec(format!(
            "the key ({}) must be the beginning of the sort key: sort by it first, or leave the sort key out",
            key.join(", ")
        )));
    }
    Ok(spec.sort.clone())
}

struct Converter {
    columns: Vec<usize>,
    rows: RowConverter,
}

impl Converter {
    fn new(schema: &Schema, sort: &[SortColumn]) -> Result<Self, MergeError> {
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        for column in sort {
            let Some((index, field)) = schema.column_with_name(&column.name) else {
                return Err(MergeError::Spec(format!(
                    "no input has a column {}: choose another key",
                    column.name
                )));
            };
            if field.data_type().is_nested() || columns.contains(&index) {
                let why = if columns.contains(&index) {
                    "is named twice"
                } else {
                    "has no order"
                };
                return Err(MergeError::Spec(format!(
                    "column {} {why}: choose another key",
                    column.name
                )));
            }
            columns.push(index);
            let options = SortOptions {
                descending: column.descending,
                nulls_first: column.nulls_first,
            };
            fields.push(SortField::new_with_options(field.data_type().clone(), options));
        }
        let rows =
            RowConverter::new(fields).map_err(|why| MergeError::Spec(format!("cannot sort: {why}")))?;
        Ok(Self { columns, rows })
    }

    fn convert_columns(&self, columns: &[ArrayRef]) -> Result<Rows, ArrowError> {
        let columns: Vec<ArrayRef> = columns.iter().map(one_nan).collect();
        self.rows.convert_columns(&columns)
    }
}

/// The same values with every NaN the same NaN.
fn one_nan(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float16 => {
            let nan = <Float16Type as arrow::datatypes::ArrowPrimitiveType>::Native::NAN;
            let array = array.as_primitive::<Float16Type>();
            Arc::new(array.unary::<_, Float16Type>(|v| if v.is_nan() { nan } else { v }))
        }
        DataType::Float32 => {
            let array = array.as_primitive::<Float32Type>();
            Arc::new(array.unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v }))
        }
        DataType::Float64 => {
            let array = array.as_primitive::<Float64Type>();
            Arc::new(array.unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v }))
        }
        _ => Arc::clone(array),
    }
}
