//! Cuts the merge order into windows: the rows of the next row group, and those that rules take away before it.

use super::gather::Gather;
use super::picks::{Picks, Span};
use crate::digest::Digest;
use crate::error::MergeError;
use crate::order::{Merger, Order, Verifier};
use crate::report::{DELETED, Dropped, EXPIRED, OLDER_VERSION};
use crate::shelf::Shelved;
use crate::sieve::Sieve;
use arrow::array::{ArrayRef, BooleanArray};

/// Rows ordered at once: who looks on keeps up.
const ORDER_ROWS: usize = 128 << 10;

/// Gives window after window.
pub(crate) struct Cutter<'a> {
    shelf: &'a Shelved,
    sieve: &'a Sieve,
    source: Source<'a>,
    /// Rows taken of each lane so far.
    taken: Vec<u64>,
    /// A window ends early once it has looked at so many rows, kept or not.
    rows_looked_at: usize,
}

/// Where the order comes from.
pub(crate) enum Source<'a> {
    /// Lane after lane, as they lie.
    AsTheyLie,
    /// As the keys say. Under a keyed rule somebody looks on.
    Merged(Box<Merger<'a>>, Option<Box<Verifier<'a>>>),
}

/// The rows of a window.
pub(crate) struct Cut {
    pub(crate) picks: Picks,
    pub(crate) gone: Vec<Gone>,
}

/// Rows that a rule took, by span: where they begin in it and how many they are.
pub(crate) struct Gone {
    rule: &'static str,
    rows: usize,
    stretches: Vec<Vec<(u32, u32)>>,
}

impl<'a> Cutter<'a> {
    /// Windows look at up to `rows_looked_at` rows each: those that rules drop take memory too.
    pub(crate) fn new(
        shelf: &'a Shelved,
        sieve: &'a Sieve,
        source: Source<'a>,
        rows_looked_at: usize,
    ) -> Self {
        Self {
            shelf,
            sieve,
            source,
            taken: vec![0; shelf.lanes().len()],
            rows_looked_at,
        }
    }

    /// The next window with about `rows` rows to write; fewer where rules take many, and at the end. Nothing after that.
    pub(crate) fn next(&mut self, rows: usize) -> Result<Option<Cut>, MergeError> {
        let rows = rows.max(1);
        let (mut orders, mut kept, mut looked_at) = (Vec::new(), 0, 0);
        while kept < rows && looked_at < self.rows_looked_at {
            let some = (rows - kept).min(self.rows_looked_at - looked_at).min(ORDER_ROWS);
            let Some(order) = self.source.next(some, self.shelf, &self.taken, looked_at)? else {
                break;
            };
            kept += order.kept();
            looked_at += order.rows();
            orders.push(order);
        }
        if orders.is_empty() {
            return Ok(None);
        }
        let mut cut = self.cut(&orders)?;
        drop(orders);
        if !self.sieve.is_idle() {
            self.sift(&mut cut)?;
        }
        Ok(Some(cut))
    }

    /// Ends the merge: all rows came out.
    pub(crate) fn finish(self) -> Result<(), MergeError> {
        if let Source::Merged(_, Some(verifier)) = self.source {
            verifier.finish()?;
        }
        let lanes = self.shelf.lanes().iter();
        match lanes.zip(&self.taken).all(|(lane, taken)| lane.rows() == *taken) {
            true => Ok(()),
            false => Err(MergeError::Proof("a lane was not merged to its end".into())),
        }
    }

    fn cut(&mut self, orders: &[Order]) -> Result<Cut, MergeError> {
        let lanes = self.taken.len();
        let mut rows = vec![0usize; lanes];
        for order in orders {
            for run in order.runs() {
                rows[run.lane()] += run.rows();
            }
        }
        let mut spans = Vec::new();
        let mut span_of = vec![0u32; lanes];
        for (lane, rows) in rows.iter().enumerate().filter(|(_, rows)| **rows > 0) {
            span_of[lane] = spans.len() as u32;
            spans.push(Span {
                lane,
                first: self.taken[lane],
                rows: *rows,
            });
            self.taken[lane] += *rows as u64;
        }
        let mut older = Gone::new(OLDER_VERSION, spans.len());
        let mut at = vec![0u32; spans.len()];
        let mut picks = Picks::over(spans);
        for run in orders.iter().flat_map(Order::runs) {
            let span = span_of[run.lane()];
            let start = &mut at[span as usize];
            match run.kept() {
                true => picks.push(span, *start, run.rows() as u32),
                false => older.push(span, *start, run.rows() as u32),
            }
            *start += run.rows() as u32;
        }
        let gone = if older.rows > 0 { vec![older] } else { Vec::new() };
        Ok(Cut { picks, gone })
    }

    /// Takes away what the sieve does not let pass.
    fn sift(&self, cut: &mut Cut) -> Result<(), MergeError> {
        let gathers: Vec<Gather<'_>> = self
            .sieve
            .columns()
            .iter()
            .map(|column| Gather::new(self.shelf, *column, &cut.picks))
            .collect::<Result<_, _>>()?;
        let spans = cut.picks.spans.len();
        let mut kept = Picks::over(cut.picks.spans.clone());
        let (mut deleted, mut expired) = (Gone::new(DELETED, spans), Gone::new(EXPIRED, spans));
        for piece in &cut.picks.pieces {
            let columns = gathers.iter().map(|gather| gather.plain_piece(piece));
            let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
            let sifted = self.sieve.sift(&columns)?;
            let goes =
                |mask: &Option<BooleanArray>, row: usize| mask.as_ref().is_some_and(|mask| mask.value(row));
            let mut row = 0;
            for run in cut.picks.runs_of(piece) {
                for step in 0..run.rows {
                    let start = run.start + step;
                    if goes(&sifted.deleted, row) {
                        deleted.push(run.span, start, 1);
                    } else if goes(&sifted.expired, row) {
                        expired.push(run.span, start, 1);
                    } else {
                        kept.push(run.span, start, 1);
                    }
                    row += 1;
                }
            }
        }
        drop(gathers);
        cut.gone
            .extend([deleted, expired].into_iter().filter(|gone| gone.rows > 0));
        cut.picks = kept;
        Ok(())
    }
}

impl Source<'_> {
    fn next(
        &mut self,
        rows: usize,
        shelf: &Shelved,
        taken: &[u64],
        looked_at: usize,
    ) -> Result<Option<Order>, MergeError> {
        match self {
            Source::AsTheyLie => Ok(next_as_they_lie(rows, shelf, taken, looked_at as u64)),
            Source::Merged(merger, verifier) => {
                let order = merger.next_window(rows)?;
                if let (Some(verifier), Some(order)) = (verifier, &order) {
                    verifier.check(order)?;
                }
                Ok(order)
            }
        }
    }
}

/// The next rows after those that the lanes gave and `skip` more.
fn next_as_they_lie(rows: usize, shelf: &Shelved, taken: &[u64], skip: u64) -> Option<Order> {
    let (mut order, mut skip, mut left) = (Order::default(), skip, rows as u64);
    for (number, (lane, taken)) in shelf.lanes().iter().zip(taken).enumerate() {
        let there = lane.rows() - taken;
        let skipped = skip.min(there);
        let some = (there - skipped).min(left);
        skip -= skipped;
        left -= some;
        if some > 0 {
            order.push(number as u32, some as usize, true);
        }
        if left == 0 {
            break;
        }
    }
    (order.rows() > 0).then_some(order)
}

impl Gone {
    fn new(rule: &'static str, spans: usize) -> Self {
        Self {
            rule,
            rows: 0,
            stretches: vec![Vec::new(); spans],
        }
    }

    fn push(&mut self, span: u32, start: u32, rows: u32) {
        self.rows += rows as usize;
        let stretches = &mut self.stretches[span as usize];
        match stretches.last_mut() {
            Some((first, count)) if *first + *count == start => *count += rows,
            _ => stretches.push((start, rows)),
        }
    }

    /// Adds up the hashes that its rows had when they came in.
    pub(crate) fn counted(&self, shelf: &Shelved, spans: &[Span]) -> Result<Dropped, MergeError> {
        let mut digest = Digest::EMPTY;
        for (span, stretches) in spans.iter().zip(&self.stretches) {
            if stretches.is_empty() {
                continue;
            }
            let hashes = shelf.read_hashes(span.lane, span.first..span.first + span.rows as u64)?;
            for (start, rows) in stretches {
                let stretch = &hashes[*start as usize..(*start + *rows) as usize];
                stretch.iter().for_each(|hash| digest.add_row(*hash));
            }
        }
        Ok(Dropped {
            rule: self.rule,
            rows: self.rows as u64,
            digest,
        })
    }
}
