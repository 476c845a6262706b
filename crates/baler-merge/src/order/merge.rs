//! The k-way merge of keys: finds the order of the next rows and copies nothing but keys.
//!
//! Two ways, which find the same order: by runs (a tree of losers; the first lane gives all rows up to the place of the runner-up
//! at once, found by galloping) and, where lanes take turns row by row, by chunks (the rows up to a common key, merged in a
//! branch-free cascade). Which one is chosen by the length of the runs met so far. A chunk ends where the first lane's block does, so
//! lanes look ahead of their blocks; where blocks are so short that chunks hardly begin, because lanes are many, the tree goes on for a while.
//!
//! Memory: a block of each lane, plus for the window eight bytes a run, so at most eight a row, plus for a chunk
//! `2 × rows × (bytes of a key + 8)` for at most `max(32 Ki, 64 × lanes)` rows.

use super::cascade::Cascade;
use super::forms::{KeyColumn, Packed};
use super::headed::HeadedKeys;
use super::judge::Judge;
use super::lanes::KeyLane;
use super::layout::{Layout, Mask};
use super::place::{Heads, Lane};
use super::runs::Order;
use super::tree::Tree;
use crate::error::MergeError;

/// Merges lanes whose keys have one layout.
pub(crate) struct Merger<'a>(Form<'a>);

enum Form<'a> {
    Short(Typed<'a, Packed<u64>>),
    Long(Typed<'a, Packed<u128>>),
    Headed(Typed<'a, HeadedKeys>),
}

impl<'a> Merger<'a> {
    /// If the layout has a rule's key, of the rows with equal key only the newest is kept.
    pub(crate) fn new(layout: &Layout, lanes: Vec<Box<dyn KeyLane + 'a>>) -> Result<Self, MergeError> {
        assert!(
            u32::try_from(lanes.len()).is_ok(),
            "lanes are numbered by 32 bits"
        );
        let keyed = layout.keyed();
        Ok(Self(match layout.mask() {
            Mask::Short(mask) => Form::Short(Typed::new(lanes, keyed.then_some(mask))?),
            Mask::Long(mask) => Form::Long(Typed::new(lanes, keyed.then_some(mask))?),
            Mask::Headed(mask) => Form::Headed(Typed::new(lanes, keyed.then_some(mask))?),
        }))
    }

    /// The order of the next `rows` rows, fewer only at the end; nothing after it. Under a rule more, until the last key is
    /// whole: a key is never judged in two windows. However many rows that adds, they add few runs, because lanes come
    /// one after another within a key.
    pub(crate) fn next_window(&mut self, rows: usize) -> Result<Option<Order>, MergeError> {
        match &mut self.0 {
            Form::Short(merge) => merge.next_window(rows),
            Form::Long(merge) => merge.next_window(rows),
            Form::Headed(merge) => merge.next_window(rows),
        }
    }
}

#[cfg(test)]
impl Merger<'_> {
    /// Begins in this way, so that few rows can test it.
    pub(super) fn at_pace(mut self, pace: Option<Pace>) -> Self {
        let pace = pace.unwrap_or(Pace::Runs);
        match &mut self.0 {
            Form::Short(merge) => merge.pace = pace,
            Form::Long(merge) => merge.pace = pace,
            Form::Headed(merge) => merge.pace = pace,
        }
        self
    }
}

/// Rows looked at before the way is chosen again.
pub(super) const PROBE_ROWS: usize = 8 << 10;
/// Shorter runs than this on average are merged by chunks, longer ones than twice this by runs.
pub(super) const RUN_ROWS_GALLOPED: usize = 4;

/// How the next rows are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Runs,
    Chunks,
}

/// The merge of keys of one form.
pub(super) struct Typed<'a, C: KeyColumn> {
    pub(super) lanes: Vec<Lane<'a, C>>,
    pub(super) heads: Heads<C::Head>,
    pub(super) tree: Tree,
    /// The tree knows where the lanes are.
    pub(super) tree_stands: bool,
    pub(super) cascade: Cascade<C::Head>,
    /// Where each lane is while a chunk is judged.
    pub(super) rows_at: Vec<usize>,
    pub(super) judge: Option<Judge<C>>,
    pub(super) pace: Pace,
    /// Rows to be merged by runs before the next chunk is tried.
    pub(super) rows_by_runs: usize,
}

impl<'a, C: KeyColumn> Typed<'a, C> {
    fn new(lanes: Vec<Box<dyn KeyLane + 'a>>, mask: Option<C::Head>) -> Result<Self, MergeError> {
        let mut merge = Self {
            heads: Heads {
                keys: vec![C::Head::default(); lanes.len()],
                ended: vec![false; lanes.len()],
            },
            lanes: Vec::with_capacity(lanes.len()),
            tree: Tree::default(),
            tree_stands: false,
            cascade: Cascade::default(),
            rows_at: Vec::new(),
            judge: mask.map(Judge::new),
            pace: Pace::Runs,
            rows_by_runs: 0,
        };
        for (number, source) in lanes.into_iter().enumerate() {
            merge.lanes.push(Lane::new(source));
            merge.arrive(number, 0)?;
        }
        Ok(merge)
    }

    /// Lane `number` is at row `at` of its block now.
    pub(super) fn arrive(&mut self, number: usize, at: usize) -> Result<(), MergeError> {
        let lane = &mut self.lanes[number];
        lane.at = at;
        if lane.block.as_ref().is_none_or(|block| at == block.keys.len()) {
            lane.go_on(self.judge.is_some())?;
        }
        match &lane.block {
            Some(block) => self.heads.keys[number] = block.keys.head(lane.at),
            None => self.heads.ended[number] = true,
        }
        Ok(())
    }

    fn next_window(&mut self, rows: usize) -> Result<Option<Order>, MergeError> {
        let mut order = Order::default();
        while order.rows() < rows {
            let (rows_before, left) = (order.rows(), rows - order.rows());
            match self.pace {
                Pace::Runs => self.by_runs(&mut order, left.min(PROBE_ROWS))?,
                Pace::Chunks if self.rows_by_runs > 0 => {
                    self.by_runs(&mut order, left.min(self.rows_by_runs))?;
                    let taken = order.rows() - rows_before;
                    self.rows_by_runs = self.rows_by_runs.saturating_sub(taken);
                }
                Pace::Chunks => self.by_chunk(&mut order, left)?,
            }
            if order.rows() == rows_before {
                break;
            }
        }
        self.finish_key(&mut order)?;
        Ok((order.rows() > 0).then_some(order))
    }
}
