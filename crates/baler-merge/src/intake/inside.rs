//! Of a job that was cut only the rows of its range are taken in. Each row is judged by its own key, in the common schema: what
//! statistics say decides only what is read.

use super::Intake;
use crate::error::MergeError;
use crate::order::RangeFilter;
use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;

impl Intake<'_> {
    /// The rows of a decoded batch that lie in the range, if there is one.
    pub(super) fn inside(&self, batch: RecordBatch, input: usize) -> Result<RecordBatch, MergeError> {
        let Some(range) = self.range else {
            return Ok(batch);
        };
        let mask = self.mask(range, &batch, input)?;
        match mask.true_count() == batch.num_rows() {
            true => Ok(batch),
            false => filter_record_batch(&batch, &mask).map_err(|why| odd(input, &why)),
        }
    }

    fn mask(
        &self,
        range: &RangeFilter,
        batch: &RecordBatch,
        input: usize,
    ) -> Result<BooleanArray, MergeError> {
        let rows = batch.num_rows();
        let Some(sort) = self.sort else {
            return Err(MergeError::Proof(
                "a range was to be taken of rows without order".into(),
            ));
        };
        let keys = sort.columns_of(batch).map_err(|why| odd(input, &why))?;
        let keys = &keys[..sort.key.sort().len()];
        // Most inputs are sorted: then two searches do.
        let mask = match sort.are_in_order(keys) {
            true => range.sorted_rows(keys, rows)?,
            false => range.rows(keys, rows)?,
        };
        Ok(BooleanArray::new(mask, None))
    }
}

fn odd(input: usize, why: &arrow::error::ArrowError) -> MergeError {
    MergeError::Input {
        culprits: vec![input],
        reason: format!("its values cannot be merged: {why}"),
    }
}
