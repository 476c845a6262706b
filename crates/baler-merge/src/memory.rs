//! How much memory rows hold.

use arrow::array::{Array, ArrayRef, RecordBatch};

/// Bytes of the values in a batch; buffers that several arrays share are not counted for each.
pub(crate) fn memory_of(rows: &RecordBatch) -> usize {
    let bytes = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(0);
    rows.columns().iter().map(bytes).sum()
}
