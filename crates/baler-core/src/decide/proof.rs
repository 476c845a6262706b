//! Guarantee 1, checked before each commit: what was read is what was written, plus what a rule let go.

use crate::file::Digest;
use crate::ids::JournalId;
use crate::job::{Finished, Job};
use crate::names::Attempt;

/// The figures of one finished range.
pub(super) fn check_range(
    job: &Job,
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
    for output in &finished.outputs {
        if output.path != attempt.output(journal, &job.partition, output.part) {
            return Err(format!(
                "{} is not a name that this attempt may write",
                output.path
            ));
        }
    }
    let read: u64 = finished.reads.iter().map(|read| read.rows).sum();
    let written: u64 = finished.outputs.iter().map(|output| output.rows).sum();
    let dropped: u64 = finished.drops.iter().map(|drop| drop.rows).sum();
    if read != written + dropped {
        return Err(format!(
            "{read} rows read, but {written} written and {dropped} dropped by rule"
        ));
    }
    let read: Digest = finished.reads.iter().map(|read| read.digest).sum();
    let written: Digest = finished.outputs.iter().map(|output| output.digest).sum();
    let dropped: Digest = finished.drops.iter().map(|drop| drop.digest).sum();
    match read == written.plus(dropped) {
        true => Ok(()),
        false => Err("the digest of the rows read is not that of the rows written and dropped".to_owned()),
    }
}

/// The figures of all ranges together: a key that fell into no range, or into two, shows only here.
pub(super) fn check_job(job: &Job) -> Result<(), String> {
    for (index, input) in job.inputs.iter().enumerate() {
        let reads = || job.finished().map(|(_, finished)| finished.reads[index]);
        let rows: u64 = reads().map(|read| read.rows).sum();
        if rows != input.rows {
            return Err(format!(
                "{}: {rows} rows read, {} in its footer",
                input.path, input.rows
            ));
        }
        let digest: Digest = reads().map(|read| read.digest).sum();
        if input.digest.is_some_and(|recorded| recorded != digest) {
            return Err(format!(
                "{}: its rows are not those that were written to it",
                input.path
            ));
        }
    }
    Ok(())
}
