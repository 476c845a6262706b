//! Looks at the sort columns of an input, and at nothing else, before the merge: is it in order, and where does it begin and end?
//!
//! Neither statistics nor declared sorting columns are asked. What is found decides whether an input is merged as it is or
//! sorted first, so no merge has to be begun again.

use crate::adapt::adapt_batch;
use crate::decode::Reading;
use crate::error::MergeError;
use crate::sort_key::SortKey;
use crate::source::Context;
use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::Schema;
use std::sync::Arc;

/// What the keys of an input were found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Surveyed {
    /// Whether the rows are in order; if not, the rest of the input was not looked at.
    pub(crate) sorted: bool,
    /// The first key and the last.
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
}

const BATCH_ROWS: usize = 8 << 10;
const WINDOW_BYTES: usize = 256 << 10;

/// Reads the sort columns of one input that has rows.
pub(crate) fn survey(context: &Context<'_>, key: &SortKey, input: usize) -> Result<Surveyed, MergeError> {
    let file = &context.files[input];
    let fields: Vec<_> = key
        .columns()
        .iter()
        .map(|column| Arc::clone(&context.schema.fields()[*column]))
        .collect();
    let present: Vec<usize> = fields
        .iter()
        .filter_map(|field| file.schema().index_of(field.name()).ok())
        .collect();
    let key_schema = Arc::new(Schema::new(fields));
    let odd = |why: &dyn std::error::Error| MergeError::Input {
        culprits: vec![input],
        reason: format!("its keys cannot be compared: {why}"),
    };
    if present.is_empty() {
        let nulls: Vec<ArrayRef> = key_schema
            .fields()
            .iter()
            .map(|field| new_null_array(field.data_type(), 1))
            .collect();
        let only = key
            .keys_of(&nulls)
            .map_err(|why| odd(&why))?
            .row(0)
            .data()
            .to_vec();
        return Ok(Surveyed {
            sorted: true,
            first: only.clone(),
            last: only,
        });
    }
    let reading = Reading {
        columns: Some(present),
        batch_rows: BATCH_ROWS,
        window_bytes: WINDOW_BYTES,
    };
    let mut batches = file.read(&reading).map_err(|why| why.of_input(input))?;
    let mut found = Surveyed {
        sorted: true,
        first: Vec::new(),
        last: Vec::new(),
    };
    while let Some(batch) = batches.next().map_err(|why| why.of_input(input))? {
        context.check_cancelled()?;
        let batch = adapt_batch(&batch, &key_schema).map_err(|why| odd(&why))?;
        let keys = key.keys_of(batch.columns()).map_err(|why| odd(&why))?;
        context.progress.advanced(0, keys.size() as u64);
        let mut last: &[u8] = &found.last;
        for row in &keys {
            if row.data() < last {
                found.sorted = false;
                return Ok(found);
            }
            last = row.data();
        }
        let last = last.to_vec();
        if found.first.is_empty() && keys.num_rows() > 0 {
            found.first = keys.row(0).data().to_vec();
        }
        found.last = last;
    }
    Ok(found)
}
