//! The flow of a merge, from checked footers to the proof.

use crate::context::Context;
use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::inspect::declared_sort;
use crate::intake::{Intake, Layouts, Observations, SortPlan, Taken};
use crate::io::{Input, OutputSink, Progress};
use crate::job::Job;
use crate::open_all::open_all;
use crate::plan::Shares;
use crate::report::{InputReport, Report};
use crate::schema::unite;
use crate::shelf::{Shelf, Shelved};
use crate::sieve::Sieve;
use crate::sort_key::asked_sort;
use crate::spec::{Budget, MergeSpec, Rule, SortColumn};
use std::path::Path;
use std::sync::Arc;

/// Merges `inputs` into outputs of `sink` as `spec` says, within `budget`.
///
/// Runs on the calling thread, and on as many more as the budget allows, and blocks. Rows that do not fit in memory go to a
/// file in `spill_dir`, which is gone again in the end. On any error, what the sink was given is worthless. The report is
/// proved before it is returned.
pub fn merge(
    inputs: &[Arc<dyn Input>],
    spec: &MergeSpec,
    budget: Budget,
    spill_dir: &Path,
    sink: &mut dyn OutputSink,
    progress: &dyn Progress,
) -> Result<Report, MergeError> {
    let asked = asked_sort(spec)?;
    let shares = Shares::of(budget);
    let files = open_all(inputs, shares.held, progress)?;
    let schemas: Vec<_> = files.iter().map(OpenFile::described_schema).collect();
    let context = Context {
        schema: unite(&schemas)?,
        files,
        progress,
    };
    let sieve = Sieve::new(spec, &context.schema)?;
    let sort = choose_order(&context, asked, &spec.rule)?;
    let shelf = Shelf::new(&context.schema, spill_dir, shares.shelf);
    let intake = Intake {
        context: &context,
        shelf: &shelf,
        shares: &shares,
        sort: sort.as_ref(),
        hashes: spec.rule != Rule::KeepAll || !sieve.is_idle(),
    };
    let taken = intake.take_all()?;
    let in_order = taken.iter().all(|taken| taken.in_order);
    // An order that nobody asked for and that does not hold is not claimed.
    let sort = sort.as_ref().filter(|sort| !sort.declared || in_order);
    let stock = stock(taken, shelf, &context, sort)?;
    let job = Job {
        context: &context,
        spec,
        shares: &shares,
        sieve: &sieve,
        order: sort.zip(stock.layouts.as_ref()),
        shelf: &stock.shelf,
    };
    let (outputs, drops) = job.write(sink)?;
    let report = Report {
        inputs: stock.inputs,
        outputs,
        drops,
        rounds: 1,
        spilled_bytes: stock.shelf.spilled_bytes(),
        sorted_by: sort.map(|sort| sort.key.sort().to_vec()).unwrap_or_default(),
    };
    report.prove()?;
    Ok(report)
}

/// The order of the outputs: what the spec asks for, or else what all inputs declare. Nothing: there is no order to keep or
/// to claim.
fn choose_order(
    context: &Context<'_>,
    asked: Vec<SortColumn>,
    rule: &Rule,
) -> Result<Option<SortPlan>, MergeError> {
    let declared = asked.is_empty();
    let sort = if declared {
        commonly_declared(&context.files)
    } else {
        asked
    };
    if sort.is_empty() {
        return Ok(None);
    }
    match SortPlan::new(&context.schema, sort, declared, rule) {
        Ok(plan) => Ok(Some(plan)),
        // A declaration that makes no sense asks for nothing.
        Err(_) if declared => Ok(None),
        Err(why) => Err(why),
    }
}

fn commonly_declared(files: &[OpenFile]) -> Vec<SortColumn> {
    let mut declared = files.iter().filter(|file| file.rows() > 0).map(declared_sort);
    let Some(mut common) = declared.next() else {
        return Vec::new();
    };
    for other in declared {
        let same = common.iter().zip(&other).take_while(|(a, b)| a == b).count();
        common.truncate(same);
    }
    common
}

/// Everything that was taken in.
struct Stock {
    inputs: Vec<InputReport>,
    shelf: Shelved,
    /// How keys are written, if rows are to be in order.
    layouts: Option<Layouts>,
}

fn stock(
    taken: Vec<Taken>,
    shelf: Shelf,
    context: &Context<'_>,
    sort: Option<&SortPlan>,
) -> Result<Stock, MergeError> {
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
        layouts: keys
            .filter(|_| sort.is_some())
            .map(|keys| keys.decide())
            .transpose()?,
    })
}
