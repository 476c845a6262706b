//! Brings rows and columns of one file into the common schema: values promoted; inside structures by name, missing ones as nulls.

use arrow::array::*;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Fields, SchemaRef};
use arrow::error::ArrowError;
use std::sync::Arc;

/// `batch` with the columns and types of `schema`. Fails where a value does not fit (a time stamp too far for its finer unit).
pub(crate) fn adapt_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let rows = batch.num_rows();
    let columns = fields_by_name(
        batch.schema_ref().fields(),
        batch.columns(),
        schema.fields(),
        rows,
    )?;
    RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &RecordBatchOptions::new().with_row_count(Some(rows)),
    )
}

fn fields_by_name(
    from: &Fields,
    columns: &[ArrayRef],
    to: &Fields,
    rows: usize,
) -> Result<Vec<ArrayRef>, ArrowError> {
    to.iter()
        .map(|field| match from.find(field.name()) {
            Some((index, _)) => adapt_column(&columns[index], field.data_type()),
            None => Ok(new_null_array(field.data_type(), rows)),
        })
        .collect()
}

/// A column of one file in the type of the common schema.
pub(crate) fn adapt_column(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    Ok(match (array.data_type(), to) {
        (DataType::Struct(from), DataType::Struct(fields)) => {
            let array = array.as_struct();
            let columns = fields_by_name(from, array.columns(), fields, array.len())?;
            let nulls = array.nulls().cloned();
            Arc::new(StructArray::try_new_with_length(
                fields.clone(),
                columns,
                nulls,
                array.len(),
            )?)
        }
        (DataType::List(_), DataType::List(item)) => {
            let array = array.as_list::<i32>();
            let values = adapt_column(array.values(), item.data_type())?;
            Arc::new(ListArray::try_new(
                item.clone(),
                array.offsets().clone(),
                values,
                array.nulls().cloned(),
            )?)
        }
        (DataType::LargeList(_), DataType::LargeList(item)) => {
            let array = array.as_list::<i64>();
            let values = adapt_column(array.values(), item.data_type())?;
            Arc::new(LargeListArray::try_new(
                item.clone(),
                array.offsets().clone(),
                values,
                array.nulls().cloned(),
            )?)
        }
        (DataType::FixedSizeList(_, from), DataType::FixedSizeList(item, to)) if from == to => {
            let array = array.as_fixed_size_list();
            let values = adapt_column(array.values(), item.data_type())?;
            Arc::new(FixedSizeListArray::try_new_with_length(
                item.clone(),
                *to,
                values,
                array.nulls().cloned(),
                array.len(),
            )?)
        }
        // The layout first, then what is inside.
        (DataType::List(from) | DataType::FixedSizeList(from, _), DataType::LargeList(_)) => {
            adapt_column(&strict_cast(array, &DataType::LargeList(from.clone()))?, to)?
        }
        (DataType::FixedSizeList(from, _), DataType::List(_)) => {
            adapt_column(&strict_cast(array, &DataType::List(from.clone()))?, to)?
        }
        (DataType::Map(_, _), DataType::Map(entries, sorted)) => adapt_map(array.as_map(), entries, *sorted)?,
        _ => strict_cast(array, to)?,
    })
}

fn adapt_map(
    array: &MapArray,
    entries: &arrow::datatypes::FieldRef,
    sorted: bool,
) -> Result<ArrayRef, ArrowError> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(ArrowError::CastError("a map without entries".into()));
    };
    let [key, value] = fields.as_ref() else {
        return Err(ArrowError::CastError(
            "a map's entries must have a key and a value".into(),
        ));
    };
    let columns = vec![
        adapt_column(array.keys(), key.data_type())?,
        adapt_column(array.values(), value.data_type())?,
    ];
    let inside = StructArray::try_new(fields.clone(), columns, array.entries().nulls().cloned())?;
    let offsets = array.offsets().clone();
    Ok(Arc::new(MapArray::try_new(
        entries.clone(),
        offsets,
        inside,
        array.nulls().cloned(),
        sorted,
    )?))
}

/// A cast that fails rather than turn a value into null.
pub(crate) fn strict_cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(
        array,
        to,
        &CastOptions {
            safe: false,
            ..CastOptions::default()
        },
    )
}
