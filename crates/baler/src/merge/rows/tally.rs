//! The figures that prove a merge of rows: what was read is taken when it is read, what was written when it is handed to the
//! writer, and what a rule did when it did it. Nothing is derived from anything else.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use baler_core::file::Digest;
use baler_core::job::{Dropped, InputRead};
use baler_core::positions::Positions;

use super::Row;

/// The figures of one range.
pub(super) struct Tally {
    reads: Vec<Read>,
    drops: BTreeMap<Arc<str>, (u64, Digest)>,
}

/// What was read of one input.
#[derive(Clone, Default)]
struct Read {
    rows: u64,
    digest: Digest,
    positions: Positions,
    /// The last rows that followed one another, not counted yet.
    run: Range<u64>,
}

impl Read {
    fn count(&mut self, position: u64, row: &Row) {
        self.rows += 1;
        self.digest = self.digest.plus(row.digest());
        if self.run.end == position {
            self.run.end += 1;
        } else {
            self.end_run();
            self.run = position..position + 1;
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.positions = self.positions.plus(Positions::of(run));
    }

    fn into_figures(mut self) -> InputRead {
        self.end_run();
        InputRead {
            rows: self.rows,
            copied: 0,
            digest: self.digest,
            positions: Some(self.positions),
        }
    }
}

impl Tally {
    pub(super) fn new(inputs: usize) -> Self {
        Self {
            reads: vec![Read::default(); inputs],
            drops: BTreeMap::new(),
        }
    }

    pub(super) fn read(&mut self, input: usize, position: u64, row: &Row) {
        self.reads[input].count(position, row);
    }

    /// A rule made fewer rows of some, or others.
    pub(super) fn replaced(&mut self, rule: &str, before: &[Row], after: &[Row]) {
        let sum = |rows: &[Row]| rows.iter().map(Row::digest).sum::<Digest>();
        let gone = sum(before).0.wrapping_sub(sum(after).0);
        let rows = (before.len() - after.len()) as u64;
        if rows == 0 && gone == 0 {
            return;
        }
        let dropped = self.drops.entry(rule.into()).or_default();
        dropped.0 += rows;
        dropped.1 = dropped.1.plus(Digest(gone));
    }

    pub(super) fn into_figures(self) -> (Vec<InputRead>, Vec<Dropped>) {
        let reads = self.reads.into_iter().map(Read::into_figures);
        let drops = self.drops.into_iter();
        let drops = drops.map(|(rule, (rows, digest))| Dropped { rule, rows, digest });
        (reads.collect(), drops.collect())
    }
}
