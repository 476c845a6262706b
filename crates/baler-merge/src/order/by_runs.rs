//! Merging by runs: a tree of losers, and galloping where one lane stays first.

use super::forms::KeyColumn;
use super::gallop::gallop;
use super::judge::Stretch;
use super::merge::{PROBE_ROWS, Pace, RUN_ROWS_GALLOPED, Typed};
use super::place::{Lane, before};
use super::runs::Order;
use crate::error::MergeError;
use std::cmp::Ordering;

impl<C: KeyColumn> Typed<'_, C> {
    /// Takes run after run; chooses the way to go on.
    pub(super) fn by_runs(&mut self, order: &mut Order, rows_max: usize) -> Result<(), MergeError> {
        self.raise_tree();
        let (mut rows, mut runs) = (0, 0);
        while rows < rows_max {
            let taken = self.take_run(order, rows_max - rows)?;
            if taken == 0 {
                return Ok(());
            }
            (rows, runs) = (rows + taken, runs + 1);
        }
        if rows == PROBE_ROWS && rows < runs * RUN_ROWS_GALLOPED {
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
    pub(super) fn finish_key(&mut self, order: &mut Order) -> Result<(), MergeError> {
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
}
