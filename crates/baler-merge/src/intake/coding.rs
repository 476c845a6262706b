//! Brings decoded batches of one input into the common schema, dictionaries into the codes of the job.

use crate::adapt::adapt_column;
use crate::shelf::{Coded, Shelf};
use arrow::array::*;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use std::sync::Arc;

/// For one input at a time.
pub(super) struct Coder<'a> {
    schema: &'a SchemaRef,
    shelf: &'a Shelf,
    /// By column: the dictionary of the last batch, and its entries in codes of the job. Most batches share one.
    seen: Vec<Option<(ArrayRef, Vec<u32>)>>,
}

impl<'a> Coder<'a> {
    pub(super) fn new(schema: &'a SchemaRef, shelf: &'a Shelf) -> Self {
        Self {
            schema,
            shelf,
            seen: vec![None; schema.fields().len()],
        }
    }

    /// The columns of the common schema.
    pub(super) fn columns(&mut self, batch: &RecordBatch) -> Result<Vec<Coded>, ArrowError> {
        let schema = self.schema;
        let fields = schema.fields().iter().enumerate();
        fields
            .map(|(column, field)| {
                let Some((index, _)) = batch.schema_ref().fields().find(field.name()) else {
                    return Ok(Coded::Plain(new_null_array(field.data_type(), batch.num_rows())));
                };
                let array = batch.column(index);
                match self.codes(column, array) {
                    Some(codes) => Ok(Coded::Codes(codes)),
                    None => adapt_column(array, field.data_type()).map(Coded::Plain),
                }
            })
            .collect()
    }

    fn codes(&mut self, column: usize, array: &ArrayRef) -> Option<UInt32Array> {
        let coded = array.as_dictionary_opt::<arrow::datatypes::Int32Type>()?;
        let values = coded.values();
        let seen = &mut self.seen[column];
        if !seen.as_ref().is_some_and(|(last, _)| Arc::ptr_eq(last, values)) {
            let codes = self.shelf.dictionary(column).codes(values)?;
            *seen = Some((Arc::clone(values), codes));
        }
        let (_, codes) = seen.as_ref()?;
        // What a null points at means nothing, and may lie outside.
        let code = |key: &i32| codes.get(*key as usize).copied().unwrap_or(0);
        let codes: Vec<u32> = coded.keys().values().iter().map(code).collect();
        Some(UInt32Array::new(codes.into(), coded.nulls().cloned()))
    }
}
