//! The flow of a merge, from checked footers to the proof.

use crate::context::Context;
use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::inspect::declared_sort;
use crate::intake::SortPlan;
use crate::io::{Input, OutputSink, Progress};
use crate::open_all::open_all;
use crate::outline::Outline;
use crate::paths::{Path, Stretch};
use crate::plan::Shares;
use crate::report::Report;
use crate::schema::unite;
use crate::sieve::Sieve;
use crate::sort_key::asked_sort;
use crate::spec::{Budget, MergeSpec, Rule, SortColumn};
use crate::stitch::pass::{PassPlan, Passing};
use crate::stretch::{Rows, Stock};
use crate::tally::Tally;
use crate::write::Outputs;
use std::collections::BTreeMap;
use std::path::Path as FilePath;
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
    spill_dir: &FilePath,
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
    let rows = Rows {
        spec,
        shares: &shares,
        sieve: &sieve,
        spill_dir,
    };
    let report = match Mix::plan(&context, spec, &shares, sort.as_ref())? {
        Some(mix) => mix.write(&rows, sink)?,
        None => merge_all(&context, &rows, sort.as_ref(), sink)?,
    };
    report.prove()?;
    Ok(report)
}

/// Everything row by row.
fn merge_all(
    context: &Context<'_>,
    rows: &Rows<'_>,
    sort: Option<&SortPlan>,
    sink: &mut dyn OutputSink,
) -> Result<Report, MergeError> {
    let stock = rows.take_in(context, sort)?;
    // An order that nobody asked for and that does not hold is not claimed.
    let sort = sort.filter(|sort| !sort.declared || stock.in_order);
    let outline = Outline::of(context, rows.spec, sort.map(|sort| &sort.key), rows.shares)?;
    let mut outputs = Outputs::new(sink, outline.shape(rows.spec), context.due());
    let mut tally = Tally::of(context);
    rows.write(context, &stock, sort, &outline, &mut outputs)?;
    tally.merged(&stock, 0..);
    tally.report(outputs, sort)
}

/// Stretches that go past the merge, and others that do not.
struct Mix<'a> {
    context: &'a Context<'a>,
    sort: Option<&'a SortPlan>,
    outline: Outline,
    passing: Passing<'a>,
    plan: PassPlan,
}

impl<'a> Mix<'a> {
    /// Nothing if all rows must be merged.
    fn plan(
        context: &'a Context<'a>,
        spec: &'a MergeSpec,
        shares: &'a Shares,
        sort: Option<&'a SortPlan>,
    ) -> Result<Option<Self>, MergeError> {
        let key = sort.map(|sort| &sort.key);
        let outline = Outline::of(context, spec, key, shares)?;
        // Filters of copied columns would have to be made from their values.
        if !outline.blooms.is_empty() {
            return Ok(None);
        }
        let passing = Passing {
            files: &context.files,
            spec,
            group_rows: outline.group_rows(spec, context.due(), shares),
            schema: &context.schema,
            leaves: outline.leaves.clone(),
            key,
            shares,
            progress: context.progress,
        };
        let plan = passing.plan()?;
        let merges = |stretch: &Stretch| stretch.path == Path::Merge;
        let stretches = &plan.paths.0;
        // Whether an order that was only declared holds is known when all was looked at: too late for what is written by then.
        let in_doubt = sort.is_some_and(|sort| sort.declared) && stretches.iter().any(merges);
        if in_doubt || stretches.iter().all(merges) {
            return Ok(None);
        }
        Ok(Some(Self {
            context,
            sort,
            outline,
            passing,
            plan,
        }))
    }

    fn write(&self, rows: &Rows<'_>, sink: &mut dyn OutputSink) -> Result<Report, MergeError> {
        let mut outputs = Outputs::new(sink, self.outline.shape(rows.spec), self.context.due());
        let mut tally = Tally::of(self.context);
        let merges = |stretch: &Stretch| stretch.path == Path::Merge;
        for run in self.plan.paths.0.chunk_by(|a, b| !merges(a) && !merges(b)) {
            self.context.check_cancelled()?;
            match run {
                [stretch] if merges(stretch) => {
                    let groups = by_input(stretch);
                    let inputs: Vec<usize> = groups.keys().copied().collect();
                    let stock = self.merge(&groups, rows, &mut outputs);
                    tally.merged(&stock.map_err(|error| error.renumbered(&inputs))?, inputs);
                }
                passed => self.passing.write(&self.plan, passed, |stretch, line| {
                    let passed = outputs.pass(|file| line.write(stretch, file))?;
                    tally.passed(stretch, &passed);
                    Ok(())
                })?,
            }
        }
        tally.report(outputs, self.sort)
    }

    /// Merges these row groups of these inputs. Errors count the inputs given here only.
    fn merge(
        &self,
        groups: &BTreeMap<usize, Vec<usize>>,
        rows: &Rows<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<Stock, MergeError> {
        let shown = groups.iter().enumerate().map(|(number, (input, groups))| {
            let shown = self.context.files[*input].with_groups(groups);
            shown.map_err(|why| why.of_input(number))
        });
        let part = Context {
            schema: self.context.schema.clone(),
            files: shown.collect::<Result<_, _>>()?,
            progress: self.context.progress,
        };
        let stock = rows.take_in(&part, self.sort)?;
        rows.write(&part, &stock, self.sort, &self.outline, outputs)?;
        outputs.end_stretch();
        Ok(stock)
    }
}

/// The row groups of a stretch, in the order of their inputs.
fn by_input(stretch: &Stretch) -> BTreeMap<usize, Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for id in &stretch.groups {
        groups.entry(id.input).or_default().push(id.group);
    }
    groups
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
