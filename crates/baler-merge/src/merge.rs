//! The flow of a merge, from checked footers to the proof.

use crate::columns::{Cutter, Encoder, InWork, Source, Watch};
use crate::context::Context;
use crate::crew::{Crew, with_crew};
use crate::decode::OpenFile;
use crate::error::MergeError;
use crate::inspect::declared_sort;
use crate::intake::{Intake, LaneKeys, Layouts, Observations, SortPlan, Taken};
use crate::io::{Input, OutputSink, Progress};
use crate::open_all::open_all;
use crate::order::{KeyLane, Merger, Verifier};
use crate::plan::{Shares, widths};
use crate::report::{Dropped, InputReport, OutputReport, Report};
use crate::row_time::Times;
use crate::schema::unite;
use crate::settings::{bloomed, properties};
use crate::shelf::{Shelf, Shelved};
use crate::sieve::Sieve;
use crate::sort_key::asked_sort;
use crate::spec::{Budget, MergeSpec, Rule, SortColumn};
use crate::write::{Due, Outputs, Shape, broken};
use parquet::arrow::ArrowWriter;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use std::collections::VecDeque;
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

/// The second half: from the shelf to the outputs.
struct Job<'a> {
    context: &'a Context<'a>,
    spec: &'a MergeSpec,
    shares: &'a Shares,
    sieve: &'a Sieve,
    order: Option<(&'a SortPlan, &'a Layouts)>,
    shelf: &'a Shelved,
}

/// Windows in work at once, so that nobody waits for the slowest column of one.
const WINDOWS_AT_ONCE: usize = 2;

impl Job<'_> {
    fn write(&self, sink: &mut dyn OutputSink) -> Result<(Vec<OutputReport>, Vec<Dropped>), MergeError> {
        let (shape, encoder) = self.shape()?;
        let watch = self.order.map(|(sort, layouts)| Watch {
            shelf: self.shelf,
            sort,
            layouts,
        });
        // Dropped rows are read, but neither hashed nor encoded.
        let looked_at = self.window_rows() * 2;
        let mut cutter = Cutter::new(self.shelf, self.sieve, self.source()?, looked_at);
        let mut outputs = Outputs::new(sink, shape, self.due());
        with_crew(self.shares.threads, |crew| {
            self.run(crew, &mut cutter, &mut outputs, &encoder, watch.as_ref())
        })?;
        cutter.finish()?;
        outputs.finish()
    }

    fn run<'j>(
        &self,
        crew: &Crew<'j>,
        cutter: &mut Cutter<'_>,
        outputs: &mut Outputs<'_>,
        encoder: &'j Encoder<'j>,
        watch: Option<&'j Watch<'j>>,
    ) -> Result<(), MergeError> {
        let at_once = self.shares.threads.min(WINDOWS_AT_ONCE);
        let mut in_work: VecDeque<InWork> = VecDeque::new();
        let mut at_end = false;
        loop {
            while !at_end && in_work.len() < at_once {
                self.context.check_cancelled()?;
                let rows = outputs.room(in_work.iter().map(|window| window.rows).sum());
                if rows == 0 && !in_work.is_empty() {
                    break;
                }
                match cutter.next(rows)? {
                    Some(cut) => in_work.push_back(InWork::begin(crew, encoder, watch, cut)?),
                    None => at_end = true,
                }
            }
            let Some(window) = in_work.pop_front() else {
                return Ok(());
            };
            let done = window.finish(crew)?;
            self.context.progress.advanced(0, done.bytes());
            outputs.append(done)?;
        }
    }

    fn source(&self) -> Result<Source<'_>, MergeError> {
        let Some((sort, layouts)) = self.order else {
            return Ok(Source::AsTheyLie);
        };
        let lanes = self.shelf.lanes().len();
        let block_rows = self.shares.block_rows(lanes, layouts.row_bytes());
        let (mut keys, mut echoes): (Vec<Box<dyn KeyLane + '_>>, Vec<Box<dyn KeyLane + '_>>) =
            Default::default();
        for lane in 0..lanes {
            let mut lane = LaneKeys::new(self.shelf, sort, layouts, lane, block_rows);
            if self.spec.rule != Rule::KeepAll {
                echoes.push(Box::new(lane.echo()));
            }
            keys.push(Box::new(lane));
        }
        let merger = Box::new(Merger::new(&layouts.order, keys)?);
        let verifier =
            (self.spec.rule != Rule::KeepAll).then(|| Box::new(Verifier::new(&layouts.order, echoes)));
        Ok(Source::Merged(merger, verifier))
    }

    /// Rows of a window, as far as memory goes.
    fn window_rows(&self) -> usize {
        let (widest, row) = widths(&self.context.files);
        self.shares.window_rows(widest, row)
    }

    /// All rows of all inputs, and the bytes of their pages.
    fn due(&self) -> Due {
        let chunks = |file: &OpenFile| {
            let groups = file.footer().row_groups().iter();
            groups
                .map(|group| group.compressed_size().unsigned_abs())
                .sum::<u64>()
        };
        Due {
            rows: self.shelf.rows(),
            bytes: self.context.files.iter().map(chunks).sum(),
        }
    }

    fn shape(&self) -> Result<(Shape, Encoder<'_>), MergeError> {
        let schema = &self.context.schema;
        let times = self
            .spec
            .row_time
            .as_ref()
            .map(|column| Times::of(schema, column));
        let times = times.transpose().map_err(MergeError::Spec)?.flatten();
        let key = self.order.map(|(sort, _)| &sort.key);
        let blooms = bloomed(&self.context.files);
        let properties = properties(schema, self.spec, key, &blooms)?;
        // Nothing is written to this one: it knows how a file of this schema is written.
        let model = ArrowWriter::try_new(Vec::new(), Arc::clone(schema), Some(properties));
        let (file, factory) = model
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(|why| broken(&why))?;
        let shape = Shape {
            schema: file.schema_descr().root_schema_ptr(),
            properties: file.properties().clone(),
            target_bytes: self.spec.target_file_bytes,
            group_rows: self.window_rows().min(self.spec.row_group_rows.max(1)),
            times,
        };
        let encoder = Encoder {
            shelf: self.shelf,
            schema: Arc::clone(schema),
            factory,
            times,
            leaves: leaves_of(file.schema_descr()),
            codec: self.spec.codec,
            blooms,
        };
        Ok((shape, encoder))
    }
}

/// The leaf columns of each top-level column.
fn leaves_of(schema: &SchemaDescriptor) -> Vec<Vec<ColumnDescPtr>> {
    let mut leaves = vec![Vec::new(); schema.root_schema().get_fields().len()];
    for (number, leaf) in schema.columns().iter().enumerate() {
        leaves[schema.get_column_root_idx(number)].push(leaf.clone());
    }
    leaves
}
