//! The k-way merge of keys: finds the order of the next rows and copies nothing but keys.
//!
//! Two ways, which find the same order: by runs (a tree of losers; the first lane gives all rows up to the place of the runner-up
//! at once, found by galloping) and, where lanes take turns row by row, by chunks (the rows up to a common key, merged in a
//! branch-free cascade). Which one is chosen by the length of the runs met so far.
//!
//! Memory: a block of each lane, plus for the window eight bytes a run, so at most eight a row, plus for a chunk
//! `2 × rows × (bytes of a key + 4)` for at most `max(32 Ki, 64 × lanes)` rows.

use super::cascade::Cascade;
use super::chunk::{judge_chunk, next_chunk, push_kept};
use super::gallop::gallop;
use super::judge::{Judge, Stretch};
use super::keys::{KeyColumn, Packed, RowKeys};
use super::lanes::KeyLane;
use super::layout::{Layout, Mask};
use super::place::{Heads, Lane, before};
use super::runs::Order;
use super::tree::Tree;
use crate::error::MergeError;
use std::cmp::Ordering;

/// Merges lanes whose keys have one layout.
pub(crate) struct Merger<'a>(Form<'a>);

enum Form<'a> {
    Short(Typed<'a, Packed<u64>>),
    Long(Typed<'a, Packed<u128>>),
    Rows(Typed<'a, RowKeys>),
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
            Mask::Rows => Form::Rows(Typed::new(lanes, keyed.then_some(0))?),
        }))
    }

    /// The order of the next `rows` rows, fewer only at the end; nothing after it. Under a rule more, until the last key is
    /// whole: a key is never judged in two windows. However many rows that adds, they add few runs, because lanes come
    /// one after another within a key.
    pub(crate) fn next_window(&mut self, rows: usize) -> Result<Option<Order>, MergeError> {
        match &mut self.0 {
            Form::Short(merge) => merge.next_window(rows),
            Form::Long(merge) => merge.next_window(rows),
            Form::Rows(merge) => merge.next_window(rows),
        }
    }
}

#[cfg(test)]
impl Merger<'_> {
    /// Begins in this way, where keys allow it, so that few rows can test it.
    pub(super) fn at_pace(mut self, pace: Option<Pace>) -> Self {
        let pace = pace.unwrap_or(Pace::Runs);
        match &mut self.0 {
            Form::Short(merge) => merge.pace = pace,
            Form::Long(merge) => merge.pace = pace,
            Form::Rows(_) => (),
        }
        self
    }
}

/// Rows looked at before the way is chosen again.
const PROBE_ROWS: usize = 8 << 10;
/// Shorter runs than this on average are merged by chunks, longer ones than twice this by runs.
const RUN_ROWS_GALLOPED: usize = 4;

/// How the next rows are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Runs,
    Chunks,
}

struct Typed<'a, C: KeyColumn> {
    lanes: Vec<Lane<'a, C>>,
    heads: Heads<C::Head>,
    tree: Tree,
    /// The tree knows where the lanes are.
    tree_stands: bool,
    cascade: Cascade<C::Head>,
    /// Where each lane is while a chunk is judged.
    rows_at: Vec<usize>,
    judge: Option<Judge<C>>,
    pace: Pace,
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
        };
        for (number, source) in lanes.into_iter().enumerate() {
            merge.lanes.push(Lane::new(source));
            merge.arrive(number, 0)?;
        }
        Ok(merge)
    }

    /// Lane `number` is at row `at` of its block now.
    fn arrive(&mut self, number: usize, at: usize) -> Result<(), MergeError> {
        let lane = &mut self.lanes[number];
        lane.at = at;
        if lane.block.as_ref().is_none_or(|block| at == block.keys.len()) {
            lane.load(self.judge.is_some())?;
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
                Pace::Chunks => self.by_chunk(&mut order, left)?,
            }
            if order.rows() == rows_before {
                break;
            }
        }
        self.finish_key(&mut order)?;
        Ok((order.rows() > 0).then_some(order))
    }

    /// Takes run after run; chooses the way to go on.
    fn by_runs(&mut self, order: &mut Order, rows_max: usize) -> Result<(), MergeError> {
        self.raise_tree();
        let (mut rows, mut runs) = (0, 0);
        while rows < rows_max {
            let taken = self.take_run(order, rows_max - rows)?;
            if taken == 0 {
                return Ok(());
            }
            (rows, runs) = (rows + taken, runs + 1);
        }
        let packed = self.lanes.iter().find_map(|lane| lane.block.as_ref());
        let packed = packed.is_some_and(|block| block.keys.exact().is_some());
        if packed && rows == PROBE_ROWS && rows < runs * RUN_ROWS_GALLOPED {
            self.pace = Pace::Chunks;
        }
        Ok(())
    }

    fn raise_tree(&mut self) {
        if !self.tree_stands {
            let (lanes, heads) = (&self.lanes, &self.heads);
            self.tree.build(lanes.len(), |a, b| before(lanes, heads, a, b));
            self.tree_stands = true;
        }
    }

    /// Takes rows of the first lane that come before all others; says how many.
    fn take_run(&mut self, order: &mut Order, rows_max: usize) -> Result<usize, MergeError> {
        let first = self.tree.winner();
        let number = first as usize;
        let (lanes, heads) = (&self.lanes, &self.heads);
        let Some(Lane {
            block: Some(block),
            at,
            ..
        }) = lanes.get(number)
        else {
            return Ok(0);
        };
        let runner_up = self.tree.runner_up(|a, b| before(lanes, heads, a, b));
        let rows = (block.keys.len() - at).min(rows_max);
        let rows = match runner_up.filter(|lane| !heads.ended[*lane as usize]) {
            Some(rival) => {
                let key = heads.keys[rival as usize];
                let rival_lane = &lanes[rival as usize];
                let in_front = |step: usize| {
                    let row = at + 1 + step;
                    let order = match &rival_lane.block {
                        Some(other) => {
                            let head = block.keys.head(row);
                            block.keys.compare((row, head), &other.keys, (rival_lane.at, key))
                        }
                        None => Ordering::Less,
                    };
                    order == Ordering::Less || order == Ordering::Equal && first < rival
                };
                1 + gallop(rows - 1, in_front)
            }
            None => rows,
        };
        let end = at + rows;
        match (&mut self.judge, &block.ages) {
            (Some(judge), Some(ages)) => {
                let next = Stretch {
                    lane: first,
                    keys: &block.keys,
                    ages,
                    rows: *at..end,
                };
                judge.stretch(order, &next);
            }
            _ => order.push(first, rows, true),
        }
        self.arrive(number, end)?;
        let (lanes, heads) = (&self.lanes, &self.heads);
        self.tree.replay(|a, b| before(lanes, heads, a, b));
        Ok(rows)
    }

    /// Takes what is left of the key that was judged last.
    fn finish_key(&mut self, order: &mut Order) -> Result<(), MergeError> {
        if self.judge.is_none() {
            return Ok(());
        }
        self.raise_tree();
        loop {
            let lane = self.lanes.get(self.tree.winner() as usize);
            let (Some(judge), Some(lane)) = (&mut self.judge, lane) else {
                return Ok(());
            };
            let rest = lane.block.as_ref().map_or(0, |block| {
                let rows = block.keys.len() - lane.at;
                gallop(rows, |step| judge.goes_on(&block.keys, lane.at + step))
            });
            if rest == 0 {
                judge.close();
                return Ok(());
            }
            self.take_run(order, rest)?;
        }
    }

    /// Takes the rows of all lanes up to a common place; chooses the way to go on.
    fn by_chunk(&mut self, order: &mut Order, rows_max: usize) -> Result<(), MergeError> {
        let Some(counts) = next_chunk(&self.lanes, rows_max) else {
            return self.by_runs(order, rows_max.min(PROBE_ROWS));
        };
        self.cascade.clear();
        for (number, rows) in &counts {
            let lane = &self.lanes[*number as usize];
            let keys = lane.block.as_ref().and_then(|block| block.keys.exact());
            let keys = keys.map_or(&[][..], |keys| &keys[lane.at..lane.at + rows]);
            self.cascade.push(*number, keys);
        }
        let (keys, lanes) = self.cascade.merge();
        let rows = lanes.len();
        let runs = match &mut self.judge {
            None => push_kept(order, lanes),
            Some(judge) => {
                self.rows_at.clear();
                self.rows_at.extend(self.lanes.iter().map(|lane| lane.at));
                judge_chunk(judge, order, &self.lanes, &mut self.rows_at, (keys, lanes))
            }
        };
        for (number, rows) in counts {
            let number = number as usize;
            self.arrive(number, self.lanes[number].at + rows)?;
        }
        self.tree_stands = false;
        if rows > runs * RUN_ROWS_GALLOPED * 2 {
            self.pace = Pace::Runs;
        }
        Ok(())
    }
}
