//! The flow of a merge, from checked footers to the proof.

use crate::choose_order::choose_order;
use crate::context::Context;
use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::intake::SortPlan;
use crate::io::{Input, OutputSink, Progress};
use crate::key_span::KeySpan;
use crate::narrowing::{Narrowing, can_cut};
use crate::open_all::{Holding, open_all};
use crate::order::RangeFilter;
use crate::outline::Outline;
use crate::outset::{Outset, merges, why_all};
use crate::paths::Stretch;
use crate::plan::Shares;
use crate::report::Report;
use crate::schema::unite;
use crate::sieve::Sieve;
use crate::sort_key::asked_sort;
use crate::spec::{Budget, MergeSpec};
use crate::stitch::pass::{PassPlan, Passing};
use crate::stretch::{Rows, Stock};
use crate::tally::Tally;
use crate::write::Outputs;
use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::thread;

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
    merge_range(inputs, spec, &KeySpan::ALL, budget, spill_dir, sink, progress)
}

/// The same for one range of a job that [`cut_job`](crate::cut_job) cut: of all inputs the rows whose keys lie in it, and those alone.
///
/// What cannot meet the range is not read. The report counts the rows inside; that each row of an input was read in one range is for the
/// caller to see, by the sums over all ranges. An order that the inputs only declare is brought about here where it does not hold: no
/// range could know whether it holds in the others.
pub fn merge_range(
    inputs: &[Arc<dyn Input>],
    spec: &MergeSpec,
    range: &KeySpan,
    budget: Budget,
    spill_dir: &FilePath,
    sink: &mut dyn OutputSink,
    progress: &dyn Progress,
) -> Result<Report, MergeError> {
    asked_sort(spec)?;
    range.check()?;
    let held_bytes_max = Shares::of(budget).held;
    let files = open_all(inputs, Holding::within(held_bytes_max, range), progress)?;
    let shares = Shares::beside(&files, budget);
    let schemas: Vec<_> = files.iter().map(OpenFile::described_schema).collect();
    let schema = unite(&schemas)?;
    drop(schemas);
    let sieve = Sieve::new(spec, &schema)?;
    let mut sort = choose_order(&files, &schema, spec)?;
    let tally = Tally::of(&files, range);
    let mut context = Context {
        schema,
        files,
        progress,
    };
    let mut filter = None;
    if !range.is_all() {
        let sort = can_cut(&context.schema, sort.as_mut())?;
        sort.declared = false;
        let narrowing = Narrowing {
            range,
            sort: sort.key.bounds(),
            held_bytes_max,
        };
        context = narrowing.of(context)?;
        filter = Some(RangeFilter::new(range.clone(), sort.key.bounds()));
    }
    let rows = Rows {
        spec,
        shares: &shares,
        sieve: &sieve,
        spill_dir,
        range: filter.as_ref(),
    };
    let report = match Mix::plan(&context, spec, &shares, sort.as_ref(), range)? {
        Ok(mix) => mix.write(&rows, tally, sink)?,
        Err(why) => merge_all(&context, &rows, sort.as_ref(), why, tally, sink)?,
    };
    report.prove()?;
    Ok(report)
}

/// Everything row by row, for this reason.
fn merge_all(
    context: &Context<'_>,
    rows: &Rows<'_>,
    sort: Option<&SortPlan>,
    why: &'static str,
    mut tally: Tally,
    sink: &mut dyn OutputSink,
) -> Result<Report, MergeError> {
    let stock = rows.take_in(context, sort)?;
    // An order that nobody asked for and that does not hold is not claimed.
    let sort = sort.filter(|sort| !sort.declared || stock.in_order);
    let outline = Outline::of(context, rows.spec, sort.map(|sort| &sort.key), rows.shares)?;
    let due = context.due().of_rows(stock.rows());
    let mut outputs = Outputs::new(sink, outline.shape(rows.spec), due);
    rows.write(context, &stock, sort, &outline, &mut outputs)?;
    tally.merged(&stock, 0.., why, outputs.end_stretch());
    // To let go of many bytes on disk takes a while, as it does to make the output durable.
    thread::scope(|scope| {
        scope.spawn(move || drop(stock));
        tally.report(outputs, sort)
    })
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
    /// The inner error says why all rows must be merged.
    fn plan(
        context: &'a Context<'a>,
        spec: &'a MergeSpec,
        shares: &'a Shares,
        sort: Option<&'a SortPlan>,
        range: &'a KeySpan,
    ) -> Result<Result<Self, &'static str>, MergeError> {
        let Outset { outline, passing } = match Outset::of(context, spec, shares, sort, range)? {
            Ok(outset) => outset,
            Err(why) => return Ok(Err(why)),
        };
        let plan = passing.plan()?;
        Ok(match why_all(&plan.paths, sort) {
            Some(why) => Err(why),
            None => Ok(Self {
                context,
                sort,
                outline,
                passing,
                plan,
            }),
        })
    }

    fn write(
        &self,
        rows: &Rows<'_>,
        mut tally: Tally,
        sink: &mut dyn OutputSink,
    ) -> Result<Report, MergeError> {
        let mut outputs = Outputs::new(sink, self.outline.shape(rows.spec), self.context.due());
        for run in self.plan.paths.0.chunk_by(|a, b| !merges(a) && !merges(b)) {
            self.context.check_cancelled()?;
            match run {
                [stretch] if merges(stretch) => {
                    let groups = by_input(stretch);
                    let inputs: Vec<usize> = groups.keys().copied().collect();
                    let stock = self.merge(&groups, rows, &mut outputs);
                    let stock = stock.map_err(|error| error.renumbered(&inputs))?;
                    outputs.expect_fewer(stretch.rows - stock.rows());
                    tally.merged(&stock, inputs, stretch.why, outputs.end_stretch());
                }
                passed => self.passing.write(&self.plan, passed, |stretch, line| {
                    let passed = outputs.pass(|file| line.write(stretch, file))?;
                    tally.passed(&self.context.files, stretch, &passed);
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
        let shown = groups
            .iter()
            .map(|(input, groups)| self.context.files[*input].with_groups(groups));
        let part = Context {
            schema: self.context.schema.clone(),
            files: shown.collect(),
            progress: self.context.progress,
        };
        let stock = rows.take_in(&part, self.sort)?;
        rows.write(&part, &stock, self.sort, &self.outline, outputs)?;
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
