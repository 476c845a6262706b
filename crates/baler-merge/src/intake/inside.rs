//! Of a job that was cut only the rows of its range are taken in. Each row is judged by its own key, in the common schema: what
//! statistics say decides only what is read.

use super::Intake;
use crate::error::MergeError;
use crate::order::RangeFilter;
use crate::positions::{Places, Positions};
use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;

impl Intake<'_> {
    /// The rows of a decoded batch that lie in the range, if there is one; and which rows of the file they are.
    pub(super) fn inside(
        &self,
        batch: RecordBatch,
        input: usize,
        places: &mut Places,
    ) -> Result<(RecordBatch, Positions), MergeError> {
        let Some(range) = self.range else {
            let positions = places.take(batch.num_rows(), None);
            return Ok((batch, positions));
        };
        let mask = self.mask(range, &batch, input)?;
        let positions = places.take(batch.num_rows(), Some(mask.values()));
        if mask.true_count() == batch.num_rows() {
            return Ok((batch, positions));
        }
        let inside = filter_record_batch(&batch, &mask).map_err(|why| odd(input, &why))?;
        Ok((inside, positions))
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
