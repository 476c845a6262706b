//! What outsiders ask, and what they are told.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{Quarantined, ReleaseReason, Returned};
use crate::external::{CatalogVersion, CommitOutcome};
use crate::file::{File, FilePath, Identity, Level};
use crate::ids::{JobId, JournalId, PinId, RangeId, Sequence, TableName, Token, WatcherId, WorkerId};
use crate::job::Finished;
use crate::lease::HostLock;
use crate::names::Attempt;
use crate::table::TableSpec;
use crate::time::Millis;

mod memory;
mod reply;
mod scope;

pub use crate::refusal::Refusal;
pub use memory::Memory;
pub use reply::{Added, Expired, Grant, Reply};
pub use scope::{Formats, Scope};

/// Something asked of the state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Begin the journal.
    CreateJournal(JournalId),
    /// Write an empty entry, so that the next one carries the present.
    Tick,

    /// Begin a table, or confirm that it is as wanted.
    CreateTable {
        /// Its name.
        table: TableName,
        /// What it is to be.
        spec: Arc<TableSpec>,
    },
    /// Change a table's settings. What would mix two orders in one table is refused.
    AlterTable {
        /// Its name.
        table: TableName,
        /// What it is to be.
        spec: Arc<TableSpec>,
    },
    /// Drop a native table and all that it holds. Its name is free again when nothing of it is left.
    DropTable(TableName),
    /// Drop the files of a native table whose newest rows are past its retention.
    ApplyRetention(TableName),
    /// Files were found, or handed over.
    AddFiles {
        /// For this table.
        table: TableName,
        /// The last entry known when looking at them began.
        evidence: Sequence,
        /// These.
        files: Vec<Arc<File>>,
    },
    /// Files that the state names were asked for one by one, and are not there (404).
    LoseFiles {
        /// Of this table.
        table: TableName,
        /// The last entry known when asking began.
        evidence: Sequence,
        /// These.
        paths: Vec<FilePath>,
    },
    /// Files cannot be read for what they are.
    QuarantineFiles {
        /// Of this table.
        table: TableName,
        /// The last entry known when looking at them began.
        evidence: Sequence,
        /// These.
        files: Vec<Quarantined>,
    },
    /// Try quarantined and put-off files again, and let files that were kept apart meet; all of them if none is named.
    Retry {
        /// Of this table.
        table: TableName,
        /// These.
        paths: Vec<FilePath>,
    },

    /// Plan and grant nothing new. What is leased goes on, and may finish and publish.
    Pause {
        /// In this table, or in all.
        table: Option<TableName>,
    },
    /// Plan and grant again. What was paused table by table is resumed table by table.
    Resume {
        /// In this table, or in all.
        table: Option<TableName>,
    },

    /// A policy of a table's owner wants a job.
    Propose(Propose),
    /// A worker has room: plan, and grant.
    Poll(Poll),
    /// Whoever works on the only range of a job has looked at its inputs, and wants others to help. Until this is answered
    /// it does not know what it works on: it asks again, and finishes nothing meanwhile.
    CutJob {
        /// The attempt.
        attempt: Attempt,
        /// Where, in strictly ascending order: keys below the first stay with this attempt.
        edges: Vec<Vec<u8>>,
    },
    /// A range is merged and durable.
    Finish(Finish),
    /// The outputs of a plain table's job are under their final names.
    Publish {
        /// The job.
        job: JobId,
        /// The lease on its publishing.
        token: Token,
        /// What each output is now, in order; `None` for one that is nowhere to be found.
        identities: Vec<Option<Identity>>,
    },
    /// A job of a table with an external catalog is to be committed there. Nothing is tried before this is answered with
    /// `MayCommit`, and nothing on another version. Whoever was told that another was first asks again with a newer one.
    BeginCommit(BeginCommit),
    /// What became of that.
    ReportCommit {
        /// The job.
        job: JobId,
        /// The lease on its commit.
        token: Token,
        /// What became of it.
        outcome: CommitOutcome,
    },
    /// An operator has looked whether a commit landed that nobody else can tell about.
    SettleCommit {
        /// The job.
        job: JobId,
        /// Whether the catalog holds it.
        landed: bool,
    },
    /// An attempt ends without a result.
    Release {
        /// The attempt.
        attempt: Attempt,
        /// Why.
        why: ReleaseReason,
        /// The inputs to blame, where the worker knows them, each with the reason.
        culprits: Vec<Quarantined>,
    },
    /// End a job without effect. Its files are not planned again before somebody asks with `Retry`.
    Cancel(JobId),

    /// Take a committed job back.
    Undo(Undo),
    /// What became of inputs of undone jobs that were to be copied back from where they were set aside.
    ReportReturned(Vec<Returned>),
    /// The receipts of these committed jobs are on the store.
    ReportReceipts(Vec<JobId>),
    /// The receipts of the jobs before this one, which may go, are gone.
    ReportReceiptsDeleted {
        /// The first that was kept.
        before: JobId,
    },
    /// The receipts of a table that is being dropped are gone.
    ReportTableReceiptsDeleted(TableName),

    /// A watcher is alive.
    Renew(WatcherId),
    /// A watcher's counter has stood still for the lease time, or its process is proved dead.
    TakeOver {
        /// Which watcher.
        watcher: WatcherId,
        /// Its counter, as it was seen to stand still.
        counter: Sequence,
        /// Who asks.
        by: WatcherId,
    },
    /// A watcher has not heard of its workers for the lease time, on its own clock. What was passed on or ended meanwhile
    /// is left as it is.
    Expire {
        /// The watcher.
        watcher: WatcherId,
        /// The attempts that it answers for.
        attempts: Vec<Attempt>,
    },
    /// Workers cannot reach their watcher and show their tokens.
    Rewatch {
        /// Who answers for them from now on.
        watcher: WatcherId,
        /// The attempts.
        attempts: Vec<Attempt>,
    },

    /// What became of the files that were to be set aside.
    ReportAside {
        /// Renamed, by the name they now have.
        moved: Vec<FilePath>,
        /// Gone or overwritten.
        nothing: Vec<FilePath>,
    },
    /// Put what has waited long enough on the deletion list.
    DeclareDue {
        /// Whether the grace period counts.
        grace: Grace,
    },
    /// These were deleted, or are not there.
    ReportDeleted {
        /// The state that the deletion list was read from. What was put on a list since then is another version, and nobody has
        /// deleted it yet.
        listed: Sequence,
        /// What is gone.
        paths: Vec<FilePath>,
    },
    /// An ended attempt's folders (`State::leftover_folders`) were listed.
    ReportSweep {
        /// The attempt.
        attempt: Attempt,
        /// What was found.
        found: Vec<FilePath>,
        /// Whether the grace period between two sweeps counts.
        grace: Grace,
    },
    /// A listing met objects of Baler's own form that nothing names.
    ReportLateWrites {
        /// The table.
        table: TableName,
        /// The last entry known when listing began.
        evidence: Sequence,
        /// These.
        paths: Vec<FilePath>,
    },

    /// Read a version of a native table, undisturbed.
    Pin {
        /// The table.
        table: TableName,
        /// Who.
        owner: Arc<str>,
        /// For how long at most.
        lifetime: Millis,
        /// Which version; the table as it stands, if none is named.
        version: Option<Sequence>,
    },
    /// Done reading.
    Unpin(PinId),
}

/// Whether a grace period is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// As the table says.
    Kept,
    /// The operator says that nobody reads the old files any more.
    Waived,
}

/// A worker asks for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    /// Who works.
    pub worker: WorkerId,
    /// Who will answer for its leases.
    pub watcher: WatcherId,
    /// Whether the watcher is the worker's own process.
    pub embedded: bool,
    /// How the watcher's death can be seen on its machine.
    pub host: Option<HostLock>,
    /// Ranges it could work on at once, beside those it has.
    pub slots: usize,
    /// Memory for them; `None` if that is not to be counted.
    pub memory: Option<Memory>,
    /// Whether it can run a merge in a child process, and outlive it.
    pub isolates: bool,
    /// What it is willing to work on.
    pub scope: Scope,
}

/// A job that a policy of the owner's wants, chosen on a state that may be old by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Propose {
    /// The table, whose policy is `Policy::Owner`.
    pub table: TableName,
    /// The last entry that the policy knew.
    pub evidence: Sequence,
    /// What to merge, oldest first: of two rows of a key the later one wins.
    pub inputs: Vec<FilePath>,
    /// The level of the outputs.
    pub output_level: Level,
    /// Why, in words.
    pub reason: Arc<str>,
}

/// A process that can reach a table's external catalog wants to commit a job there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginCommit {
    /// The job; `State::commits_due` names those that wait.
    pub job: JobId,
    /// The version of the catalog that the commit will build on.
    pub base: CatalogVersion,
    /// Who does it.
    pub worker: WorkerId,
    /// The same, as a watcher: it answers for itself.
    pub watcher: WatcherId,
    /// How its death can be seen on its machine.
    pub host: Option<HostLock>,
}

/// A committed job is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// The job.
    pub job: JobId,
    /// What a look at each input where it is kept (`State::kept`) says, in order. `None` is a 404.
    pub inputs_now: Vec<Option<Identity>>,
}

/// A range is merged, and everything it wrote is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finish {
    /// The job.
    pub job: JobId,
    /// Its range.
    pub range: RangeId,
    /// What was made, with the token that proves the right to.
    pub finished: Finished,
    /// For plain tables: what a HEAD of each input, begun after the merge, says. `None` is a 404. Only the last range of a
    /// job to be finished needs it: whoever is told that it lacks sends its result again with it.
    pub inputs_now: Option<Vec<Option<Identity>>>,
}
