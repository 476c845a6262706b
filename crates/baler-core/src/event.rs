//! What was decided. Events are all that is ever written: in the past tense, complete, and never reinterpreted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agenda::Tenant;
use crate::external::CatalogVersion;
use crate::file::{File, FilePath, Identity, Level};
use crate::ids::{
    JobId, JournalId, Partition, PinId, RangeId, Sequence, TableName, Token, WatcherId, WorkerId,
};
use crate::job::{CancelReason, DropsBefore, Finished, Why};
use crate::lease::HostLock;
use crate::names::Attempt;
use crate::range::Edge;
use crate::table::TableSpec;
use crate::time::{Millis, RowTime, StoreTime};

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Batch {
    /// Its number.
    pub sequence: Sequence,
    /// When the store wrote the entry before it, as far as the writer knows.
    pub parent_time: Option<StoreTime>,
    /// What was decided, in order. Each is applied on the state after those before it.
    pub events: Vec<Event>,
}

/// Something that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// A journal began here. Always the first event of the first entry.
    JournalCreated {
        /// Its id.
        journal: JournalId,
    },
    /// Nothing but the time was wanted: the next entry carries when this one was written.
    Ticked,

    /// A table began.
    TableCreated {
        /// Its name.
        table: TableName,
        /// What it is.
        spec: Arc<TableSpec>,
    },
    /// A table's settings changed, for jobs planned from now on.
    TableAltered {
        /// Its name.
        table: TableName,
        /// What it is now.
        spec: Arc<TableSpec>,
    },
    /// A native table was dropped, with all its files. Its jobs ended by events of their own before this one.
    TableDropped {
        /// Its name.
        table: TableName,
    },
    /// Files became live.
    FilesAdded {
        /// In this table.
        table: TableName,
        /// These.
        files: Vec<Arc<File>>,
    },
    /// Live files are gone or overwritten, by somebody else.
    FilesLost {
        /// From this table.
        table: TableName,
        /// These.
        paths: Vec<FilePath>,
    },
    /// Live files of a native table were dropped, because their newest rows are past the retention.
    FilesExpired {
        /// From this table.
        table: TableName,
        /// These.
        paths: Vec<FilePath>,
        /// All their rows are older than this.
        before: RowTime,
    },
    /// Consumed files are no longer where they were consumed.
    ConsumedGone {
        /// In this table.
        table: TableName,
        /// These.
        paths: Vec<FilePath>,
    },
    /// Files were marked as bad. A live one is no longer live in the planner's eyes, but stays where it is.
    FilesQuarantined {
        /// In this table.
        table: TableName,
        /// These.
        files: Vec<Quarantined>,
    },
    /// The marks were taken back, also those that keep the halves of a pair apart.
    QuarantineLifted {
        /// In this table.
        table: TableName,
        /// From these.
        paths: Vec<FilePath>,
    },

    /// Files are not planned again for a while, because a job that held them was ended on purpose.
    FilesPutOff {
        /// Of this table.
        table: TableName,
        /// These.
        paths: Vec<FilePath>,
        /// The job.
        job: JobId,
        /// For how long; `None` until somebody asks for them to be tried again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lasts: Option<Millis>,
        /// Why, in words.
        reason: Arc<str>,
    },
    /// The planner looked at partitions and found nothing to do. They need not be looked at again before they change.
    PartitionsRested {
        /// Of this table.
        table: TableName,
        /// Which planner it was: a newer one looks for itself.
        planner: u32,
        /// These.
        partitions: Vec<Rested>,
    },
    /// Nothing new is planned or granted from now on. What is leased goes on.
    Paused {
        /// In this table, or in all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        table: Option<TableName>,
    },
    /// That is over. A table that was paused by its name is resumed by its name.
    Resumed {
        /// In this table, or in all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        table: Option<TableName>,
    },

    /// A job was planned. Its inputs are held from now on.
    JobPlanned {
        /// Its number.
        job: JobId,
        /// Its table.
        table: TableName,
        /// Its partition.
        partition: Partition,
        /// What it will replace.
        inputs: Vec<FilePath>,
        /// The level of its outputs.
        output_level: Level,
        /// Why.
        why: Why,
        /// Rows that it may let go for their age.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drops: Option<DropsBefore>,
        /// Whether it runs alone, as half of a job that did.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        alone: bool,
        /// Whether its attempts are remembered and it leaves a receipt. Jobs from before there were receipts do not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        receipt: bool,
    },
    /// A worker may work on a range. The token is where this event stands.
    RangeLeased {
        /// Of this job.
        job: JobId,
        /// This range.
        range: RangeId,
        /// Who works.
        worker: WorkerId,
        /// Who answers for it.
        watcher: WatcherId,
        /// Whether the watcher's own process does the work.
        embedded: bool,
        /// How the watcher's death can be seen on its machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<HostLock>,
        /// Whose job it is, where the table says how to tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tenant: Tenant,
        /// Whether the worker can run a merge in a child process.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        isolates: bool,
    },
    /// A job that was one range is several. Whoever worked on it goes on with the first; the others are free.
    JobCut {
        /// The job.
        job: JobId,
        /// Where, in ascending order.
        edges: Vec<Edge>,
    },
    /// An attempt ended without a result.
    RangeReleased {
        /// The attempt.
        attempt: Attempt,
        /// Why.
        why: ReleaseReason,
    },
    /// An attempt finished its range; its outputs belong to the job.
    RangeFinished {
        /// Of this job.
        job: JobId,
        /// This range.
        range: RangeId,
        /// What it made.
        finished: Finished,
    },
    /// All ranges are finished. In a plain table the outputs took the inputs' place in the state, and must now be published;
    /// with an external catalog the commit there is due.
    JobCompacted {
        /// The job.
        job: JobId,
    },
    /// Every output is under its final name.
    JobPublished {
        /// The job.
        job: JobId,
        /// The lease it was published under.
        token: Token,
        /// The outputs' identities, in order.
        identities: Vec<Identity>,
    },
    /// The job is done.
    JobCommitted {
        /// The job.
        job: JobId,
    },
    /// A commit in the external catalog will be tried, on this version and no other.
    CommitTry {
        /// Of this job.
        job: JobId,
        /// The version.
        base: CatalogVersion,
    },
    /// Nobody but an operator can say whether a job's commit landed.
    CommitStuck {
        /// The job.
        job: JobId,
        /// Why, in words.
        reason: Arc<str>,
    },
    /// The external catalog refused the job, and none of its tries landed.
    JobFailed {
        /// The job.
        job: JobId,
        /// Why, in words.
        reason: Arc<str>,
    },
    /// A committed job was taken back: its outputs left the table, and its inputs are live again. What was set aside is
    /// copied back from now on.
    JobUndone {
        /// The job.
        job: JobId,
    },
    /// Inputs of undone jobs lie under their own names again, or are gone for good.
    InputsReturned {
        /// These.
        files: Vec<Returned>,
    },
    /// The job ended without effect.
    JobCancelled {
        /// The job.
        job: JobId,
        /// Why.
        why: CancelReason,
    },

    /// The receipts of these committed jobs are on the store.
    ReceiptsWritten {
        /// These.
        jobs: Vec<JobId>,
    },
    /// The receipts of all jobs before this one are old, and may be deleted from now on.
    ReceiptsRetired {
        /// The first whose receipt is kept.
        before: JobId,
    },
    /// They are gone.
    ReceiptsDeleted {
        /// The first that was kept.
        before: JobId,
    },
    /// All receipts of a dropped table are gone.
    TableReceiptsDeleted {
        /// The table.
        table: TableName,
    },

    /// A watcher is alive.
    WatcherRenewed {
        /// Which.
        watcher: WatcherId,
    },
    /// A watcher has stood still for too long. Leases it watched for itself were released by events of their own
    /// before this one; the others are now watched by another.
    WatcherTakenOver {
        /// Which.
        watcher: WatcherId,
        /// Who answers for what is left.
        by: WatcherId,
    },
    /// Workers that lost their watcher found another.
    LeasesRewatched {
        /// The attempts.
        attempts: Vec<Attempt>,
        /// Who answers for them now.
        watcher: WatcherId,
    },

    /// Replaced files were renamed out of the readers' sight.
    SetAside {
        /// Their names there.
        asides: Vec<FilePath>,
    },
    /// Replaced files were gone or overwritten before they could be set aside: nothing of them is left to delete.
    NothingToSetAside {
        /// The names they would have had.
        asides: Vec<FilePath>,
    },
    /// These may be deleted from now on, and by nobody else's decision.
    DeletionDue {
        /// Of this table.
        table: TableName,
        /// These.
        paths: Vec<FilePath>,
    },
    /// Replaced files that Baler did not name stay where they are: nothing can delete just that version of them.
    LeftInPlace {
        /// These.
        paths: Vec<FilePath>,
    },
    /// These are gone.
    Deleted {
        /// These.
        paths: Vec<FilePath>,
    },
    /// An ended attempt's folder was swept.
    LeftoverSwept {
        /// The attempt.
        attempt: Attempt,
        /// Whether there was nothing in it.
        empty: bool,
    },
    /// A second sweep did: nothing more is expected there.
    LeftoverForgotten {
        /// The attempt.
        attempt: Attempt,
    },

    /// A reader promised to be reading a version of the table.
    Pinned {
        /// The table.
        table: TableName,
        /// Who.
        owner: Arc<str>,
        /// For how long at most.
        lifetime: Millis,
        /// Which version; the one that this entry leads to, if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<Sequence>,
    },
    /// The reader is done.
    Unpinned {
        /// Which promise.
        pin: PinId,
    },
}

impl Event {
    /// The lowest format level whose versions know what it says. A journal's entries say this, and older versions stop there.
    pub fn level(&self) -> u32 {
        match self {
            Self::TableCreated { spec, .. } | Self::TableAltered { spec, .. } => spec.merge.hash.level(),
            _ => 1,
        }
    }
}

/// What became of a file that was set aside, and was to be copied back to where it lay.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Returned {
    /// Where it was set aside.
    pub aside: FilePath,
    /// Which version lies under its own name now; `None` if somebody removed it, and there is nothing to copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// A mark on a file: this version of it is not merged any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Quarantined {
    /// The file.
    pub path: FilePath,
    /// This version of it.
    pub identity: Identity,
    /// Why, in words.
    pub reason: Arc<str>,
}

/// A partition in which there is nothing to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rested {
    /// Which.
    pub partition: Partition,
    /// When that ends by itself, as files grow old and windows close.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<StoreTime>,
}

/// Why an attempt ended without a result. Against the job counts an `InputFault`, and a `ChildDied` of a range that ran
/// alone. `TakenOver`, `Stalled` and `Lost` blame nobody, but after two of them a range runs alone: see `Range::lost`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReleaseReason {
    /// The worker was asked to stop.
    Drained,
    /// Its watcher was taken over, and with it the worker.
    TakenOver,
    /// It renewed but moved nothing.
    Stalled,
    /// Its watcher, which lives, has not heard of it for the lease time.
    Lost,
    /// The child process that did the work died, and the worker lived to say so.
    ChildDied(Arc<str>),
    /// Something is wrong with the worker's machine: no space, no memory.
    NodeFault(Arc<str>),
    /// The store refused or failed.
    StoreFault(Arc<str>),
    /// Something is wrong with the inputs.
    InputFault(Arc<str>),
    /// An input is not what it was when the job was planned.
    InputsChanged,
}
