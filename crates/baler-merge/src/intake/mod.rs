//! Intake: each input is decoded once, batch by batch, several inputs at a time. A batch is digested before anything else is
//! done to it; then its keys are observed, its order is checked, and it is laid on the shelf.

mod coding;
mod inside;
mod keys;
mod piling;

pub(crate) use keys::{LaneKeys, Layouts, Observations, SortPlan};

use crate::at_once::at_once;
use crate::context::Context;
use crate::decode::Reading;
use crate::digest::Digest;
use crate::error::MergeError;
use crate::memory::memory_of;
use crate::order::RangeFilter;
use crate::plan::{Shares, batch_rows, row_bytes};
use crate::positions::Places;
use crate::report::InputReport;
use crate::row_hash::RowHash;
use crate::shelf::{Lane, Shelf};
use arrow::array::{Decimal128Array, RecordBatch};
use arrow::error::ArrowError;
use coding::Coder;
use piling::{Batch, Piler};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is done with rows beside laying them down.
pub(crate) struct Intake<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) shelf: &'a Shelf,
    pub(crate) shares: &'a Shares,
    /// The order to bring rows into, if any.
    pub(crate) sort: Option<&'a SortPlan>,
    /// Rows outside are left to others.
    pub(crate) range: Option<&'a RangeFilter>,
    /// How rows are hashed.
    pub(crate) hash: RowHash,
    /// Rows may be dropped later, so their hashes are kept.
    pub(crate) hashes: bool,
}

/// What came of an input.
pub(crate) struct Taken {
    pub(crate) report: InputReport,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) keys: Option<Observations>,
    /// Rows came in the order that was asked for; lanes are sorted either way, unless the order was only declared.
    pub(crate) in_order: bool,
}

impl Intake<'_> {
    /// Takes in all inputs. The first failure stops the others; that of the first input is the one reported.
    pub(crate) fn take_all(&self) -> Result<Vec<Taken>, MergeError> {
        let stop = AtomicBool::new(false);
        let taken = at_once(self.context.files.len(), self.shares.threads, |input| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let taken = self.take(input);
            if taken.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            Some(taken)
        });
        let mut all = Vec::with_capacity(taken.len());
        for taken in taken.into_iter().flatten() {
            all.push(taken?);
        }
        Ok(all)
    }

    fn take(&self, input: usize) -> Result<Taken, MergeError> {
        let file = &self.context.files[input];
        let mut piler = Piler::new(self, input)?;
        let mut places = Places::of(file);
        let mut coder = Coder::new(&self.context.schema, self.shelf);
        let mut report = InputReport {
            rows_in_footer: file.rows(),
            ..InputReport::EMPTY
        };
        let odd = |why: &dyn std::error::Error| MergeError::Input {
            culprits: vec![input],
            reason: format!("its values cannot be merged: {why}"),
        };
        if file.rows() > 0 {
            let reading = Reading {
                columns: None,
                coded: true,
                batch_rows: batch_rows(self.shares.batch, row_bytes(file)),
                window_bytes: self.shares.window_bytes(file.leaves()),
            };
            let mut batches = file.read(&reading).map_err(|why| why.of_input(input))?;
            while let Some(batch) = batches.next().map_err(|why| why.of_input(input))? {
                self.context.check_cancelled()?;
                let decoded_bytes = memory_of(&batch) as u64;
                let (batch, positions) = self.inside(batch, input, &mut places)?;
                report.positions += positions;
                let hashes = self.hash_rows(&batch, &mut report.digest);
                let hashes = hashes.map_err(|why| odd(&why))?;
                report.rows_read += batch.num_rows() as u64;
                let bytes = memory_of(&batch);
                let keys = match self.sort {
                    Some(sort) => sort.columns_of(&batch).map_err(|why| odd(&why))?,
                    None => Vec::new(),
                };
                let coded = Batch {
                    columns: coder.columns(&batch).map_err(|why| odd(&why))?,
                    keys,
                    hashes,
                    rows: batch.num_rows(),
                };
                piler.push(coded, bytes)?;
                self.context
                    .progress
                    .advanced(batch.num_rows() as u64, decoded_bytes);
            }
            file.release();
        }
        piler.finish(report)
    }

    /// Hashes each row as the decoder gave it; gives the hashes if they will be asked for.
    fn hash_rows(
        &self,
        batch: &RecordBatch,
        digest: &mut Digest,
    ) -> Result<Option<Decimal128Array>, ArrowError> {
        if !self.hashes {
            *digest += self.hash.digest_of_batch(batch)?;
            return Ok(None);
        }
        let (rows, of_batch) = self.hash.rows_of_batch(batch)?;
        *digest += of_batch;
        Ok(Some(hashes_of(rows)))
    }
}

/// As an array, so that they can be sorted with their rows; the type says nothing but 128 bits.
fn hashes_of(hashes: Vec<u128>) -> Decimal128Array {
    hashes
        .into_iter()
        .map(|hash| hash as i128)
        .collect::<Vec<_>>()
        .into()
}
