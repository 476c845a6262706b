//! The last station before the encoder: what rules take away is counted and digested here, the rest is handed over.

use crate::batch::Chunk;
use crate::error::MergeError;
use crate::hand_over::Handed;
use crate::merger::{ChunkSize, Merger};
use crate::report::{DELETED, Dropped, EXPIRED, OLDER_VERSION};
use crate::row_hash::digest_of_batch;
use crate::rules::{LastWriteWins, Ruled};
use crate::sieve::{Sieve, Sifted};
use crate::source::Context;
use arrow::array::RecordBatch;
use arrow::error::ArrowError;

/// Where rows go that leave the gate.
pub(crate) type Emit<'a> = dyn FnMut(Handed) -> Result<(), MergeError> + 'a;

/// Rows pass in order; at the end it knows what did not.
pub(crate) struct Gate<'a, 'e> {
    context: &'a Context<'a>,
    sieve: &'a Sieve,
    emit: &'e mut Emit<'e>,
    drops: Vec<Dropped>,
}

impl<'a, 'e> Gate<'a, 'e> {
    pub(crate) fn new(context: &'a Context<'a>, sieve: &'a Sieve, emit: &'e mut Emit<'e>) -> Self {
        Self {
            context,
            sieve,
            emit,
            drops: Vec::new(),
        }
    }

    /// Every row of the merge.
    pub(crate) fn keep_all(&mut self, merger: &mut Merger<'_>, size: ChunkSize) -> Result<(), MergeError> {
        while let Some(chunk) = merger.next(size)? {
            self.pass_chunk(&chunk)?;
        }
        Ok(())
    }

    /// The newest row of every key.
    pub(crate) fn keep_last(&mut self, merger: &mut Merger<'_>, size: ChunkSize) -> Result<(), MergeError> {
        let mut rule = LastWriteWins::default();
        while let Some(chunk) = merger.next(size)? {
            let Ruled { kept, dropped } = rule.apply(&chunk)?;
            if let Some(rows) = dropped.gather().map_err(|why| gathering(&why))? {
                self.drop(OLDER_VERSION, &rows)?;
            }
            self.pass_chunk(&kept)?;
        }
        self.pass_chunk(&rule.finish()?)
    }

    fn pass_chunk(&mut self, chunk: &Chunk) -> Result<(), MergeError> {
        self.context.check_cancelled()?;
        let Some(rows) = chunk.gather().map_err(|why| gathering(&why))? else {
            return Ok(());
        };
        self.context.progress.advanced(0, chunk.bytes as u64);
        self.pass(rows)
    }

    /// Rows that nothing newer can follow.
    pub(crate) fn pass(&mut self, rows: RecordBatch) -> Result<(), MergeError> {
        let Sifted {
            kept,
            deleted,
            expired,
        } = self.sieve.sift(rows)?;
        for (rule, gone) in [(DELETED, deleted), (EXPIRED, expired)] {
            if let Some(rows) = gone {
                self.drop(rule, &rows)?;
            }
        }
        match kept.num_rows() {
            0 => Ok(()),
            _ => (self.emit)(Handed::Rows(kept)),
        }
    }

    fn drop(&mut self, rule: &'static str, rows: &RecordBatch) -> Result<(), MergeError> {
        let count = rows.num_rows() as u64;
        let digest = digest_of_batch(rows).map_err(|why| gathering(&why))?;
        match self.drops.iter_mut().find(|dropped| dropped.rule == rule) {
            Some(dropped) => {
                dropped.rows += count;
                dropped.digest += digest;
            }
            None => self.drops.push(Dropped {
                rule,
                rows: count,
                digest,
            }),
        }
        (self.emit)(Handed::NotDue(count))
    }

    /// What did not pass, by rule.
    pub(crate) fn finish(mut self) -> Vec<Dropped> {
        self.drops.sort_by_key(|dropped| dropped.rule);
        self.drops
    }
}

fn gathering(why: &ArrowError) -> MergeError {
    MergeError::Proof(format!("rows could not be put together: {why}"))
}
