//! Laws of the merge order, each against a naive reference.

use super::{KeyBlock, KeyLane};
use crate::error::MergeError;

mod figures;
mod keys;
mod merges;
mod ranges;
mod values;
mod verifier;

/// A lane that lies in memory.
#[derive(Debug)]
struct Blocks {
    rows: KeyBlock,
    block_rows: usize,
    at: usize,
    again: usize,
}

impl Blocks {
    fn new(rows: KeyBlock, block_rows: usize) -> Self {
        Self {
            rows,
            block_rows,
            at: 0,
            again: 0,
        }
    }
}

impl KeyLane for Blocks {
    fn next_block(&mut self) -> Result<Option<KeyBlock>, MergeError> {
        let wanted = self.block_rows + std::mem::take(&mut self.again);
        let rows = wanted.min(self.rows.keys.len() - self.at);
        let block = self.rows.slice(self.at, rows);
        self.at += rows;
        Ok((rows > 0).then_some(block))
    }

    fn step_back(&mut self, rows: usize) -> bool {
        let pays = rows * 4 <= self.block_rows;
        if pays {
            (self.at, self.again) = (self.at - rows, rows);
        }
        pays
    }
}
