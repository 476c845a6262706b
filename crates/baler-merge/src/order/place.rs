//! Where each lane of a merge is, and which of two comes first.

use super::forms::KeyColumn;
use super::judge::Ages;
use super::keys::mixed;
use super::lanes::KeyLane;
use crate::error::MergeError;
use std::cmp::Ordering;

/// The key that each lane is at.
pub(super) struct Heads<H> {
    pub(super) keys: Vec<H>,
    pub(super) ended: Vec<bool>,
}

/// A lane and the rows of it that are in memory.
pub(super) struct Lane<'a, C> {
    source: Box<dyn KeyLane + 'a>,
    /// Nothing once the lane has ended.
    pub(super) block: Option<Block<C>>,
    /// The next row of the block.
    pub(super) at: usize,
    /// Rows of the lane before this block.
    rows_before: u64,
    /// Nothing comes after the block.
    pub(super) is_last: bool,
}

/// Rows of a lane, with what a rule compares.
pub(super) struct Block<C> {
    pub(super) keys: C,
    pub(super) ages: Option<Ages>,
}

impl<'a, C: KeyColumn> Lane<'a, C> {
    /// A lane before its first block.
    pub(super) fn new(source: Box<dyn KeyLane + 'a>) -> Self {
        Self {
            source,
            block: None,
            at: 0,
            rows_before: 0,
            is_last: false,
        }
    }

    /// Sees to it that there are `rows` rows from here on, if the lane has them and can give some again. Without it a chunk of many
    /// lanes would be over with the first of their blocks, so with a few rows of each.
    pub(super) fn look_ahead(&mut self, rows: usize, keyed: bool) -> Result<(), MergeError> {
        let Some(block) = &self.block else {
            return Ok(());
        };
        let left = block.keys.len() - self.at;
        if left >= rows || self.is_last || !self.source.step_back(left) {
            return Ok(());
        }
        self.load(self.at, keyed)?;
        self.is_last = self.block.as_ref().is_none_or(|block| block.keys.len() <= left);
        Ok(())
    }

    /// Goes on with the next block.
    pub(super) fn go_on(&mut self, keyed: bool) -> Result<(), MergeError> {
        let rows = self.block.as_ref().map_or(0, |block| block.keys.len());
        self.load(rows, keyed)
    }

    /// Gets the next block that has rows, of which `rows` come after the first of this one. The old one is let go first.
    fn load(&mut self, rows: usize, keyed: bool) -> Result<(), MergeError> {
        self.rows_before += rows as u64;
        (self.block, self.at) = (None, 0);
        while let Some(block) = self.source.next_block()? {
            let keys = C::of(&block.keys).ok_or_else(mixed)?;
            if keys.len() == 0 {
                continue;
            }
            let ages = keyed
                .then(|| Ages::new(block.versions, block.ordinals, keys.len(), self.rows_before))
                .transpose()?;
            self.block = Some(Block { keys, ages });
            break;
        }
        Ok(())
    }
}

/// Which of two lanes comes first; those that have ended come last.
pub(super) fn before<C: KeyColumn>(lanes: &[Lane<'_, C>], heads: &Heads<C::Head>, a: u32, b: u32) -> bool {
    let (this, that) = (a as usize, b as usize);
    if heads.ended[this] | heads.ended[that] {
        return (heads.ended[this], a) < (heads.ended[that], b);
    }
    let order = match (&lanes[this].block, &lanes[that].block) {
        (Some(block), Some(other)) => {
            let head = (lanes[this].at, heads.keys[this]);
            block
                .keys
                .compare(head, &other.keys, (lanes[that].at, heads.keys[that]))
        }
        _ => Ordering::Equal,
    };
    order == Ordering::Less || order == Ordering::Equal && a < b
}
