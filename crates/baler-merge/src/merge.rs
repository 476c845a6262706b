//! The flow of a merge, from checked footers to the proof.

use crate::decode::{OpenFile, Reading};
use crate::error::MergeError;
use crate::gate::{Emit, Gate};
use crate::hand_over::hand_over;
use crate::inspect::declared_sort;
use crate::io::{Input, OutputSink, Progress};
use crate::merger::Merger;
use crate::open_all::open_all;
use crate::plan::{Shares, batch_rows, row_bytes};
use crate::report::{Dropped, InputReport, OutputReport, Report};
use crate::rounds::{Lanes, prepare};
use crate::schema::unite;
use crate::sieve::Sieve;
use crate::sort_key::{SortKey, asked_sort};
use crate::source::{Context, InputRows};
use crate::spec::{Budget, MergeSpec, Rule, SortColumn};
use crate::survey::{Surveyed, survey};
use crate::write::{Due, Writer};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Merges `inputs` into outputs of `sink` as `spec` says, within `budget`.
///
/// Runs on the calling thread and blocks. Sorted runs that do not fit in memory go to `spill_dir` and are deleted again.
/// On any error, what the sink was given is worthless. The report is proved before it is returned.
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
        tallies: Mutex::new(
            files
                .iter()
                .map(|file| (file.rows() == 0).then_some(InputReport::EMPTY))
                .collect(),
        ),
        files,
        progress,
    };
    let sieve = Sieve::new(spec, &context.schema)?;
    let done = match choose_order(&context, asked, &spec.rule)? {
        Some(Ordered { key, surveys }) => {
            let lanes = prepare(&context, &key, &surveys, &shares, spill_dir)?;
            merge_sorted(&context, spec, &key, &sieve, lanes, &shares, sink)?
        }
        None => concatenate(&context, spec, &sieve, &shares, sink)?,
    };
    done.report(
        context
            .tallies
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    )
}

/// The order of the outputs, and what was found in each input that has rows.
struct Ordered {
    key: SortKey,
    surveys: Vec<Option<Surveyed>>,
}

/// The order of the outputs, with what was found in each input: what the spec asks for, or else what all inputs declare and
/// keep. Nothing: there is no order to keep or to claim.
fn choose_order(
    context: &Context<'_>,
    asked: Vec<SortColumn>,
    rule: &Rule,
) -> Result<Option<Ordered>, MergeError> {
    let declared = asked.is_empty();
    let sort = if declared {
        commonly_declared(&context.files)
    } else {
        asked
    };
    if sort.is_empty() {
        return Ok(None);
    }
    let key = match SortKey::new(&context.schema, sort, rule) {
        Ok(key) => key,
        // A declaration that makes no sense asks for nothing.
        Err(_) if declared => return Ok(None),
        Err(why) => return Err(why),
    };
    let mut surveys = Vec::with_capacity(context.files.len());
    for (input, file) in context.files.iter().enumerate() {
        let surveyed = (file.rows() > 0)
            .then(|| survey(context, &key, input))
            .transpose()?;
        if declared && surveyed.as_ref().is_some_and(|surveyed| !surveyed.sorted) {
            return Ok(None);
        }
        surveys.push(surveyed);
    }
    Ok(Some(Ordered { key, surveys }))
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

/// What came out, before the proof.
struct Done {
    outputs: Vec<OutputReport>,
    drops: Vec<Dropped>,
    rounds: u32,
    spilled_bytes: u64,
    sorted_by: Vec<SortColumn>,
}

impl Done {
    fn report(self, tallies: Vec<Option<InputReport>>) -> Result<Report, MergeError> {
        let inputs: Option<Vec<InputReport>> = tallies.into_iter().collect();
        let inputs = inputs.ok_or_else(|| MergeError::Proof("an input was not read to its end".into()))?;
        let report = Report {
            inputs,
            outputs: self.outputs,
            drops: self.drops,
            rounds: self.rounds,
            spilled_bytes: self.spilled_bytes,
            sorted_by: self.sorted_by,
        };
        report.prove()?;
        Ok(report)
    }
}

/// All rows of all inputs, and the bytes of their pages.
fn due(context: &Context<'_>) -> Due {
    let chunks = |file: &OpenFile| {
        let groups = file.footer().row_groups().iter();
        groups
            .map(|group| group.compressed_size().unsigned_abs())
            .sum::<u64>()
    };
    Due {
        rows: context.files.iter().map(OpenFile::rows).sum(),
        bytes: context.files.iter().map(chunks).sum(),
    }
}

fn merge_sorted(
    context: &Context<'_>,
    spec: &MergeSpec,
    key: &SortKey,
    sieve: &Sieve,
    lanes: Lanes<'_>,
    shares: &Shares,
    sink: &mut dyn OutputSink,
) -> Result<Done, MergeError> {
    let mut writer = Writer::new(
        sink,
        &context.schema,
        spec,
        Some(key),
        due(context),
        shares.writer,
    )?;
    let make = |emit: &mut Emit<'_>| {
        let mut merger = Merger::new(lanes.lanes);
        let mut gate = Gate::new(context, sieve, emit);
        match &spec.rule {
            Rule::KeepAll => gate.keep_all(&mut merger, shares.chunk)?,
            Rule::LastWriteWins { .. } => gate.keep_last(&mut merger, shares.chunk)?,
        }
        Ok(gate.finish())
    };
    let drops = hand_over(shares.threads, make, |handed| writer.take(handed))?;
    let outputs = writer.finish()?;
    let sorted_by = key.sort().to_vec();
    Ok(Done {
        outputs,
        drops,
        rounds: lanes.rounds,
        spilled_bytes: lanes.spilled_bytes,
        sorted_by,
    })
}

/// Input after input, as they lie; no order is claimed.
fn concatenate(
    context: &Context<'_>,
    spec: &MergeSpec,
    sieve: &Sieve,
    shares: &Shares,
    sink: &mut dyn OutputSink,
) -> Result<Done, MergeError> {
    let mut writer = Writer::new(sink, &context.schema, spec, None, due(context), shares.writer)?;
    let make = |emit: &mut Emit<'_>| {
        let mut gate = Gate::new(context, sieve, emit);
        for (input, file) in context
            .files
            .iter()
            .enumerate()
            .filter(|(_, file)| file.rows() > 0)
        {
            let reading = Reading {
                columns: None,
                batch_rows: batch_rows(shares.chunk.bytes, row_bytes(file)),
                window_bytes: shares.window_bytes(1, file.leaves()),
            };
            let mut rows = InputRows::new(context, input, reading);
            while let Some((batch, _)) = rows.next_rows()? {
                gate.pass(batch)?;
            }
        }
        Ok(gate.finish())
    };
    let drops = hand_over(shares.threads, make, |handed| writer.take(handed))?;
    let outputs = writer.finish()?;
    Ok(Done {
        outputs,
        drops,
        rounds: 1,
        spilled_bytes: 0,
        sorted_by: Vec::new(),
    })
}
