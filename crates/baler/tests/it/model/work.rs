//! What there is to do, and how long it takes: files that nobody ever reads, and merges that sleep for as long as
//! `cargo xtask bench merge` says that theirs would take.

use std::sync::Arc;
use std::time::Duration;

use baler::desk::Assignment;
use baler_core::file::{Digest, File, FilePath, Identity, KeyRange};
use baler_core::ids::{JournalId, RangeId, TableName};
use baler_core::job::{Finished, InputRead, Job, Output};
use baler_core::limits::{JOB_TARGETS_MAX, TARGET_BYTES_DEFAULT};
use baler_core::positions::Positions;
use baler_core::request::{Finish, Reply, Request};
use baler_core::table::{Catalog, MergeSpec, SortColumn, TableSpec};
use baler_core::time::{Millis, StoreTime};
use baler_journal::Replica;

use super::store::{LATENCY, transfer};

/// Bytes of inputs that one core merges in a second: the overlap shape of `cargo xtask bench merge`, 228 MB in 5.6 CPU
/// seconds.
pub(super) const MERGED_A_SECOND: f64 = 40_000_000.0;

/// Requests at once in which a worker reads its inputs.
const CONNECTIONS: u64 = 4;

pub(super) const TABLE: &str = "events";

const MB: u64 = 1_000_000;

/// A backlog of jobs, each in a partition of its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Backlog {
    /// So many of about 128 MB: 3.3 seconds each for a worker of one core.
    ManySmall(u64),
    /// One that is as large as jobs get: 16 files of the target size come of it, in as many ranges.
    OneLarge,
}

impl Backlog {
    pub(super) fn jobs(self) -> u64 {
        match self {
            Self::ManySmall(jobs) => jobs,
            Self::OneLarge => 1,
        }
    }

    pub(super) fn bytes(self) -> u64 {
        (0..self.jobs())
            .map(|job| self.files_a_job() * self.file_bytes(job))
            .sum()
    }

    /// The files of one job.
    pub(super) fn files(self, job: u64, now: StoreTime) -> Vec<Arc<File>> {
        (0..self.files_a_job())
            .map(|file| Arc::new(a_file(job, file, self.file_bytes(job), now)))
            .collect()
    }

    fn files_a_job(self) -> u64 {
        match self {
            Self::ManySmall(_) => 16,
            Self::OneLarge => 64,
        }
    }

    fn file_bytes(self, job: u64) -> u64 {
        match self {
            Self::ManySmall(_) => uneven(job, 8 * MB),
            Self::OneLarge => TARGET_BYTES_DEFAULT * JOB_TARGETS_MAX / self.files_a_job(),
        }
    }
}

/// Where a job is cut that was just granted; nowhere, unless it is large.
pub(super) fn edges(job: &Job) -> Vec<Vec<u8>> {
    let ranges = match job.ranges.len() {
        1 => job.bytes() / job.merge.target_bytes,
        _ => 1,
    };
    (1..ranges.max(1))
        .map(|edge| vec![u8::try_from(edge * 255 / ranges).unwrap()])
        .collect()
}

/// Between two thirds and four thirds: jobs of one size would end together, and share entries of the journal.
fn uneven(job: u64, bytes: u64) -> u64 {
    let spread = job.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    bytes * 2 / 3 + bytes * 2 / 3 * spread / (1 << 16)
}

fn a_file(job: u64, file: u64, bytes: u64, modified: StoreTime) -> File {
    let identity = Identity {
        tag: format!("{job}-{file}").into(),
        bytes,
        modified,
    };
    let path = FilePath::in_root(format!("job={job:05}/{file:04}.parquet"));
    File {
        keys: Some(KeyRange {
            min: Box::new([0]),
            max: Box::new([255]),
        }),
        ..File::found(path, identity, bytes / 20)
    }
}

/// A native table: the entry that finishes its last range commits a job.
pub(super) fn create_table() -> Request {
    let merge = MergeSpec {
        sort: vec![SortColumn {
            name: "key".into(),
            descending: false,
            nulls_first: false,
        }],
        ..MergeSpec::default()
    };
    let spec = TableSpec {
        merge: Arc::new(merge),
        grace: Millis::from_secs(3600),
        ..TableSpec::of(Catalog::Native)
    };
    Request::CreateTable {
        table: TableName::from(TABLE),
        spec: Arc::new(spec),
    }
}

/// How long a worker of one core is at work on a range: footers, then bytes as fast as they come and are merged, the
/// last part of the output, and a last look at the inputs.
pub(super) fn takes(bytes: u64) -> Duration {
    let merging = Duration::from_secs_f64(bytes as f64 / MERGED_A_SECOND);
    merging.max(transfer(bytes) / u32::try_from(CONNECTIONS).unwrap()) + 3 * LATENCY
}

/// A result that adds up: of each input, an even share of its rows.
pub(super) fn finish(assignment: &Assignment, journal: JournalId) -> Finish {
    let grant = &assignment.grant;
    let (job, attempt) = (&grant.job, grant.attempt());
    let ranges = job.ranges.len() as u64;
    let RangeId::Keys(range) = grant.range else {
        panic!("a native table publishes nothing");
    };
    let reads = job.inputs.iter().map(|input| {
        let edge = |range: u64| input.rows * range / ranges;
        let rows = edge(range.into())..edge(u64::from(range) + 1);
        InputRead {
            rows: rows.end - rows.start,
            copied: 0,
            digest: Digest(u128::from(rows.end - rows.start)),
            positions: Some(Positions::of(rows)),
        }
    });
    let reads: Vec<InputRead> = reads.collect();
    let output = Output {
        part: 0,
        path: job.output_path(&assignment.catalog, journal, &attempt, 0),
        bytes: job.bytes() / ranges,
        rows: reads.iter().map(|read| read.rows).sum(),
        copied: 0,
        digest: reads.iter().map(|read| read.digest).sum(),
        checksum: Digest(u128::from(job.id.0) + 1),
        keys: job.inputs.first().and_then(|input| input.keys.clone()),
        times: None,
    };
    Finish {
        job: job.id,
        range: grant.range,
        finished: Finished {
            token: attempt.token,
            outputs: vec![output],
            reads,
            drops: Vec::new(),
            copied: None,
            stretches: Vec::new(),
            effort: None,
        },
        inputs_now: None,
    }
}

/// Files are handed over, as a writer does that knows of them.
pub(super) async fn add(writer: &Replica, files: Vec<Arc<File>>) {
    let add = Request::AddFiles {
        table: TableName::from(TABLE),
        evidence: writer.state().sequence,
        files,
    };
    if let Reply::Refused(refusal) = writer.submit(add).await.unwrap() {
        panic!("{refusal}");
    }
}
