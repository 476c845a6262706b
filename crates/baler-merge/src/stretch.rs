//! A stretch that is merged row by row: taken in, then written window by window, its columns on all threads.

use crate::columns::{Cutter, Encoder, InWork, Onlooker, Source, Watch};
use crate::context::Context;
use crate::crew::{Crew, with_crew};
use crate::error::MergeError;
use crate::intake::{Intake, LaneKeys, Layouts, Observations, SortPlan, Taken};
use crate::order::{KeyLane, Merger, RangeFilter, Verifier};
use crate::outline::Outline;
use crate::plan::Shares;
use crate::report::InputReport;
use crate::shelf::{Shelf, Shelved};
use crate::sieve::Sieve;
use crate::spec::{MergeSpec, Rule};
use crate::write::Outputs;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// What all stretches have in common.
pub(crate) struct Rows<'a> {
    pub(crate) spec: &'a MergeSpec,
    pub(crate) shares: &'a Shares,
    pub(crate) sieve: &'a Sieve,
    pub(crate) spill_dir: &'a Path,
    /// Of all rows only those inside, if the job was cut.
    pub(crate) range: Option<&'a RangeFilter>,
}

/// Everything that was taken in.
pub(crate) struct Stock {
    pub(crate) inputs: Vec<InputReport>,
    pub(crate) shelf: Shelved,
    /// All inputs came in the order that was asked for or declared.
    pub(crate) in_order: bool,
    /// How keys are written, if rows may be in order.
    layouts: Option<Layouts>,
}

/// Windows in work at once, so that nobody waits for the slowest column of one.
pub(crate) const WINDOWS_AT_ONCE: usize = 3;

impl Stock {
    /// Rows that were taken in.
    pub(crate) fn rows(&self) -> u64 {
        self.inputs.iter().map(|input| input.rows_read).sum()
    }
}

impl Rows<'_> {
    /// Decodes all inputs and lays their rows on a shelf.
    pub(crate) fn take_in(
        &self,
        context: &Context<'_>,
        sort: Option<&SortPlan>,
    ) -> Result<Stock, MergeError> {
        let Shares { shelf, threads, .. } = *self.shares;
        let shelf = Shelf::new(&context.schema, self.spill_dir, shelf, threads);
        let intake = Intake {
            context,
            shelf: &shelf,
            shares: self.shares,
            sort,
            range: self.range,
            hash: self.spec.hash,
            hashes: self.spec.rule != Rule::KeepAll || !self.sieve.is_idle(),
        };
        let taken = intake.take_all()?;
        stock(taken, shelf, context)
    }

    /// Writes what was taken in.
    pub(crate) fn write(
        &self,
        context: &Context<'_>,
        stock: &Stock,
        sort: Option<&SortPlan>,
        outline: &Outline,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), MergeError> {
        let order = sort.zip(stock.layouts.as_ref());
        let encoder = Encoder {
            shelf: &stock.shelf,
            schema: context.schema.clone(),
            outline,
            codec: self.spec.codec,
            hash: self.spec.hash,
            spare: Arc::default(),
        };
        let watch = order.map(|(sort, layouts)| Watch { sort, layouts });
        // Dropped rows are read, but neither hashed nor encoded.
        let looked_at = outline.window_rows * 2;
        let source = self.source(&stock.shelf, order)?;
        with_crew(self.shares.threads, |crew| {
            let mut cutter = Cutter::new(&stock.shelf, self.sieve, source, looked_at);
            self.run(context, crew, &mut cutter, outputs, &encoder, watch.as_ref())?;
            cutter.finish(crew)
        })
    }

    fn run<'j>(
        &self,
        context: &Context<'_>,
        crew: &Crew<'j>,
        cutter: &mut Cutter<'j>,
        outputs: &mut Outputs<'_>,
        encoder: &'j Encoder<'j>,
        watch: Option<&'j Watch<'j>>,
    ) -> Result<(), MergeError> {
        let at_once = self.shares.threads.min(WINDOWS_AT_ONCE);
        let mut in_work: VecDeque<InWork> = VecDeque::new();
        let mut at_end = false;
        loop {
            while !at_end && in_work.len() < at_once {
                context.check_cancelled()?;
                let rows = outputs.room(in_work.iter().map(|window| window.rows).sum());
                if rows == 0 && !in_work.is_empty() {
                    break;
                }
                match cutter.next(crew, rows)? {
                    Some(cut) => in_work.push_back(InWork::begin(crew, encoder, watch, cut)?),
                    None => at_end = true,
                }
            }
            let Some(window) = in_work.pop_front() else {
                return Ok(());
            };
            // The order of the next window is found before this one is done, so that nobody waits for it.
            let on_their_way = window.rows + in_work.iter().map(|window| window.rows).sum::<usize>();
            let done = window.finish(crew, || match at_end || at_once == 1 {
                true => Ok(false),
                false => cutter.look_ahead(crew, outputs.room(on_their_way)),
            })?;
            context.progress.advanced(0, done.bytes());
            outputs.append(done)?;
        }
    }

    fn source<'s>(
        &self,
        shelf: &'s Shelved,
        order: Option<(&'s SortPlan, &'s Layouts)>,
    ) -> Result<Source<'s>, MergeError> {
        let Some((sort, layouts)) = order else {
            return Ok(Source::AsTheyLie);
        };
        let is_keyed = self.spec.rule != Rule::KeepAll;
        let lanes = shelf.lanes().len();
        let block_rows = self.shares.block_rows(lanes, layouts.row_bytes());
        let mut keys: Vec<Box<dyn KeyLane + 's>> = Vec::with_capacity(lanes);
        let mut echoes: Vec<Box<dyn KeyLane + 's>> = Vec::new();
        for lane in 0..lanes {
            let mut lane = LaneKeys::new(shelf, sort, layouts, lane, block_rows);
            if is_keyed {
                echoes.push(Box::new(lane.echo()));
            }
            keys.push(Box::new(lane));
        }
        let merger = Box::new(Merger::new(&layouts.order, keys)?);
        let onlooker = is_keyed.then(|| Onlooker::new(Verifier::new(&layouts.order, echoes)));
        Ok(Source::Merged(merger, onlooker))
    }
}

fn stock(taken: Vec<Taken>, shelf: Shelf, context: &Context<'_>) -> Result<Stock, MergeError> {
    let in_order = taken.iter().all(|taken| taken.in_order);
    let (mut inputs, mut lanes) = (Vec::with_capacity(taken.len()), Vec::new());
    let mut keys: Option<Observations> = None;
    for taken in taken {
        inputs.push(taken.report);
        lanes.extend(taken.lanes);
        match (&mut keys, taken.keys) {
            (Some(keys), Some(more)) => keys.join(more),
            (none, more) => *none = more,
        }
    }
    Ok(Stock {
        inputs,
        shelf: shelf.filled(&context.schema, lanes)?,
        in_order,
        layouts: keys.map(|keys| keys.decide()).transpose()?,
    })
}
