//! What a request was answered. A refusal is an ordinary reply.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::file::FilePath;
use crate::ids::{JobId, PinId, RangeId, Token};
use crate::job::{Job, JobSummary};
use crate::names::Attempt;
use crate::range::Span;
use crate::refusal::Refusal;

/// What a request was answered. Given only after its events, if it has any, are in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// It is so now, or was so already.
    Done,
    /// What became of files that were offered.
    Added(Added),
    /// A proposal became this job.
    Planned(JobId),
    /// Ranges to work on; empty if there are none.
    Granted(Vec<Grant>),
    /// The job is cut; the asker's lease, under the same token, is now on its first range.
    Cut(Grant),
    /// A range is finished; here is the publishing that follows, if any.
    Finished {
        /// The job's publishing, granted to the same worker.
        publish: Option<Grant>,
        /// The job's summary, if this committed it.
        committed: Option<JobSummary>,
    },
    /// A commit may be tried in the external catalog, on the version that was named; the lease is on `RangeId::Publish`.
    MayCommit(Grant),
    /// The external catalog refused the job, and it has ended.
    JobFailed(JobId),
    /// A job is published, or in the external catalog, and so committed.
    Committed(JobSummary),
    /// The job was cancelled, because something it stands on has changed.
    JobCancelled(JobId),
    /// What retention dropped.
    Expired(Expired),
    /// Put on the deletion list.
    Due(Vec<FilePath>),
    /// Pinned: the name of the promise. Without a version asked for, its entry is the version.
    Pinned(PinId),
    /// It cannot be done.
    Refused(Refusal),
}

/// What became of files that were offered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// New.
    pub added: u64,
    /// Known already, live or consumed.
    pub known: u64,
    /// Passed over: the state has changed since the evidence, or a job holds the path. Look again later.
    pub later: Vec<FilePath>,
    /// Consumed before, and holding something else now. Not taken.
    pub changed: Vec<FilePath>,
    /// Quarantined in this version.
    pub quarantined: u64,
    /// Not taken: another table of this root shows the path, or is about to delete what lies there.
    pub taken: Vec<FilePath>,
}

/// What retention dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    /// Files.
    pub files: u64,
    /// Their rows.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether there are more: ask again.
    pub more: bool,
}

/// A range that a worker may work on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The job, as it stood at the grant.
    pub job: Arc<Job>,
    /// Its range.
    pub range: RangeId,
    /// The lease.
    pub token: Token,
    /// Memory to merge with: as much as it would take without spilling, or what there is for it.
    #[serde(default)]
    pub memory_bytes: u64,
}

impl Grant {
    /// The attempt that this grant begins.
    pub fn attempt(&self) -> Attempt {
        Attempt {
            job: self.job.id,
            range: self.range,
            token: self.token,
        }
    }

    /// The keys to work on.
    pub fn span(&self) -> &Span {
        let range = self.job.range(self.range);
        &range.expect("a grant is for a range that its job has").span
    }
}
