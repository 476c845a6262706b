//! Where sorted rows come from: an input that is in order, or a run that was spilled.

use crate::adapt::adapt_batch;
use crate::batch::{Batch, Ordinals, memory_of};
use crate::decode::{Batches, OpenFile, Reading};
use crate::digest::Digest;
use crate::error::MergeError;
use crate::io::Progress;
use crate::limits::ORDINAL_ROW_BITS;
use crate::report::InputReport;
use crate::row_hash::digest_of_batch;
use crate::sort_key::SortKey;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use std::sync::{Mutex, PoisonError};

/// Sorted batches, one after another.
pub(crate) trait Source: Send {
    /// The next batch, or nothing at the end.
    fn next(&mut self) -> Result<Option<Batch>, MergeError>;
}

/// What every part of one merge needs to know.
pub(crate) struct Context<'a> {
    pub(crate) schema: SchemaRef,
    pub(crate) files: Vec<OpenFile>,
    pub(crate) progress: &'a dyn Progress,
    /// Filled by whoever decodes an input to its end.
    pub(crate) tallies: Mutex<Vec<Option<InputReport>>>,
}

impl Context<'_> {
    pub(crate) fn check_cancelled(&self) -> Result<(), MergeError> {
        if self.progress.cancelled() {
            Err(MergeError::Cancelled)
        } else {
            Ok(())
        }
    }
}

/// Decodes an input in file order: takes its digest from what the decoder gave, then brings it into the common schema.
pub(crate) struct InputRows<'a> {
    context: &'a Context<'a>,
    input: usize,
    reading: Reading,
    batches: Option<Batches>,
    rows_read: u64,
    digest: Digest,
    done: bool,
}

impl<'a> InputRows<'a> {
    /// Nothing is opened before the first batch is asked for.
    pub(crate) fn new(context: &'a Context<'a>, input: usize, reading: Reading) -> Self {
        Self {
            context,
            input,
            reading,
            batches: None,
            rows_read: 0,
            digest: Digest::EMPTY,
            done: false,
        }
    }

    /// The next rows and the ordinal of their first.
    pub(crate) fn next_rows(&mut self) -> Result<Option<(RecordBatch, u64)>, MergeError> {
        if self.done {
            return Ok(None);
        }
        self.context.check_cancelled()?;
        let batches = match &mut self.batches {
            Some(batches) => batches,
            none => {
                let file = &self.context.files[self.input];
                none.insert(file.read(&self.reading).map_err(|why| why.of_input(self.input))?)
            }
        };
        let Some(decoded) = batches.next().map_err(|why| why.of_input(self.input))? else {
            self.close();
            return Ok(None);
        };
        self.digest += digest_of_batch(&decoded).map_err(|why| self.odd(&why))?;
        let adapted = adapt_batch(&decoded, &self.context.schema).map_err(|why| self.odd(&why))?;
        let first = ((self.input as u64) << ORDINAL_ROW_BITS) + self.rows_read;
        self.rows_read += decoded.num_rows() as u64;
        self.context
            .progress
            .advanced(decoded.num_rows() as u64, memory_of(&decoded) as u64);
        Ok(Some((adapted, first)))
    }

    fn close(&mut self) {
        self.done = true;
        self.batches = None;
        self.context.files[self.input].release();
        let rows_in_footer = self.context.files[self.input].rows();
        let report = InputReport {
            rows_in_footer,
            rows_read: self.rows_read,
            digest: self.digest,
        };
        let mut tallies = self
            .context
            .tallies
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tallies[self.input] = Some(report);
    }

    fn odd(&self, why: &dyn std::error::Error) -> MergeError {
        MergeError::Input {
            culprits: vec![self.input],
            reason: format!("its values cannot be merged: {why}"),
        }
    }
}

/// An input that is in order.
pub(crate) struct SortedInput<'a> {
    rows: InputRows<'a>,
    key: &'a SortKey,
}

impl<'a> SortedInput<'a> {
    pub(crate) fn new(rows: InputRows<'a>, key: &'a SortKey) -> Self {
        Self { rows, key }
    }
}

impl Source for SortedInput<'_> {
    fn next(&mut self) -> Result<Option<Batch>, MergeError> {
        while let Some((rows, first)) = self.rows.next_rows()? {
            if rows.num_rows() > 0 {
                let batch = self
                    .key
                    .batch(rows, Ordinals::From(first))
                    .map_err(|why| self.rows.odd(&why))?;
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}
