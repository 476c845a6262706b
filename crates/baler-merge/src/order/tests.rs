//! Laws of the merge order, each against a naive reference.

use super::{KeyBlock, KeyLane};
use crate::error::MergeError;
use std::collections::VecDeque;

mod figures;
mod keys;
mod merges;
mod ranges;
mod values;
mod verifier;

/// A lane that lies in memory.
#[derive(Debug)]
struct Blocks(VecDeque<KeyBlock>);

impl Blocks {
    fn new(blocks: impl IntoIterator<Item = KeyBlock>) -> Self {
        Self(blocks.into_iter().collect())
    }
}

impl KeyLane for Blocks {
    fn next_block(&mut self) -> Result<Option<KeyBlock>, MergeError> {
        Ok(self.0.pop_front())
    }
}
