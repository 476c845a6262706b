//! The flow of a merge, from checked footers to the proof.

use crate::batch::Chunk;
use crate::decode::{OpenFile, Reading};
use crate::digest::Digest;
use crate::error::{FileError, MergeError};
use crate::hand_over::{Handed, hand_over};
use crate::inspect::declared_sort;
use crate::io::{Input, OutputSink, Progress};
use crate::merger::Merger;
use crate::plan::{Shares, batch_rows, row_bytes};
use crate::report::{Dropped, InputReport, OutputReport, Report};
use crate::rounds::{Lanes, prepare};
use crate::row_hash::digest_of_batch;
use crate::rules::{LastWriteWins, Ruled};
use crate::schema::unite;
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
    let files = open_all(inputs, progress)?;
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
    let shares = Shares::of(budget);
    let done = match choose_order(&context, asked, &spec.rule)? {
        Some(Ordered { key, surveys }) => {
            let lanes = prepare(&context, &key, &surveys, &shares, spill_dir)?;
            merge_sorted(&context, spec, &key, lanes, &shares, sink)?
        }
        None => concatenate(&context, spec, &shares, sink)?,
    };
    done.report(
        context
            .tallies
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    )
}

fn open_all(inputs: &[Arc<dyn Input>], progress: &dyn Progress) -> Result<Vec<OpenFile>, MergeError> {
    if inputs.is_empty() {
        return Err(MergeError::Spec(
            "there is nothing to merge: give at least one input".into(),
        ));
    }
    let (mut files, mut culprits, mut reasons) = (Vec::with_capacity(inputs.len()), Vec::new(), Vec::new());
    for (index, input) in inputs.iter().enumerate() {
        if progress.cancelled() {
            return Err(MergeError::Cancelled);
        }
        match OpenFile::open(input) {
            Ok(file) => files.push(file),
            // All bad footers are named at once, so that the caller need not try for each.
            Err(FileError::Refused(reason)) => {
                culprits.push(index);
                reasons.push(format!("{}: {reason}", input.name()));
            }
            Err(other) => return Err(other.of_input(index)),
        }
        progress.advanced(0, 1);
    }
    if culprits.is_empty() {
        Ok(files)
    } else {
        Err(MergeError::Input {
            culprits,
            reason: reasons.join("; "),
        })
    }
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
        match &spec.rule {
            Rule::KeepAll => {
                while let Some(chunk) = merger.next(shares.chunk)? {
                    emit_chunk(context, emit, &chunk)?;
                }
                Ok(Vec::new())
            }
            Rule::LastWriteWins { .. } => keep_last(context, &mut merger, shares, emit),
        }
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

type Emit<'a> = dyn FnMut(Handed) -> Result<(), MergeError> + 'a;

fn keep_last(
    context: &Context<'_>,
    merger: &mut Merger<'_>,
    shares: &Shares,
    emit: &mut Emit<'_>,
) -> Result<Vec<Dropped>, MergeError> {
    let mut rule = LastWriteWins::default();
    let mut dropped = Dropped {
        rule: LastWriteWins::NAME,
        rows: 0,
        digest: Digest::EMPTY,
    };
    while let Some(chunk) = merger.next(shares.chunk)? {
        let Ruled { kept, dropped: gone } = rule.apply(&chunk)?;
        emit(Handed::NotDue(gone.rows as u64))?;
        count_drops(&mut dropped, &gone)?;
        emit_chunk(context, emit, &kept)?;
    }
    emit_chunk(context, emit, &rule.finish()?)?;
    Ok(vec![dropped])
}

fn emit_chunk(context: &Context<'_>, emit: &mut Emit<'_>, chunk: &Chunk) -> Result<(), MergeError> {
    context.check_cancelled()?;
    let Some(rows) = chunk.gather().map_err(|why| gathering(&why))? else {
        return Ok(());
    };
    context.progress.advanced(0, chunk.bytes as u64);
    emit(Handed::Rows(rows))
}

fn count_drops(dropped: &mut Dropped, chunk: &Chunk) -> Result<(), MergeError> {
    let Some(rows) = chunk.gather().map_err(|why| gathering(&why))? else {
        return Ok(());
    };
    dropped.rows += rows.num_rows() as u64;
    dropped.digest += digest_of_batch(&rows).map_err(|why| gathering(&why))?;
    Ok(())
}

fn gathering(why: &arrow::error::ArrowError) -> MergeError {
    MergeError::Proof(format!("rows could not be put together: {why}"))
}

/// Input after input, as they lie; no order is claimed.
fn concatenate(
    context: &Context<'_>,
    spec: &MergeSpec,
    shares: &Shares,
    sink: &mut dyn OutputSink,
) -> Result<Done, MergeError> {
    let mut writer = Writer::new(sink, &context.schema, spec, None, due(context), shares.writer)?;
    let make = |emit: &mut Emit<'_>| {
        for (input, file) in context
            .files
            .iter()
            .enumerate()
            .filter(|(_, file)| file.rows() > 0)
        {
            let columns = file.footer().file_metadata().schema_descr().num_columns();
            let reading = Reading {
                columns: None,
                batch_rows: batch_rows(shares.chunk.bytes, row_bytes(file)),
                window_bytes: shares.window_bytes(1, columns),
            };
            let mut rows = InputRows::new(context, input, reading);
            while let Some((batch, _)) = rows.next_rows()? {
                emit(Handed::Rows(batch))?;
            }
        }
        Ok(())
    };
    hand_over(shares.threads, make, |handed| writer.take(handed))?;
    let outputs = writer.finish()?;
    Ok(Done {
        outputs,
        drops: Vec::new(),
        rounds: 1,
        spilled_bytes: 0,
        sorted_by: Vec::new(),
    })
}
