//! Why something cannot be done, in words that say what to do. A refusal is an ordinary reply.

use serde::{Deserialize, Serialize};

use crate::external::CatalogVersion;
use crate::ids::{JobId, PinId, RangeId, Sequence, TableName, WatcherId};

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// The journal began already.
    #[error("the journal exists already")]
    JournalExists,
    /// No such table.
    #[error("there is no table {0}")]
    NoSuchTable(TableName),
    /// The table is something else.
    #[error("table {table} exists already with other settings: {difference}")]
    TableDiffers {
        /// The table.
        table: TableName,
        /// What differs, in words.
        difference: String,
    },
    /// The settings ask for something that cannot be.
    #[error("table {table}: {what}")]
    WrongSettings {
        /// The table.
        table: TableName,
        /// What is wrong, in words.
        what: String,
    },
    /// Plain and native tables do not share a root.
    #[error(
        "table {0} needs a root of its own: a plain table takes whatever lies in the root for its files, \
         so plain and native tables cannot share one"
    )]
    MixedRoot(TableName),
    /// Each table costs memory in every process.
    #[error("there are {0} tables under this root already: drop one, or begin another root")]
    TooManyTables(usize),
    /// It was dropped, and something of it is still on the store.
    #[error("table {0} is being dropped: its name is free again when its files are deleted")]
    BeingDropped(TableName),
    /// A plain folder is not Baler's to delete.
    #[error("table {0} is a plain folder: its files belong to those who write them, and are not dropped")]
    CannotDrop(TableName),
    /// The truth about the table is elsewhere.
    #[error("table {0} is kept in a catalog of its own: its files belong to that, and are not dropped")]
    KeptElsewhere(TableName),
    /// The table does not say how long rows are kept.
    #[error("table {0} has no retention: say which column holds the rows' time and how long they are kept")]
    NoRetention(TableName),
    /// The token is not that of the range's present lease.
    #[error("the lease on range {range} of job {job} is not held under this token any more")]
    NoSuchLease {
        /// The job.
        job: JobId,
        /// The range.
        range: RangeId,
    },
    /// The lease stands; the worker goes on with all that it was granted.
    #[error("job {job} cannot be cut: {why}")]
    CannotCut {
        /// The job.
        job: JobId,
        /// Why, in words.
        why: String,
    },
    /// A proposal does not fit the state any more, or never did.
    #[error("no job of table {table} can be made of this: {why}")]
    CannotPlan {
        /// The table.
        table: TableName,
        /// Why, in words.
        why: String,
    },
    /// No such open job.
    #[error("there is no open job {0}")]
    NoSuchJob(JobId),
    /// The watcher raised its counter meanwhile, or is gone.
    #[error("watcher {0} is alive, or has no leases")]
    WatcherAlive(WatcherId),
    /// The figures of a finished range do not prove that no row was lost or doubled.
    #[error("the merge is not proved right: {0}")]
    NotProved(String),
    /// A look at each input, begun after the merge, lacks. The lease stands: look, and send the result again with it.
    #[error(
        "the inputs of job {0} were not looked at again after the merge: look, and send the result again"
    )]
    InputsUnseen(JobId),
    /// The evidence is older than what the state remembers.
    #[error(
        "the listing began at entry {evidence}, before {oldest}, the oldest that is remembered: list again"
    )]
    EvidenceTooOld {
        /// When the evidence began.
        evidence: Sequence,
        /// The oldest acceptable.
        oldest: Sequence,
    },
    /// The evidence claims to know an entry that is not written yet. A number from another journal, or from before
    /// a restore, must not pass for the newest knowledge.
    #[error("the listing claims to have begun at entry {0}, which does not exist yet: list again")]
    EvidenceUnknown(Sequence),
    /// What was committed stays.
    #[error("job {job} cannot be undone: {why}")]
    CannotUndo {
        /// The job.
        job: JobId,
        /// Why, in words.
        why: String,
    },
    /// A job that is being published is beyond cancelling.
    #[error("job {0} is being published and will be committed")]
    TooLate(JobId),
    /// The outputs lie under their final names, and the commit is due elsewhere.
    #[error("job {0} is committed in an external catalog: report its commit, there is nothing to publish")]
    NothingToPublish(JobId),
    /// Nothing of the job belongs into an external catalog, or not yet.
    #[error("job {0} has no commit in an external catalog due")]
    NothingToCommit(JobId),
    /// One at a time for a table.
    #[error("the commit of job {job} is under way: wait until it is done, or its process is taken over")]
    CommitUnderWay {
        /// The job.
        job: JobId,
    },
    /// A later try on an older version could land where nobody looks.
    #[error(
        "job {job} was tried on version {newest} of the catalog and cannot be on {base}: read the catalog again"
    )]
    BaseGoesBack {
        /// The job.
        job: JobId,
        /// The version asked for.
        base: CatalogVersion,
        /// The newest that was tried.
        newest: CatalogVersion,
    },
    /// The catalog has forgotten what it would have to show.
    #[error("nobody can tell whether job {0} was committed: look into the catalog, and say so")]
    AsksOperator(JobId),
    /// Plain folders have no versions to pin.
    #[error("table {0} is a plain folder: its readers list it, so a pin would promise nothing")]
    CannotPin(TableName),
    /// No such pin.
    #[error("there is no pin {0}")]
    NoSuchPin(PinId),
    /// Every pin holds back deletion, so their number is bounded.
    #[error("{0} versions are pinned already: unpin one, or wait until a pin's lifetime is over")]
    TooManyPins(usize),
    /// Plain folders have no versions.
    #[error("table {0} is a plain folder: it has no versions, only what lies there now")]
    NoVersions(TableName),
    /// Something that the version shows may be gone, or the version is yet to come.
    #[error(
        "version {version} of table {table} cannot be read: versions {oldest} to {newest} can{}",
        and_pinned(.pinned)
    )]
    VersionNotReadable {
        /// The table.
        table: TableName,
        /// The version asked for.
        version: Sequence,
        /// The oldest that can be read.
        oldest: Sequence,
        /// The newest.
        newest: Sequence,
        /// Older ones that can be read because somebody has pinned them.
        pinned: Vec<Sequence>,
    },
}

fn and_pinned(versions: &[Sequence]) -> String {
    let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    match versions.is_empty() {
        true => String::new(),
        false => format!(", and {}, which somebody has pinned", versions.join(", ")),
    }
}
