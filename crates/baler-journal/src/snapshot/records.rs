//! The messages of a snapshot. Tags are never reused; a reader passes over tags it does not know, so anything that a
//! reader must not miss raises the format. What is rare is JSON inside, as in the journal; what is a million is not.

use prost::{Message, Oneof};

/// The first message.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(uint32, tag = "1")]
    pub(super) format: u32,
    /// Absent before the journal began.
    #[prost(message, optional, tag = "2")]
    pub(super) journal: Option<Wide>,
    /// The last entry in it.
    #[prost(uint64, tag = "3")]
    pub(super) sequence: u64,
    /// That entry's checksum.
    #[prost(message, optional, tag = "4")]
    pub(super) entry: Option<Wide>,
    #[prost(uint32, tag = "5")]
    pub(super) next_index: u32,
    #[prost(uint64, tag = "6")]
    pub(super) time_ms: u64,
    #[prost(uint64, tag = "7")]
    pub(super) next_job: u64,
    /// The tenant whose range was granted last.
    #[prost(string, optional, tag = "8")]
    pub(super) turn: Option<String>,
    #[prost(bool, tag = "9")]
    pub(super) paused: bool,
    /// Receipts of jobs before this one may be deleted, or were.
    #[prost(uint64, tag = "10")]
    pub(super) receipts_retired: u64,
    #[prost(uint64, tag = "11")]
    pub(super) receipts_deleted: u64,
}

/// Every message after the header.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Record {
    #[prost(
        oneof = "Kind",
        tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27"
    )]
    pub(super) kind: Option<Kind>,
}

/// `Partition` to `Quarantined`, `Left`, `Rested` and `PutOff` belong to the table that came last, files also to the
/// partition that came last.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Kind {
    #[prost(message, tag = "1")]
    File(FileRecord),
    #[prost(message, tag = "2")]
    Table(TableRecord),
    #[prost(string, tag = "3")]
    Partition(String),
    #[prost(message, tag = "4")]
    Held(HeldRecord),
    #[prost(message, tag = "5")]
    Consumed(ConsumedRecord),
    #[prost(message, tag = "6")]
    Removed(RemovedRecord),
    #[prost(message, tag = "7")]
    Quarantined(QuarantinedRecord),
    #[prost(message, tag = "8")]
    Job(JobRecord),
    /// A `JobSummary` as JSON.
    #[prost(string, tag = "9")]
    Ended(String),
    #[prost(message, tag = "10")]
    Watcher(WatcherRecord),
    #[prost(message, tag = "11")]
    Garbage(GarbageRecord),
    #[prost(message, tag = "12")]
    Leftover(LeftoverRecord),
    #[prost(message, tag = "13")]
    Pin(PinRecord),
    #[prost(message, tag = "14")]
    Mark(MarkRecord),
    /// The last message.
    #[prost(message, tag = "15")]
    Trailer(Trailer),
    #[prost(message, tag = "16")]
    Left(LeftRecord),
    #[prost(message, tag = "24")]
    Rested(RestedRecord),
    #[prost(message, tag = "25")]
    PutOff(PutOffRecord),
    #[prost(message, tag = "26")]
    Committed(CommittedRecord),
    #[prost(message, tag = "27")]
    Undoing(UndoingRecord),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Trailer {
    /// Records before this one, the header not counted.
    #[prost(uint64, tag = "1")]
    pub(super) records: u64,
    /// Files among them.
    #[prost(uint64, tag = "2")]
    pub(super) files: u64,
    /// XXH3-128 of all bytes before this message, the header and the lengths included.
    #[prost(message, optional, tag = "3")]
    pub(super) checksum: Option<Wide>,
}

/// A number of 128 bits.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Wide {
    #[prost(fixed64, tag = "1")]
    pub(super) high: u64,
    #[prost(fixed64, tag = "2")]
    pub(super) low: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PathRecord {
    #[prost(string, tag = "1")]
    pub(super) path: String,
    /// Below the source, not the root.
    #[prost(bool, tag = "2")]
    pub(super) in_source: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct IdentityRecord {
    #[prost(string, tag = "1")]
    pub(super) tag: String,
    #[prost(uint64, tag = "2")]
    pub(super) bytes: u64,
    #[prost(uint64, tag = "3")]
    pub(super) modified_ms: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FileRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) path: Option<PathRecord>,
    #[prost(message, optional, tag = "2")]
    pub(super) identity: Option<IdentityRecord>,
    #[prost(uint32, tag = "3")]
    pub(super) level: u32,
    #[prost(uint64, tag = "4")]
    pub(super) rows: u64,
    #[prost(message, optional, tag = "5")]
    pub(super) keys: Option<KeysRecord>,
    #[prost(message, optional, tag = "6")]
    pub(super) digest: Option<Wide>,
    #[prost(message, optional, tag = "7")]
    pub(super) checksum: Option<Wide>,
    /// The job that wrote it; absent for a file that somebody else named.
    #[prost(uint64, optional, tag = "8")]
    pub(super) origin_job: Option<u64>,
    #[prost(uint64, tag = "9")]
    pub(super) added: u64,
    #[prost(uint64, optional, tag = "10")]
    pub(super) apart: Option<u64>,
    #[prost(message, optional, tag = "11")]
    pub(super) times: Option<TimesRecord>,
}

/// Milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct TimesRecord {
    #[prost(sint64, tag = "1")]
    pub(super) min_ms: i64,
    #[prost(sint64, tag = "2")]
    pub(super) max_ms: i64,
}

/// A file that an older version of the table shows.
#[derive(Clone, PartialEq, Message)]
pub(super) struct LeftRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) file: Option<FileRecord>,
    #[prost(string, tag = "2")]
    pub(super) partition: String,
    /// The entry in which it left.
    #[prost(uint64, tag = "3")]
    pub(super) at: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeysRecord {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) min: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) max: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TableRecord {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    /// A `TableSpec` as JSON.
    #[prost(string, tag = "2")]
    pub(super) spec: String,
    #[prost(uint64, tag = "3")]
    pub(super) remembered_from: u64,
    /// Absent in snapshots from before there were versions.
    #[prost(uint64, optional, tag = "4")]
    pub(super) readable_from: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) dropped: Option<u64>,
    #[prost(bool, tag = "6")]
    pub(super) paused: bool,
    /// The planner that found the partitions at rest.
    #[prost(uint32, tag = "7")]
    pub(super) planner: u32,
    /// Whether there may be receipts of its jobs.
    #[prost(bool, tag = "8")]
    pub(super) has_receipts: bool,
}

/// A partition that the planner need not look at.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RestedRecord {
    #[prost(string, tag = "1")]
    pub(super) partition: String,
    #[prost(uint64, optional, tag = "2")]
    pub(super) until_ms: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PutOffRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) path: Option<PathRecord>,
    /// A `PutOff` as JSON.
    #[prost(string, tag = "2")]
    pub(super) put_off: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct HeldRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) path: Option<PathRecord>,
    #[prost(uint64, tag = "2")]
    pub(super) job: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ConsumedRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) path: Option<PathRecord>,
    #[prost(message, optional, tag = "2")]
    pub(super) identity: Option<IdentityRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RemovedRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) path: Option<PathRecord>,
    #[prost(uint64, tag = "2")]
    pub(super) at: u64,
    /// The version whose rows are in outputs, if it was consumed.
    #[prost(message, optional, tag = "3")]
    pub(super) consumed: Option<IdentityRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct QuarantinedRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) path: Option<PathRecord>,
    #[prost(message, optional, tag = "2")]
    pub(super) identity: Option<IdentityRecord>,
    #[prost(string, tag = "3")]
    pub(super) reason: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct JobRecord {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(string, tag = "2")]
    pub(super) table: String,
    #[prost(string, tag = "3")]
    pub(super) partition: String,
    #[prost(message, repeated, tag = "4")]
    pub(super) inputs: Vec<FileRecord>,
    /// The inputs' partitions where they are not the job's: (place in `inputs`, partition).
    #[prost(btree_map = "uint32, string", tag = "5")]
    pub(super) other_partitions: std::collections::BTreeMap<u32, String>,
    #[prost(uint32, tag = "6")]
    pub(super) output_level: u32,
    /// `Why`, `MergeSpec`, `JobStatus`, `Vec<Range>` and `Range` as JSON.
    #[prost(string, tag = "7")]
    pub(super) why: String,
    #[prost(string, tag = "8")]
    pub(super) merge: String,
    #[prost(string, tag = "9")]
    pub(super) status: String,
    #[prost(string, tag = "10")]
    pub(super) ranges: String,
    #[prost(string, tag = "11")]
    pub(super) publish: String,
    #[prost(uint64, tag = "12")]
    pub(super) planned: u64,
    #[prost(uint32, tag = "13")]
    pub(super) input_faults: u32,
    #[prost(string, optional, tag = "14")]
    pub(super) last_error: Option<String>,
    /// `DropsBefore` as JSON.
    #[prost(string, optional, tag = "15")]
    pub(super) drops: Option<String>,
    /// `Tries` as JSON.
    #[prost(string, optional, tag = "16")]
    pub(super) tries: Option<String>,
    /// Whether it leaves a receipt.
    #[prost(bool, tag = "17")]
    pub(super) receipt: bool,
}

/// A committed job that is still remembered whole. Its outputs are in its partition.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CommittedRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) job: Option<JobRecord>,
    #[prost(message, repeated, tag = "2")]
    pub(super) outputs: Vec<FileRecord>,
    /// The entry that committed it.
    #[prost(uint64, tag = "3")]
    pub(super) ended: u64,
    /// Whether its receipt is known to be written.
    #[prost(bool, tag = "4")]
    pub(super) receipted: bool,
}

/// A job whose inputs are being brought back.
#[derive(Clone, PartialEq, Message)]
pub(super) struct UndoingRecord {
    #[prost(uint64, tag = "1")]
    pub(super) job: u64,
    #[prost(string, tag = "2")]
    pub(super) table: String,
    /// Files that are not back yet.
    #[prost(uint32, tag = "3")]
    pub(super) waiting: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatcherRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) id: Option<Wide>,
    /// A `Watcher` as JSON.
    #[prost(string, tag = "2")]
    pub(super) watcher: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GarbageRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) path: Option<PathRecord>,
    #[prost(string, tag = "2")]
    pub(super) table: String,
    /// 1 to be set aside, 2 waiting, 3 due, 4 ripe, 5 returning.
    #[prost(uint32, tag = "3")]
    pub(super) stage: u32,
    #[prost(uint64, tag = "4")]
    pub(super) since: u64,
    #[prost(uint64, tag = "5")]
    pub(super) added: u64,
    #[prost(uint64, tag = "6")]
    pub(super) replaced: u64,
    /// Where it lay, and which version; both or neither.
    #[prost(message, optional, tag = "7")]
    pub(super) original_path: Option<PathRecord>,
    #[prost(message, optional, tag = "8")]
    pub(super) original_identity: Option<IdentityRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeftoverRecord {
    #[prost(uint64, tag = "1")]
    pub(super) job: u64,
    /// The range of keys; absent for publishing.
    #[prost(uint32, optional, tag = "2")]
    pub(super) keys: Option<u32>,
    #[prost(uint64, tag = "3")]
    pub(super) token_sequence: u64,
    #[prost(uint32, tag = "4")]
    pub(super) token_index: u32,
    #[prost(uint64, tag = "5")]
    pub(super) since: u64,
    #[prost(bool, tag = "6")]
    pub(super) swept: bool,
    /// Absent in snapshots from before it was recorded.
    #[prost(string, optional, tag = "7")]
    pub(super) table: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PinRecord {
    /// The entry that made the promise.
    #[prost(uint64, tag = "1")]
    pub(super) entry: u64,
    #[prost(uint32, tag = "5")]
    pub(super) index: u32,
    #[prost(string, tag = "2")]
    pub(super) table: String,
    #[prost(string, tag = "3")]
    pub(super) owner: String,
    #[prost(uint64, tag = "4")]
    pub(super) lifetime_ms: u64,
    /// Absent where it is that of the entry.
    #[prost(uint64, optional, tag = "6")]
    pub(super) version: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct MarkRecord {
    #[prost(uint64, tag = "1")]
    pub(super) entry: u64,
    #[prost(uint64, tag = "2")]
    pub(super) time_ms: u64,
}
