//! Turns rows in any order into sorted runs: gathers as many as the memory holds, sorts them, spills them.
//!
//! Inputs that are sorted but too many to be open at once go through here too: one is open at a time, and a run holds the
//! rows of many. The sort finds what is in order already, so that costs little more than a merge.

use crate::batch::{Batch, Chunk};
use crate::error::MergeError;
use crate::merger::ChunkSize;
use crate::runs::{Run, Spill};
use std::sync::Arc;

/// Rows waiting to become a run.
pub(crate) struct Sorter {
    waiting: Vec<Arc<Batch>>,
    bytes: usize,
    bytes_max: usize,
    chunk: ChunkSize,
}

/// What a row costs while it is sorted, beside itself.
const BYTES_A_ROW: usize = 16;

impl Sorter {
    /// Holds up to `bytes_max`; runs are written in chunks of the given size.
    pub(crate) fn new(bytes_max: usize, chunk: ChunkSize) -> Self {
        Self {
            waiting: Vec::new(),
            bytes: 0,
            bytes_max,
            chunk,
        }
    }

    /// Takes rows in; a full sorter spills a run.
    pub(crate) fn push(&mut self, batch: Batch, spill: &mut Spill<'_>) -> Result<Option<Run>, MergeError> {
        self.bytes += batch.bytes + batch.len() * BYTES_A_ROW;
        self.waiting.push(Arc::new(batch));
        if self.bytes >= self.bytes_max {
            self.flush(spill)
        } else {
            Ok(None)
        }
    }

    /// Spills what waits, if anything does.
    pub(crate) fn flush(&mut self, spill: &mut Spill<'_>) -> Result<Option<Run>, MergeError> {
        if self.waiting.is_empty() {
            return Ok(None);
        }
        let batches = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let order = sorted(&batches);
        let mut run = spill.begin()?;
        let mut chunk = Chunk::default();
        let mut slots: Slots = Slots::new(batches.len());
        for (batch, row) in order {
            let slot = slots.slot(&mut chunk, &batches, batch as usize);
            chunk.push(slot, row as usize, 1);
            if chunk.rows >= self.chunk.rows || chunk.bytes >= self.chunk.bytes {
                run.write(&chunk)?;
                chunk = Chunk::default();
                slots.clear();
            }
        }
        run.write(&chunk)?;
        spill.end(run).map(Some)
    }
}

/// All rows as (batch, row), in order.
fn sorted(batches: &[Arc<Batch>]) -> Vec<(u32, u32)> {
    let rows = batches.iter().map(|batch| batch.len()).sum();
    let mut order: Vec<(u32, u32)> = Vec::with_capacity(rows);
    for (number, batch) in batches.iter().enumerate() {
        order.extend((0..batch.len() as u32).map(|row| (number as u32, row)));
    }
    let place = |(batch, row): (u32, u32)| batches[batch as usize].place(row as usize);
    // Stable, because a stable sort makes use of runs that are in order.
    order.sort_by(|a, b| place(*a).cmp(&place(*b)));
    order
}

/// Which batch of the sorter is which batch of the chunk.
struct Slots(Vec<Option<usize>>);

impl Slots {
    fn new(batches: usize) -> Self {
        Self(vec![None; batches])
    }

    fn slot(&mut self, chunk: &mut Chunk, batches: &[Arc<Batch>], batch: usize) -> usize {
        *self.0[batch].get_or_insert_with(|| {
            chunk.batches.push(Arc::clone(&batches[batch]));
            chunk.batches.len() - 1
        })
    }

    fn clear(&mut self) {
        self.0.fill(None);
    }
}
