//! Decides which inputs are merged as they are and which become sorted runs first, so that what is open at once fits in memory.

use crate::batch::Ordinals;
use crate::decode::Reading;
use crate::error::MergeError;
use crate::limits::RUNS_OPEN_MAX;
use crate::merger::{Lane, Merger};
use crate::plan::{Shares, batch_rows, packed_bytes, row_bytes, unpacked_bytes};
use crate::runs::{Run, RunRows, Spill};
use crate::sort_key::SortKey;
use crate::sorter::Sorter;
use crate::source::{Context, InputRows, SortedInput};
use crate::survey::Surveyed;
use std::path::Path;
use std::sync::Arc;

/// Everything that the last merge reads.
pub(crate) struct Lanes<'a> {
    pub(crate) lanes: Vec<Lane<'a>>,
    pub(crate) rounds: u32,
    pub(crate) spilled_bytes: u64,
}

/// A sorted input that could be merged as it is.
struct Direct<'s> {
    input: usize,
    found: &'s Surveyed,
}

/// Opens nothing that the budget does not allow; spills what must wait.
pub(crate) fn prepare<'a>(
    context: &'a Context<'a>,
    key: &'a SortKey,
    surveys: &[Option<Surveyed>],
    shares: &Shares,
    spill_dir: &Path,
) -> Result<Lanes<'a>, MergeError> {
    let found = surveys
        .iter()
        .enumerate()
        .filter_map(|(input, found)| Some((input, found.as_ref()?)));
    let (sorted, unsorted): (Vec<_>, Vec<_>) = found.partition(|(_, found)| found.sorted);
    let mut direct: Vec<Direct<'_>> = sorted
        .into_iter()
        .map(|(input, found)| Direct { input, found })
        .collect();
    let mut spilled: Vec<usize> = unsorted.into_iter().map(|(input, _)| input).collect();
    let runs_due = runs_due(context, &spilled, shares);
    let open = most_open(&direct, |_| 1);
    let readings: Vec<Reading> = (0..context.files.len())
        .map(|input| reading(context, shares, input, open))
        .collect();
    let room = shares.sources.saturating_sub(runs_due * shares.run_bytes());
    let mut direct_bytes = direct_cost(context, shares, &direct, open, true);
    let bare_bytes = direct_cost(context, shares, &direct, open, false);
    if direct_bytes > room && bare_bytes <= room {
        // Reading an input again costs less than spilling all of them.
        direct
            .iter()
            .for_each(|direct| context.files[direct.input].release());
        direct_bytes = bare_bytes;
    }
    if direct_bytes > room {
        spilled.extend(direct.drain(..).map(|direct| direct.input));
        spilled.sort_unstable();
        direct_bytes = 0;
    }
    let mut lanes: Vec<Lane<'a>> = Vec::new();
    for Direct { input, found } in &direct {
        let rows = InputRows::new(context, *input, readings[*input].clone());
        lanes.push(Lane::new(
            Box::new(SortedInput::new(rows, key)),
            found.first.clone(),
        ));
    }
    let mut spill = Spill::new(spill_dir, &context.schema);
    let runs = spill_inputs(context, key, &spilled, shares, &mut spill)?;
    let fan_in = (shares.sources.saturating_sub(direct_bytes) / shares.run_bytes()).clamp(2, RUNS_OPEN_MAX);
    let (runs, rounds) = merge_runs(context, key, runs, fan_in, shares, &mut spill)?;
    lanes.extend(runs.into_iter().map(|run| lane(context, key, run)));
    Ok(Lanes {
        lanes,
        rounds,
        spilled_bytes: spill.bytes,
    })
}

/// The greatest sum of weights over inputs whose keys overlap in one place: what is open at once, since a merge opens an
/// input when its first key comes up.
fn most_open(direct: &[Direct<'_>], weight: impl Fn(&Direct<'_>) -> usize) -> usize {
    let mut ends: Vec<(&[u8], bool, usize)> = Vec::with_capacity(direct.len() * 2);
    for input in direct {
        let weight = weight(input);
        ends.push((&input.found.first, false, weight));
        ends.push((&input.found.last, true, weight));
    }
    // At one key all open before any closes.
    ends.sort_unstable_by_key(|(key, closes, _)| (*key, *closes));
    let (mut open, mut most) = (0, 0);
    for (_, closes, weight) in ends {
        if closes {
            open -= weight
        } else {
            open += weight
        }
        most = most.max(open);
    }
    most
}

fn reading(context: &Context<'_>, shares: &Shares, input: usize, open: usize) -> Reading {
    let window_bytes = shares.window_bytes(open, context.files[input].leaves());
    let batch_rows = batch_rows(shares.batch_bytes(open), row_bytes(&context.files[input]));
    Reading {
        columns: None,
        batch_rows,
        window_bytes,
    }
}

/// What merging these inputs as they are holds at most: what is held of all of them, or of none, and those open at once.
fn direct_cost(
    context: &Context<'_>,
    shares: &Shares,
    direct: &[Direct<'_>],
    open: usize,
    holding: bool,
) -> usize {
    let held_bytes = |direct: &Direct<'_>| match holding {
        true => context.files[direct.input].held_bytes(),
        false => 0,
    };
    let cost = |direct: &Direct<'_>| {
        let file = &context.files[direct.input];
        let reading = reading(context, shares, direct.input, open);
        // Two batches: the one being merged and the one that the merge has not let go yet; with their keys.
        let batches = reading.batch_rows.min(file.rows() as usize) * row_bytes(file) * 5 / 2;
        let packed = match held_bytes(direct) {
            0 => packed_bytes(file, reading.window_bytes),
            _ => 0,
        };
        packed + unpacked_bytes(file) + batches
    };
    direct.iter().map(held_bytes).sum::<usize>() + most_open(direct, cost)
}

fn runs_due(context: &Context<'_>, spilled: &[usize], shares: &Shares) -> usize {
    let bytes: usize = spilled
        .iter()
        .map(|input| row_bytes(&context.files[*input]) * context.files[*input].rows() as usize)
        .sum();
    if spilled.is_empty() {
        0
    } else {
        bytes / shares.sorter * 2 + 1
    }
}

fn spill_inputs(
    context: &Context<'_>,
    key: &SortKey,
    inputs: &[usize],
    shares: &Shares,
    spill: &mut Spill<'_>,
) -> Result<Vec<Run>, MergeError> {
    let mut sorter = Sorter::new(shares.sorter, shares.run_chunk);
    let mut runs = Vec::new();
    for &input in inputs {
        let reading = Reading {
            columns: None,
            batch_rows: batch_rows(shares.chunk.bytes, row_bytes(&context.files[input])),
            // The writer, which is not at work yet, lends its share.
            window_bytes: shares.window_bytes(1, context.files[input].leaves()),
        };
        let mut rows = InputRows::new(context, input, reading);
        while let Some((rows, first)) = rows.next_rows()? {
            let batch = key
                .batch(rows, Ordinals::From(first))
                .map_err(|why| MergeError::Proof(why.to_string()))?;
            runs.extend(sorter.push(batch, spill)?);
        }
    }
    runs.extend(sorter.flush(spill)?);
    Ok(runs)
}

/// Merges runs until no more than `fan_in` are left; no more of them than that takes. Also says how many rounds there are with
/// the last one.
fn merge_runs(
    context: &Context<'_>,
    key: &SortKey,
    runs: Vec<Run>,
    fan_in: usize,
    shares: &Shares,
    spill: &mut Spill<'_>,
) -> Result<(Vec<Run>, u32), MergeError> {
    let mut runs: std::collections::VecDeque<(Run, u32)> = runs.into_iter().map(|run| (run, 1)).collect();
    while runs.len() > fan_in {
        let group = fan_in.min(runs.len() - fan_in + 1).max(2);
        let group: Vec<(Run, u32)> = runs.drain(..group).collect();
        let depth = group.iter().map(|(_, depth)| *depth).max().unwrap_or(0) + 1;
        let mut merger = Merger::new(
            group
                .into_iter()
                .map(|(run, _)| lane(context, key, run))
                .collect(),
        );
        let mut merged = spill.begin()?;
        while let Some(chunk) = merger.next(shares.run_chunk)? {
            context.check_cancelled()?;
            context.progress.advanced(0, chunk.bytes as u64);
            merged.write(&chunk)?;
        }
        runs.push_back((spill.end(merged)?, depth));
    }
    let rounds = runs.iter().map(|(_, depth)| *depth).max().unwrap_or(0) + 1;
    Ok((runs.into_iter().map(|(run, _)| run).collect(), rounds))
}

fn lane<'a>(context: &'a Context<'a>, key: &'a SortKey, run: Run) -> Lane<'a> {
    let first = run.first_key.clone();
    Lane::new(
        Box::new(RunRows::new(run, key, Arc::clone(&context.schema))),
        first,
    )
}
