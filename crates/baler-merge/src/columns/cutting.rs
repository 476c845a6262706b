//! Cuts the merge order into windows: the rows of the next row group, and those that rules take away before it.

use super::gather::Gather;
use super::judged::{Fate, Judged, JudgedRun};
use super::onlooker::Onlooker;
use super::picks::{Picks, Span};
use crate::crew::Crew;
use crate::digest::Digest;
use crate::error::MergeError;
use crate::order::{Merger, Order, Run};
use crate::report::{DELETED, Dropped, EXPIRED, OLDER_VERSION};
use crate::shelf::Shelved;
use crate::sieve::Sieve;
use arrow::array::{ArrayRef, BooleanArray};
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows ordered at once: who looks on is so many behind, and no more.
const ORDER_ROWS: usize = 64 << 10;
/// The sieve looks at no fewer, however few a window needs: each look reads some of every lane.
const JUDGED_ROWS_MIN: usize = 8 << 10;
/// Rules that take rows.
const RULES: [(Fate, &str); 3] = [
    (Fate::Older, OLDER_VERSION),
    (Fate::Deleted, DELETED),
    (Fate::Expired, EXPIRED),
];

/// Gives window after window.
pub(crate) struct Cutter<'a> {
    shelf: &'a Shelved,
    sieve: &'a Sieve,
    source: Source<'a>,
    /// Rows taken of each lane so far.
    taken: Vec<u64>,
    /// Rows of each lane that the sieve has looked at; those beyond what was taken wait in `ahead`.
    judged: Vec<u64>,
    ahead: Judged,
    /// What was ordered before a window needs it, where no sieve looks at rows.
    orders: VecDeque<Arc<Order>>,
    /// A window ends early once it has looked at so many rows, kept or not.
    rows_looked_at: usize,
}

/// Where the order comes from.
pub(crate) enum Source<'a> {
    /// Lane after lane, as they lie.
    AsTheyLie,
    /// As the keys say. Under a keyed rule somebody looks on.
    Merged(Box<Merger<'a>>, Option<Onlooker<'a>>),
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
            judged: vec![0; shelf.lanes().len()],
            ahead: Judged::default(),
            orders: VecDeque::new(),
            rows_looked_at,
        }
    }

    /// The next window with `rows` rows to write; fewer where rules take very many, and at the end. Nothing after that.
    pub(crate) fn next(&mut self, crew: &Crew<'a>, rows: usize) -> Result<Option<Cut>, MergeError> {
        let rows = rows.max(1);
        match self.sieve.is_idle() {
            true => self.next_ordered(crew, rows),
            false => self.next_judged(crew, rows),
        }
    }

    /// Orders some rows of a window that is to have so many, if there are any and they are not ordered already; says whether it did.
    pub(crate) fn look_ahead(&mut self, crew: &Crew<'a>, rows: usize) -> Result<bool, MergeError> {
        Ok(self.sieve.is_idle() && self.order_more(crew, rows)?)
    }

    fn next_ordered(&mut self, crew: &Crew<'a>, rows: usize) -> Result<Option<Cut>, MergeError> {
        while self.order_more(crew, rows)? {}
        // What was ordered ahead may be more than there is room for by now.
        let (mut orders, mut kept) = (Vec::new(), 0);
        while let Some(order) = self
            .orders
            .pop_front_if(|order| kept == 0 || kept + order.kept() <= rows)
        {
            kept += order.kept();
            orders.push(order);
        }
        let runs = orders.iter().flat_map(|order| order.runs()).map(judged_by_key);
        Ok((!orders.is_empty()).then(|| self.cut(runs)))
    }

    fn order_more(&mut self, crew: &Crew<'a>, rows: usize) -> Result<bool, MergeError> {
        let kept: usize = self.orders.iter().map(|order| order.kept()).sum();
        let looked_at: usize = self.orders.iter().map(|order| order.rows()).sum();
        if kept >= rows || looked_at >= self.rows_looked_at {
            return Ok(false);
        }
        let some = (rows - kept).min(self.rows_looked_at - looked_at).min(ORDER_ROWS);
        let place = (self.shelf, &self.taken[..], looked_at);
        let order = self.source.next(crew, some, place)?;
        let found = order.is_some();
        self.orders.extend(order);
        Ok(found)
    }

    /// Rules that look at rows take them before windows are cut, so that these are full of what is left.
    fn next_judged(&mut self, crew: &Crew<'a>, rows: usize) -> Result<Option<Cut>, MergeError> {
        while self.ahead.kept() < rows && self.ahead.rows() < self.rows_looked_at {
            let some = (rows - self.ahead.kept()).clamp(JUDGED_ROWS_MIN, ORDER_ROWS);
            let place = (self.shelf, &self.taken[..], self.ahead.rows());
            let Some(order) = self.source.next(crew, some, place)? else {
                break;
            };
            self.judge(&order)?;
        }
        let runs = self.ahead.take(rows, self.rows_looked_at);
        Ok((!runs.is_empty()).then(|| self.cut(runs.into_iter())))
    }

    /// Ends the merge: all rows came out.
    pub(crate) fn finish(self, crew: &Crew<'a>) -> Result<(), MergeError> {
        if let Source::Merged(_, Some(onlooker)) = self.source {
            onlooker.finish(crew)?;
        }
        let lanes = self.shelf.lanes().iter();
        match lanes.zip(&self.taken).all(|(lane, taken)| lane.rows() == *taken) {
            true => Ok(()),
            false => Err(MergeError::Proof("a lane was not merged to its end".into())),
        }
    }

    /// The rows of some runs, which are the next of their lanes.
    fn cut(&mut self, runs: impl Iterator<Item = JudgedRun>) -> Cut {
        let mut spans = Spans::after(&self.taken);
        let mut gone = RULES.map(|(_, rule)| Gone::new(rule));
        let mut picks = Picks::default();
        for run in runs {
            let (span, start) = spans.take(run.lane, run.rows);
            match RULES.iter().position(|(fate, _)| *fate == run.fate) {
                None => picks.push(span, start, run.rows),
                Some(rule) => gone[rule].push(span, start, run.rows),
            }
        }
        picks.spans = spans.taken(&mut self.taken);
        let gone = gone.into_iter().filter(|gone| gone.rows > 0).collect();
        Cut { picks, gone }
    }

    /// Asks the sieve for the fate of the rows that an order keeps.
    fn judge(&mut self, order: &Order) -> Result<(), MergeError> {
        let runs = || order.runs().iter().map(judged_by_key);
        let mut spans = Spans::after(&self.judged);
        let mut picks = Picks::default();
        for run in runs() {
            let (span, start) = spans.take(run.lane, run.rows);
            if run.fate == Fate::Kept {
                picks.push(span, start, run.rows);
            }
        }
        picks.spans = spans.taken(&mut self.judged);
        let mut fates = self.sift(&picks)?.into_iter();
        for run in runs() {
            if run.fate != Fate::Kept {
                self.ahead.push(run);
                continue;
            }
            for fate in fates.by_ref().take(run.rows as usize) {
                self.ahead.push(JudgedRun { rows: 1, fate, ..run });
            }
        }
        Ok(())
    }

    /// What the sieve makes of rows, one by one.
    fn sift(&self, picks: &Picks) -> Result<Vec<Fate>, MergeError> {
        let columns = self.sieve.columns().iter();
        let gathers: Vec<Gather<'_>> = columns
            .map(|column| Gather::new(self.shelf, *column, picks))
            .collect::<Result<_, _>>()?;
        let mut fates = Vec::with_capacity(picks.rows);
        for piece in &picks.pieces {
            let columns = gathers.iter().map(|gather| gather.plain_piece(piece));
            let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
            let sifted = self.sieve.sift(&columns)?;
            let goes =
                |mask: &Option<BooleanArray>, row: usize| mask.as_ref().is_some_and(|mask| mask.value(row));
            fates.extend((0..piece.rows).map(|row| match () {
                () if goes(&sifted.deleted, row) => Fate::Deleted,
                () if goes(&sifted.expired, row) => Fate::Expired,
                () => Fate::Kept,
            }));
        }
        Ok(fates)
    }
}

/// What the merge itself says of a run.
fn judged_by_key(run: &Run) -> JudgedRun {
    JudgedRun {
        lane: run.lane() as u32,
        rows: run.rows() as u32,
        fate: if run.kept() { Fate::Kept } else { Fate::Older },
    }
}

/// What is taken of each lane, run by run.
struct Spans {
    spans: Vec<Span>,
    /// For each lane which span is its, and where that begins.
    of_lane: Vec<(Option<u32>, u64)>,
}

impl Spans {
    /// After so many rows that were taken of each lane before.
    fn after(taken: &[u64]) -> Self {
        Self {
            spans: Vec::new(),
            of_lane: taken.iter().map(|first| (None, *first)).collect(),
        }
    }

    /// Takes the next rows of a lane: says of which span they are, and where in it they begin.
    fn take(&mut self, lane: u32, rows: u32) -> (u32, u32) {
        let (span, first) = &mut self.of_lane[lane as usize];
        let number = *span.get_or_insert_with(|| {
            self.spans.push(Span {
                lane: lane as usize,
                first: *first,
                rows: 0,
            });
            self.spans.len() as u32 - 1
        });
        let span = &mut self.spans[number as usize];
        let start = span.rows as u32;
        span.rows += rows as usize;
        (number, start)
    }

    /// All spans, which are taken now.
    fn taken(self, of_lanes: &mut [u64]) -> Vec<Span> {
        for span in &self.spans {
            of_lanes[span.lane] += span.rows as u64;
        }
        self.spans
    }
}

impl<'a> Source<'a> {
    /// The next rows after what was taken of each lane and some more that were looked at.
    fn next(
        &mut self,
        crew: &Crew<'a>,
        rows: usize,
        (shelf, taken, looked_at): (&Shelved, &[u64], usize),
    ) -> Result<Option<Arc<Order>>, MergeError> {
        match self {
            Source::AsTheyLie => Ok(next_as_they_lie(rows, shelf, taken, looked_at as u64).map(Arc::new)),
            Source::Merged(merger, onlooker) => {
                let order = merger.next_window(rows)?.map(Arc::new);
                if let (Some(onlooker), Some(order)) = (onlooker, &order) {
                    onlooker.show(crew, Arc::clone(order))?;
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
    fn new(rule: &'static str) -> Self {
        Self {
            rule,
            rows: 0,
            stretches: Vec::new(),
        }
    }

    fn push(&mut self, span: u32, start: u32, rows: u32) {
        self.rows += rows as usize;
        let span = span as usize;
        if self.stretches.len() <= span {
            self.stretches.resize_with(span + 1, Vec::new);
        }
        let stretches = &mut self.stretches[span];
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
