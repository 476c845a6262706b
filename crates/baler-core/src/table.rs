//! A table: a named set of files with a policy, a merge spec and a catalog.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::file::{File, Level};
use crate::ids::Partition;
use crate::limits;
use crate::time::{Millis, StoreTime};

/// What a table is, as its owner set it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TableSpec {
    /// Where the truth about its live files is kept.
    pub catalog: Catalog,
    /// Which files are merged, and when.
    #[serde(default)]
    pub policy: Policy,
    /// How they are merged. Each job carries the spec it was planned with.
    pub merge: Arc<MergeSpec>,
    /// How long replaced and left-over objects stay.
    pub grace: Millis,
    /// What to do with a consumed path that holds something new.
    #[serde(default)]
    pub rewritten: Rewritten,
    /// What becomes of a file whose rows are in outputs.
    #[serde(default)]
    pub replaced: Replaced,
    /// The owner's promise that no name is ever used twice: where a store cannot delete by condition, a last look is
    /// enough then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_once: bool,
    /// Files whose newest row is older than this may be dropped; see `Request::ApplyRetention`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Millis>,
    /// The `key=value` part of a partition that says whose files these are. Tenants take turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Arc<str>>,
    /// The `key=value` part of a partition that merely spreads the load of writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Arc<str>>,
    /// Outputs of this level and above leave their shard, and are merged with those of the other shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_shard_from: Option<Level>,
}

impl TableSpec {
    /// A table of which nothing else was said.
    pub fn of(catalog: Catalog) -> Self {
        Self {
            catalog,
            policy: Policy::default(),
            merge: Arc::default(),
            grace: limits::GRACE_DEFAULT,
            rewritten: Rewritten::default(),
            replaced: Replaced::default(),
            names_once: false,
            retention: None,
            tenant: None,
            shard: None,
            cross_shard_from: None,
        }
    }

    /// The same with digests by another hash.
    #[must_use]
    pub fn with_hash(&self, hash: RowHash) -> Self {
        let merge = MergeSpec {
            hash,
            ..MergeSpec::clone(&self.merge)
        };
        Self {
            merge: Arc::new(merge),
            ..self.clone()
        }
    }

    /// Whose files lie in this partition, where the table says how to tell.
    pub fn tenant_of(&self, partition: &Partition) -> Option<Arc<str>> {
        let key = self.tenant.as_deref()?;
        partition.value_of(key).map(Into::into)
    }

    /// Whether a file of a shard is merged with those of the other shards: its next merge makes that level, or it has
    /// waited long enough for company in its shard.
    pub fn leaves_shard(&self, file: &File, now: StoreTime) -> bool {
        self.cross_shard_from.is_some_and(|from| {
            file.level.up() >= from || now.since(file.identity.modified) >= self.policy.age()
        })
    }

    /// Where the outputs of a job in this partition go.
    pub fn output_partition(&self, partition: &Partition, output_level: Level) -> Partition {
        let leaves = self.cross_shard_from.is_some_and(|from| output_level >= from);
        let family = leaves.then(|| self.family_of(partition)).flatten();
        family.unwrap_or_else(|| partition.clone())
    }

    /// The partition that the shards of this one have in common, if files ever leave their shard.
    pub fn family_of(&self, partition: &Partition) -> Option<Partition> {
        self.cross_shard_from?;
        let key = self.shard.as_deref()?;
        partition.value_of(key).map(|_| partition.without(key))
    }
}

/// Where the truth about a table's live files is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Catalog {
    /// In the journal. Readers ask Baler which files there are.
    Native,
    /// In the folder: readers list it, writers drop files into it. Outputs replace inputs where they lie.
    InPlace,
    /// In a catalog of the table's owner. Jobs commit there, by `Request::BeginCommit`; the state follows.
    External,
    /// Files of a source folder, compacted into this root. The source is never written to.
    Output {
        /// The source, as it was given and made absolute. Another one is refused.
        source: Arc<str>,
    },
}

impl Catalog {
    /// Whether outputs must be brought to their final names before the job counts as committed.
    pub fn publishes(&self) -> bool {
        !matches!(self, Self::Native | Self::External)
    }
}

/// What to do when a path that was consumed from a source holds another version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rewritten {
    /// Leave it, and say so: its old rows are in the outputs already.
    #[default]
    Report,
    /// Take it as a new file. Right for keyed tables, where the newest row wins.
    Add,
}

/// What becomes of a file whose rows are in outputs. `garbage` draws the ways.
///
/// In a native table nobody sees a replaced file but readers of older versions, so the grace period counts whatever is
/// said here; what Baler named itself is deleted by name whatever is said here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Replaced {
    /// It is renamed out of sight and deleted after the grace period: for directories.
    #[default]
    SetAside,
    /// It is deleted at once, in the version that was consumed: for stores, where nothing can be renamed.
    Delete,
    /// The same, after it was copied to `names::kept` below this prefix.
    Keep {
        /// Below the root, in a folder whose name begins with `_` or `.`; or a URL.
        prefix: Arc<str>,
    },
    /// It stays: the store cannot delete by condition, and a name may be used again. The version stays known as
    /// consumed, so that no listing brings its rows back; another version under the name is a new file.
    Remember,
}

/// How the rows of a job become its outputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MergeSpec {
    /// The order of the outputs; empty where none is asked for.
    #[serde(default)]
    pub sort: Vec<SortColumn>,
    /// Which rows stay.
    #[serde(default)]
    pub rule: Rule,
    /// Outputs are rolled at this size.
    pub target_bytes: u64,
    /// Rows in a row group, at most.
    pub row_group_rows: u64,
    /// How outputs are compressed.
    #[serde(default)]
    pub codec: Codec,
    /// The column that holds a row's time: what files' `times` are bounds of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_time: Option<Arc<str>>,
    /// A row in which this boolean column is true is a tombstone: it takes older versions of its key away, and goes
    /// itself when nothing is left that it could take away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Arc<str>>,
    /// Rows go when they are old enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire: Option<Expire>,
    /// The writers' promise: no row comes into the table later than this after its row time, and versions of a key
    /// grow with it. A keyed table needs it before a tombstone or an expired row may go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Millis>,
    /// The files are not Parquet but of this format of the owner's: only workers that know it are granted its jobs, and
    /// outputs' names end in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Arc<str>>,
    /// Rules of the owner's by which rows may go or change, beside those above: of a compaction filter, of a merge operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_rules: Vec<Arc<str>>,
    /// What is asked of outputs before they count.
    #[serde(default, skip_serializing_if = "Verify::is_none")]
    pub verify: Verify,
    /// How rows are hashed for digests. A table keeps the hash that it began with, so that the digests of all its files can be compared
    /// with what jobs find in them.
    #[serde(default, skip_serializing_if = "RowHash::is_first")]
    pub hash: RowHash,
}

/// How Baler's own engine hashes rows for digests. Owners' formats have hashes of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RowHash {
    /// XXH3-128 of each value, and of their sum: what there was at format level 1.
    #[default]
    Xxh3,
    /// Each value times a factor, and their sum sealed. Needs format level 2.
    Weighted,
}

impl RowHash {
    /// The best that versions of Baler know which can open a root of this format level.
    pub fn at_level(level: u32) -> Self {
        match level {
            ..2 => Self::Xxh3,
            2.. => Self::Weighted,
        }
    }

    /// The lowest format level whose versions know it.
    pub fn level(self) -> u32 {
        match self {
            Self::Xxh3 => 1,
            Self::Weighted => 2,
        }
    }

    /// Whether nothing has to be said of it.
    pub fn is_first(&self) -> bool {
        *self == Self::Xxh3
    }
}

/// What is asked of outputs before they count, beside the proof that every commit has: the digests of what was read and of what the
/// encoder was handed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verify {
    /// Nothing more.
    #[default]
    None,
    /// Each is read back from the store, and has the digest of what the encoder was handed.
    Reread,
}

impl Verify {
    /// Whether nothing more is asked for.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// When rows go by themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Expire {
    /// The column that holds the time their age is counted from.
    pub column: Arc<str>,
    /// How old they get.
    pub after: Millis,
}

impl Default for MergeSpec {
    fn default() -> Self {
        Self {
            sort: Vec::new(),
            rule: Rule::KeepAll,
            target_bytes: limits::TARGET_BYTES_DEFAULT,
            row_group_rows: limits::ROW_GROUP_ROWS_DEFAULT,
            codec: Codec::default(),
            row_time: None,
            deleted: None,
            expire: None,
            lateness: None,
            format: None,
            own_rules: Vec::new(),
            verify: Verify::None,
            hash: RowHash::Xxh3,
        }
    }
}

impl MergeSpec {
    /// The format of files that say nothing else.
    pub const PARQUET: &'static str = "parquet";

    /// The name of the files' format.
    pub fn format(&self) -> &str {
        self.format.as_deref().unwrap_or(Self::PARQUET)
    }

    /// Whether equal keys in two files matter: with a keyed rule they must meet in one merge.
    pub fn is_keyed(&self) -> bool {
        !matches!(self.rule, Rule::KeepAll)
    }
}

/// One column of a sort key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SortColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Largest first.
    #[serde(default)]
    pub descending: bool,
    /// Nulls before all values.
    #[serde(default)]
    pub nulls_first: bool,
}

/// Which rows of the inputs stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// All of them.
    #[default]
    KeepAll,
    /// Of each key, the one with the greatest version.
    LastWriteWins {
        /// The key; a prefix of the sort key.
        key: Vec<Arc<str>>,
        /// The column whose greatest value wins.
        version: Arc<str>,
    },
}

/// How outputs are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Codec {
    /// Zstandard at a level.
    Zstd(i32),
    /// Snappy.
    Snappy,
    /// Not at all.
    None,
}

impl Default for Codec {
    fn default() -> Self {
        Self::Zstd(1)
    }
}

/// Which files are merged, and when. The code behind each is in `planner`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Policy {
    /// Files climb levels; see `planner::leveled`.
    Leveled(Leveled),
    /// Files of similar size are merged once there are enough; see `planner::size_tiered`.
    SizeTiered(SizeTiered),
    /// Files are merged within windows of their rows' times; see `planner::time_window`.
    TimeWindow(TimeWindow),
    /// A policy of the owner's chooses, outside: its jobs come by `Request::Propose`.
    Owner,
}

impl Policy {
    /// How long a small or overlapping file waits for company.
    pub fn age(&self) -> Millis {
        match self {
            Self::Leveled(settings) => settings.age,
            Self::SizeTiered(settings) => settings.age,
            Self::TimeWindow(settings) => settings.age,
            Self::Owner => Millis(u64::MAX),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::Leveled(Leveled::default())
    }
}

/// Settings of the `leveled` policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Leveled {
    /// Small files of one level that are merged once there are so many.
    pub files_per_level: u32,
    /// A small or overlapping file older than this is merged with whatever company it has.
    pub age: Millis,
    /// How many bytes of higher levels a byte from below may cause to be rewritten, to remove an overlap.
    pub fan_out: u32,
}

impl Default for Leveled {
    fn default() -> Self {
        Self {
            files_per_level: 2,
            age: limits::AGE_TRIGGER_DEFAULT,
            fan_out: 10,
        }
    }
}

/// Settings of the `size_tiered` policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SizeTiered {
    /// Files of one tier that are merged once there are so many.
    pub files_per_tier: u32,
    /// How many times larger than the files of one tier those of the next are.
    pub factor: u32,
    /// A small or overlapping file older than this is merged with whatever company it has.
    pub age: Millis,
}

impl Default for SizeTiered {
    fn default() -> Self {
        Self {
            files_per_tier: 4,
            factor: 4,
            age: limits::AGE_TRIGGER_DEFAULT,
        }
    }
}

/// Settings of the `time_window` policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeWindow {
    /// How long a window is. Windows begin at multiples of it, counted from 1970.
    pub window: Millis,
    /// How long after its end a window still waits for rows that are late.
    pub lateness: Millis,
    /// A small or overlapping file of a closed window, older than this, is merged with whatever company it has.
    pub age: Millis,
}

impl Default for TimeWindow {
    fn default() -> Self {
        Self {
            window: limits::WINDOW_DEFAULT,
            lateness: limits::LATENESS_DEFAULT,
            age: limits::AGE_TRIGGER_DEFAULT,
        }
    }
}
