//! Jobs as people and programs are shown them.

use baler_core::file::FilePath;
use baler_core::job::{CancelReason, Job, JobStatus, JobSummary};
use baler_core::state::State;
use serde::Serialize;

/// A job that has not ended.
#[derive(Debug, Serialize)]
pub struct OpenJob {
    /// Its number.
    pub id: u64,
    /// `planned`, `leased` or `compacted`.
    pub status: &'static str,
    /// Its table.
    pub table: String,
    /// Its partition.
    pub partition: String,
    /// Files that it would replace.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Why the planner chose it.
    pub why: String,
    /// Leases granted on it so far.
    pub attempts: u32,
    /// Who holds it.
    pub workers: Vec<String>,
    /// Reported faults of its inputs.
    pub faults: u32,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// Entries of the journal since it was planned.
    pub age_entries: u64,
}

/// A job that ended.
#[derive(Debug, Serialize)]
pub struct EndedJob {
    /// Its number.
    pub id: u64,
    /// `committed` or `cancelled`.
    pub status: &'static str,
    /// Its table.
    pub table: String,
    /// Its partition.
    pub partition: String,
    /// Files that were replaced, or would have been.
    pub files_in: u64,
    /// Files that replaced them.
    pub files_out: u64,
    /// Rows read.
    pub rows_in: u64,
    /// Rows written.
    pub rows_out: u64,
    /// Rows that a rule let go.
    pub rows_dropped: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Why it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The entry that ended it.
    pub ended: u64,
}

impl OpenJob {
    /// One of a state's jobs.
    pub fn of(state: &State, job: &Job) -> Self {
        Self {
            id: job.id.0,
            status: match (job.status, job.leases().next()) {
                (JobStatus::Compacted, _) => "compacted",
                (_, Some(_)) => "leased",
                _ => "planned",
            },
            table: job.table.to_string(),
            partition: job.partition.to_string(),
            files: job.inputs.len(),
            bytes: job.bytes(),
            why: job.why.to_string(),
            attempts: job.ranges().map(|(_, range)| range.attempts).sum(),
            workers: job.leases().map(|(_, lease)| lease.worker.to_string()).collect(),
            faults: job.input_faults,
            last_error: job.last_error.as_ref().map(ToString::to_string),
            age_entries: state.sequence.0.saturating_sub(job.planned.0),
        }
    }
}

impl EndedJob {
    /// What the state remembers of it.
    pub fn of(job: &JobSummary) -> Self {
        Self {
            id: job.id.0,
            status: match job.status {
                JobStatus::Committed => "committed",
                JobStatus::Failed => "failed",
                JobStatus::Open | JobStatus::Compacted | JobStatus::Cancelled => "cancelled",
            },
            table: job.table.to_string(),
            partition: job.partition.to_string(),
            files_in: job.files_in,
            files_out: job.files_out,
            rows_in: job.rows_in,
            rows_out: job.rows_out,
            rows_dropped: job.rows_dropped,
            bytes_in: job.bytes_in,
            bytes_out: job.bytes_out,
            reason: job.cancelled.as_ref().map(in_words),
            ended: job.ended.0,
        }
    }
}

fn in_words(reason: &CancelReason) -> String {
    match reason {
        CancelReason::InputsChanged(paths) => format!("{} changed or gone", named(paths)),
        CancelReason::InputQuarantined(paths) => format!("{} quarantined", named(paths)),
        CancelReason::InputsExpired(paths) => format!("{} past the retention", named(paths)),
        CancelReason::TableDropped => "its table was dropped".to_owned(),
        CancelReason::Bisected => "it failed: its halves are tried instead".to_owned(),
        CancelReason::OutputsLost(paths) => format!("its outputs vanished: {}", named(paths)),
        CancelReason::Operator => "somebody asked for it".to_owned(),
        CancelReason::Shed { last_error, .. } => {
            let error = last_error.as_deref().unwrap_or("no error was reported");
            format!("it kept failing and made room in a full queue: {error}")
        }
    }
}

fn named(paths: &[FilePath]) -> String {
    match paths {
        [] => "nothing".to_owned(),
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}
