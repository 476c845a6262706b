//! A catalog of the owner's: the truth about a table's live files.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use baler_core::external::CatalogVersion;
use baler_core::file::{File, Level};
use baler_core::ids::{JobId, JournalId, Partition, TableName};
use baler_core::job::{Job, Output};

/// The truth about a table's live files, kept by its owner. Its versions follow one another, each greater than the one that
/// it builds on, and each commit says which job it is of. Calls may come from several processes, and any answer may be
/// lost: then the same is asked again.
#[async_trait]
pub trait Catalog: fmt::Debug + Send + Sync {
    /// The present version.
    async fn version(&self) -> anyhow::Result<CatalogVersion>;

    /// Puts the outputs of a job in the place of its inputs, in one step, as the version after `base` and as no other. An
    /// error means that nobody knows whether it landed.
    async fn commit(&self, commit: &Commit, base: CatalogVersion) -> anyhow::Result<Tried>;

    /// The commits after this version, up to the present one.
    async fn history(&self, after: CatalogVersion) -> anyhow::Result<History>;

    /// Makes a version after `base` that changes nothing, unless there is one after it already. From then on a commit on
    /// `base` that is still under way cannot land.
    async fn pass(&self, base: CatalogVersion) -> anyhow::Result<()>;
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It is in the catalog.
    Landed,
    /// There is a version after the base already. It may be tried on a newer one.
    Moved,
    /// The catalog does not take it, now or later: an input is not live there any more, or the owner does not want it.
    Refused(String),
}

/// What a catalog remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum History {
    /// Every commit after the version that was asked for.
    Whole {
        /// The present version.
        until: CatalogVersion,
        /// The jobs among them.
        jobs: Vec<CommitId>,
    },
    /// Some of these versions are forgotten.
    Cut {
        /// What is missing, in words.
        reason: String,
    },
}

/// By what a commit is known in a catalog. A job's number alone may come again under another journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId {
    /// The journal that the job is of.
    pub journal: JournalId,
    /// The job.
    pub job: JobId,
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.journal, self.job)
    }
}

impl FromStr for CommitId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (journal, job) = text.split_once('-')?;
            Some(Self {
                journal: journal.parse().ok()?,
                job: JobId(job.parse().ok()?),
            })
        };
        parse().ok_or_else(|| format!("{text:?} is not the id of a commit"))
    }
}

/// What a job replaces by what.
#[derive(Clone, Debug)]
pub struct Commit {
    /// By what it is known.
    pub id: CommitId,
    /// The table.
    pub table: TableName,
    /// The partition of the outputs.
    pub partition: Partition,
    /// The files that go.
    pub inputs: Vec<Arc<File>>,
    /// The files that take their place, in key order; below the root, as the inputs.
    pub outputs: Vec<Output>,
    /// The level of the outputs.
    pub output_level: Level,
}

impl Commit {
    pub(super) fn of(journal: JournalId, job: &Job) -> Self {
        Self {
            id: CommitId { journal, job: job.id },
            table: job.table.clone(),
            partition: job.partition.clone(),
            inputs: job.inputs.clone(),
            outputs: job.outputs().cloned().collect(),
            output_level: job.output_level,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_commit_is_read_as_it_is_written() {
        let id = CommitId {
            journal: JournalId(0xabc),
            job: JobId(17),
        };
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("17".parse::<CommitId>().is_err());
    }
}
