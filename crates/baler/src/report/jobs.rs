//! Jobs as people and programs are shown them.

use std::fmt;

use anyhow::Result;
use baler_core::file::FilePath;
use baler_core::ids::TableName;
use baler_core::job::{CancelReason, Job, JobStatus, JobSummary};
use baler_core::state::State;
use serde::{Deserialize, Serialize};

use super::fleet::{Heard, LeaseStatus, Queue};
use super::pace::seconds_left;
use crate::desk::Spent;
use crate::estimate::{self, PlannedJob};
use crate::root::Root;
use crate::site::Site;

/// Where a job stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobWord {
    /// Nobody works on it yet.
    Planned,
    /// Somebody does.
    Leased,
    /// Its outputs are durable, and on their way to their final names or into the catalog.
    Compacted,
    /// Done.
    Committed,
    /// Ended without effect.
    Cancelled,
    /// The catalog refused it.
    Failed,
}

impl JobWord {
    /// Of a job that has not ended.
    pub fn of(job: &Job) -> Self {
        match (job.status, job.leases().next()) {
            (JobStatus::Compacted, _) => Self::Compacted,
            (_, Some(_)) => Self::Leased,
            _ => Self::Planned,
        }
    }

    /// As it is written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Leased => "leased",
            Self::Compacted => "compacted",
            Self::Committed => "committed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for JobWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A job that has not ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenJob {
    /// Its number.
    pub id: u64,
    /// `planned`, `leased` or `compacted`.
    pub status: JobWord,
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
    /// Ranges that it is cut into; one for a small job.
    pub ranges: usize,
    /// Those that are merged.
    pub ranges_finished: usize,
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
    /// How long ago that was, by this machine's clock: an estimate.
    pub age_seconds: Option<f64>,
    /// Bytes of its inputs worked off; `None` where somebody works on it of whom nothing is heard here.
    pub bytes_done: Option<u64>,
    /// How fast it goes.
    pub bytes_per_second: Option<f64>,
    /// How long it will still take at that rate.
    pub seconds_left: Option<f64>,
    /// What it will have asked of the store from beginning to end: an estimate.
    pub estimate: Spent,
}

/// A job that ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndedJob {
    /// Its number.
    pub id: u64,
    /// `committed`, `cancelled` or `failed`.
    pub status: JobWord,
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
    /// Why it was cancelled, or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The entry that ended it.
    pub ended: u64,
    /// The entry that took it back, if it was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<u64>,
    /// Leases that were granted on it.
    #[serde(default)]
    pub attempts: u32,
    /// How long those with a result worked.
    #[serde(default)]
    pub worked_seconds: f64,
    /// What they asked of the store.
    #[serde(default)]
    pub spent: Spent,
}

/// The jobs of a root: those that are open, and the last that ended, youngest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Jobs {
    /// Open ones.
    pub open: Vec<OpenJob>,
    /// Ended ones.
    pub ended: Vec<EndedJob>,
}

impl Jobs {
    /// Of a root, or of one of its tables.
    pub fn of(root: &Root, only: Option<&TableName>, heard: &Heard) -> Result<Self> {
        root.tables(only)?;
        let state = root.replica.state();
        let covers = |table: &TableName| only.is_none_or(|only| only == table);
        let open = state.jobs.values().filter(|job| covers(&job.table));
        let ended = state.recent.iter().rev().filter(|job| covers(&job.table));
        Ok(Self {
            open: open
                .map(|job| OpenJob::of(&state, &root.site, job, heard).0)
                .collect(),
            ended: ended.map(|job| EndedJob::of(job)).collect(),
        })
    }
}

impl OpenJob {
    /// One of a state's jobs, with its leases.
    pub fn of(state: &State, site: &Site, job: &Job, heard: &Heard) -> (Self, Vec<LeaseStatus>) {
        let leases = LeaseStatus::of_job(job, heard);
        let bytes_done = bytes_done(job, &leases);
        let rates = leases.iter().filter_map(|lease| lease.bytes_per_second);
        let rate = rates.reduce(|sum, rate| sum + rate);
        let shown = Self {
            id: job.id.0,
            status: JobWord::of(job),
            table: job.table.to_string(),
            partition: job.partition.to_string(),
            files: job.inputs.len(),
            bytes: job.bytes(),
            why: job.why.to_string(),
            ranges: job.ranges.len(),
            ranges_finished: job.finished().count(),
            attempts: job.attempts(),
            workers: leases.iter().map(|lease| lease.worker.clone()).collect(),
            faults: job.input_faults,
            last_error: job.last_error.as_ref().map(ToString::to_string),
            age_entries: state.sequence.0.saturating_sub(job.planned.0),
            age_seconds: heard.age_of(state, job.planned),
            bytes_done,
            bytes_per_second: rate,
            seconds_left: bytes_done.and_then(|done| seconds_left(done, job.bytes(), rate)),
            estimate: estimated(state, site, job),
        };
        (shown, leases)
    }
}

impl Queue {
    /// Of these jobs.
    pub fn of(jobs: &[OpenJob]) -> Self {
        let mut queue = Self::default();
        for job in jobs {
            match job.status {
                JobWord::Planned => queue.planned += 1,
                JobWord::Leased => queue.leased += 1,
                _ => queue.compacted += 1,
            }
            queue.bytes += job.bytes;
            queue.attempts += job.attempts;
        }
        let waiting = jobs.iter().filter(|job| job.status == JobWord::Planned);
        queue.oldest_seconds = waiting.filter_map(|job| job.age_seconds).reduce(f64::max);
        let rates = jobs.iter().filter_map(|job| job.bytes_per_second);
        queue.bytes_per_second = rates.reduce(|sum, rate| sum + rate);
        queue
    }
}

/// Finished ranges count by their rows, those under way by what was heard of them. Publishing comes after all of that.
fn bytes_done(job: &Job, leases: &[LeaseStatus]) -> Option<u64> {
    if job.status == JobStatus::Compacted {
        return Some(job.bytes());
    }
    let under_way = leases.iter().map(|lease| lease.bytes_done).sum::<Option<u64>>()?;
    let reads = job.finished().flat_map(|(_, finished)| &finished.reads);
    let rows: u64 = reads.map(|read| read.rows).sum();
    let share = u128::from(job.bytes()) * u128::from(rows) / u128::from(job.rows().max(1));
    let finished = u64::try_from(share).unwrap_or(u64::MAX);
    Some(finished.saturating_add(under_way).min(job.bytes()))
}

fn estimated(state: &State, site: &Site, job: &Job) -> Spent {
    let Some(table) = state.tables.get(&job.table) else {
        return Spent::default();
    };
    let mut planned = PlannedJob::of(&table.spec);
    job.inputs.iter().for_each(|file| planned.take(file.bytes()));
    estimate::of_jobs(site, &[planned]).spent()
}

impl EndedJob {
    /// What the state remembers of it.
    pub fn of(job: &JobSummary) -> Self {
        let effort = job.effort.unwrap_or_default();
        Self {
            id: job.id.0,
            status: match job.status {
                JobStatus::Committed => JobWord::Committed,
                JobStatus::Failed => JobWord::Failed,
                JobStatus::Open | JobStatus::Compacted | JobStatus::Cancelled => JobWord::Cancelled,
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
            reason: match &job.failed {
                Some(failed) => Some(failed.to_string()),
                None => job.cancelled.as_ref().map(in_words),
            },
            ended: job.ended.0,
            undone: job.undone.map(|at| at.0),
            attempts: job.attempts,
            worked_seconds: effort.worked_ms as f64 / 1_000.0,
            spent: Spent {
                requests: effort.requests,
                price_usd: effort.price_nano_usd as f64 / 1e9,
            },
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
        CancelReason::InputsUndone(job) => format!("its inputs went when job {job} was undone"),
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
