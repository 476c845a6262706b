//! Rows on their way through a merge, with their keys; and stretches of them in a new order.

use arrow::array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::{concat_batches, interleave_record_batch};
use arrow::error::ArrowError;
use arrow::row::Rows;
use std::sync::Arc;

/// Where each row came from: input number and row number in one integer, so that it breaks every tie.
#[derive(Debug, Clone)]
pub(crate) enum Ordinals {
    /// Rows as they lie in a file, the first with this ordinal.
    From(u64),
    /// Rows of a run, each with its own.
    Listed(UInt64Array),
}

impl Ordinals {
    pub(crate) fn at(&self, row: usize) -> u64 {
        match self {
            Ordinals::From(first) => first + row as u64,
            Ordinals::Listed(list) => list.value(row),
        }
    }
}

/// What last-write-wins compares.
pub(crate) struct Versions {
    pub(crate) keys: Rows,
    pub(crate) versions: Rows,
}

/// Rows in the common schema, sorted by key and ordinal once they left the sorter.
pub(crate) struct Batch {
    pub(crate) rows: RecordBatch,
    pub(crate) keys: Rows,
    pub(crate) ordinals: Ordinals,
    pub(crate) versions: Option<Versions>,
    /// Memory that it holds.
    pub(crate) bytes: usize,
}

impl Batch {
    pub(crate) fn new(rows: RecordBatch, keys: Rows, ordinals: Ordinals, versions: Option<Versions>) -> Self {
        let more = versions
            .as_ref()
            .map_or(0, |versions| versions.keys.size() + versions.versions.size());
        let listed = if let Ordinals::Listed(list) = &ordinals {
            list.len() * 8
        } else {
            0
        };
        let bytes = memory_of(&rows) + keys.size() + more + listed;
        Self {
            rows,
            keys,
            ordinals,
            versions,
            bytes,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// What rows compare by.
    pub(crate) fn place(&self, row: usize) -> (&[u8], u64) {
        (self.keys.row(row).data(), self.ordinals.at(row))
    }

    fn bytes_of(&self, rows: usize) -> usize {
        self.bytes / self.len().max(1) * rows
    }
}

/// Bytes of the values in a batch; buffers that several arrays share are not counted for each.
pub(crate) fn memory_of(rows: &RecordBatch) -> usize {
    let bytes = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(0);
    rows.columns().iter().map(bytes).sum()
}

/// Consecutive rows of one batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) batch: usize,
    pub(crate) start: usize,
    pub(crate) length: usize,
}

/// Rows of several batches in the order in which they shall be written.
#[derive(Default)]
pub(crate) struct Chunk {
    pub(crate) batches: Vec<Arc<Batch>>,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

/// Below this many rows a stretch, rows are gathered one by one.
const STRETCH_ROWS_COPIED: usize = 16;

impl Chunk {
    /// An empty chunk over the same batches.
    pub(crate) fn over(batches: &[Arc<Batch>]) -> Self {
        Self {
            batches: batches.to_vec(),
            ..Self::default()
        }
    }

    /// Appends rows of batch number `batch`.
    pub(crate) fn push(&mut self, batch: usize, start: usize, length: usize) {
        self.rows += length;
        self.bytes += self.batches[batch].bytes_of(length);
        match self.stretches.last_mut() {
            Some(last) if last.batch == batch && last.start + last.length == start => last.length += length,
            _ => self.stretches.push(Stretch { batch, start, length }),
        }
    }

    /// Appends one row of a batch that may not be among the chunk's yet.
    pub(crate) fn push_foreign(&mut self, batch: &Arc<Batch>, row: usize) {
        self.batches.push(Arc::clone(batch));
        self.push(self.batches.len() - 1, row, 1);
    }

    /// The rows as one batch, or nothing if there are none.
    pub(crate) fn gather(&self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(first) = self.stretches.first() else {
            return Ok(None);
        };
        if self.stretches.len() == 1 {
            return Ok(Some(
                self.batches[first.batch].rows.slice(first.start, first.length),
            ));
        }
        if self.rows >= self.stretches.len() * STRETCH_ROWS_COPIED {
            let parts: Vec<RecordBatch> = self
                .stretches
                .iter()
                .map(|stretch| {
                    self.batches[stretch.batch]
                        .rows
                        .slice(stretch.start, stretch.length)
                })
                .collect();
            return concat_batches(parts[0].schema_ref(), &parts).map(Some);
        }
        let batches: Vec<&RecordBatch> = self.batches.iter().map(|batch| &batch.rows).collect();
        let picks: Vec<(usize, usize)> = self.picks().collect();
        interleave_record_batch(&batches, &picks).map(Some)
    }

    /// The ordinals of the rows.
    pub(crate) fn ordinals(&self) -> UInt64Array {
        self.picks()
            .map(|(batch, row)| self.batches[batch].ordinals.at(row))
            .collect::<Vec<u64>>()
            .into()
    }

    /// Every row as (batch, row).
    pub(crate) fn picks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.stretches.iter().flat_map(|stretch| {
            (stretch.start..stretch.start + stretch.length).map(|row| (stretch.batch, row))
        })
    }
}
