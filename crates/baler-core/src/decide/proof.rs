//! Guarantee 1, checked before each commit: what was read is what was written, plus what a rule let go. The figures
//! come from outside, so sums of rows are wider than any row count.

use std::collections::BTreeSet;

use crate::file::{Digest, File};
use crate::ids::JournalId;
use crate::job::{Finished, Job};
use crate::names::Attempt;
use crate::positions::Positions;
use crate::stretch::Proof;
use crate::table::Catalog;

/// The figures of one finished range.
pub(super) fn check_range(
    job: &Job,
    catalog: &Catalog,
    attempt: &Attempt,
    journal: JournalId,
    finished: &Finished,
) -> Result<(), String> {
    if finished.reads.len() != job.inputs.len() {
        return Err(format!(
            "{} inputs, but figures for {}",
            job.inputs.len(),
            finished.reads.len()
        ));
    }
    let mut parts = BTreeSet::new();
    for output in &finished.outputs {
        if !parts.insert(output.part) {
            return Err(format!("{} was written twice", output.path));
        }
        if output.path != job.output_path(catalog, journal, attempt, output.part) {
            return Err(format!(
                "{} is not a name that this attempt may write",
                output.path
            ));
        }
    }
    let mut rules = BTreeSet::new();
    for dropped in &finished.drops {
        if !job.allows(&dropped.rule) {
            return Err(format!(
                "rows were dropped by the rule {:?}, which the job does not have",
                dropped.rule
            ));
        }
        if !rules.insert(&dropped.rule) {
            return Err(format!("rows dropped by {:?} were declared twice", dropped.rule));
        }
    }
    let read = sum(finished.reads.iter().map(|read| read.rows));
    let written = sum(finished.outputs.iter().map(|output| output.rows));
    let dropped = sum(finished.drops.iter().map(|drop| drop.rows));
    if read != written + dropped {
        return Err(format!(
            "{read} rows read, but {written} written and {dropped} dropped by rule"
        ));
    }
    check_copied(finished)?;
    let read: Digest = finished.reads.iter().map(|read| read.digest).sum();
    let written: Digest = finished.outputs.iter().map(|output| output.digest).sum();
    let dropped: Digest = finished.drops.iter().map(|drop| drop.digest).sum();
    match read == written.plus(dropped) {
        true => check_stretches(finished),
        false => Err("the digest of the rows read is not that of the rows written and dropped".to_owned()),
    }
}

/// What was copied as bytes left the inputs and reached the outputs, the same pages with as many rows.
fn check_copied(finished: &Finished) -> Result<(), String> {
    let read = sum(finished.reads.iter().map(|read| read.copied));
    let written = sum(finished.outputs.iter().map(|output| output.copied));
    let (rows, sealed) = match &finished.copied {
        Some(copied) => (u128::from(copied.rows), copied.read == copied.written),
        None => (0, true),
    };
    let whole = finished.reads.iter().all(|read| read.copied <= read.rows)
        && finished.outputs.iter().all(|output| output.copied <= output.rows);
    if read != rows || written != rows || !whole {
        return Err(format!(
            "{read} rows copied from the inputs, {written} to the outputs, and {rows} declared"
        ));
    }
    match sealed {
        true => Ok(()),
        false => Err("the pages that were written are not those that were copied".to_owned()),
    }
}

/// What a receipt will say of single stretches is true of them, and together they are the range.
fn check_stretches(finished: &Finished) -> Result<(), String> {
    let stretches = &finished.stretches;
    if stretches.is_empty() {
        return Ok(());
    }
    if let Some(odd) = stretches.iter().find(|stretch| !stretch.balances()) {
        return Err(format!(
            "a stretch of {} rows that were {} is not what was read of it",
            odd.rows, odd.way
        ));
    }
    let proved_by = |proof| {
        stretches
            .iter()
            .filter(move |stretch| stretch.way.proof() == proof)
    };
    let rows = |proof| sum(proved_by(proof).map(|stretch| stretch.rows));
    let read = |proof| proved_by(proof).map(|stretch| stretch.read).sum::<Digest>();
    let all = sum(finished.reads.iter().map(|read| read.rows));
    let copied = finished.copied.map_or(0, |copied| u128::from(copied.rows));
    if (rows(Proof::Rows), rows(Proof::Bytes)) != (all.saturating_sub(copied), copied) {
        return Err("the stretches of the range are not all of its rows".to_owned());
    }
    let digest: Digest = finished.reads.iter().map(|read| read.digest).sum();
    let seals = finished.copied.map_or(Digest::default(), |copied| copied.read);
    match (read(Proof::Rows), read(Proof::Bytes)) == (digest, seals) {
        true => Ok(()),
        false => Err("the stretches of the range are not what was read of it".to_owned()),
    }
}

/// The figures of all ranges together: a key that fell into no range, or into two, shows only here.
pub(super) fn check_job(job: &Job) -> Result<(), String> {
    for (index, input) in job.inputs.iter().enumerate() {
        let reads = || job.finished().map(|(_, finished)| finished.reads[index]);
        let rows = sum(reads().map(|read| read.rows));
        if rows != u128::from(input.rows) {
            return Err(format!(
                "{}: {rows} rows read, {} in its footer",
                input.path, input.rows
            ));
        }
        let positions: Option<Positions> = reads().map(|read| read.positions).sum();
        check_positions(input, positions, job.ranges.len() > 1)?;
        let digest: Digest = reads().map(|read| read.digest).sum();
        let decoded = reads().all(|read| read.copied == 0);
        if decoded && input.digest.is_some_and(|recorded| recorded != digest) {
            return Err(format!(
                "{}: its rows are not those that were written to it",
                input.path
            ));
        }
    }
    Ok(())
}

/// Counts that agree prove nothing where a row that one range lost makes up for another that two ranges read.
fn check_positions(input: &File, read: Option<Positions>, is_cut: bool) -> Result<(), String> {
    match read {
        Some(read) if read == Positions::all(input.rows) => Ok(()),
        _ if crate::planted!(PositionsNotCompared) => Ok(()),
        Some(_) => Err(format!(
            "{}: as many rows were read as it has, but not each of them once",
            input.path
        )),
        None if is_cut => Err(format!(
            "{}: a range does not say which of its rows it read",
            input.path
        )),
        None => Ok(()),
    }
}

fn sum(rows: impl Iterator<Item = u64>) -> u128 {
    rows.map(u128::from).sum()
}
