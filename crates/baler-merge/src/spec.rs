//! What a merge is asked to do: order, rules, shape of the outputs, and the budget it must keep.
//!
//! Watermarks are absolute and frozen by the caller: the engine reads no clock.

use crate::row_hash::RowHash;
use crate::row_time::{RowTime, TimeColumn};

/// One column of a sort key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortColumn {
    /// Name of a top-level column.
    pub name: String,
    /// Largest first.
    pub descending: bool,
    /// Nulls before all values, else after them.
    pub nulls_first: bool,
}

impl SortColumn {
    /// Ascending, nulls first.
    pub fn ascending(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            descending: false,
            nulls_first: true,
        }
    }
}

/// Which rows survive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Every row of every input.
    KeepAll,
    /// Of the rows with equal key only the one with the greatest version. Null versions are the oldest, NaN the newest.
    /// Where versions are equal the later input wins, within an input the later row.
    LastWriteWins {
        /// Columns that make the key: a prefix of the sort key, or the sort key itself where that is empty.
        key: Vec<String>,
        /// The column that says which row is newer.
        version: String,
    },
}

/// Which rows are tombstones: their newest stands for "this key is deleted". Needs last write wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// A column of booleans, or of integers 0 and 1. True or 1 is a tombstone; null, false, 0 and an absent column are alive.
    pub column: String,
    /// Tombstones whose row time is before this go, and their key with them; those without a time stay. None: all stay as
    /// rows. Give one only if the merge holds every file in which an older version could lie or still arrive.
    pub drop_before: Option<RowTime>,
}

/// Rows past their time. Under last write wins the newest row of a key decides for all of it, tombstones aside: these go
/// as [`Deleted`] says; so give an expiry there only under the same condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expire {
    /// The column that says how old a row is. Rows without a time never expire.
    pub column: TimeColumn,
    /// Rows before this go.
    pub before: RowTime,
}

/// How pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Zstandard of a level from 1 to 22.
    Zstd(i32),
    /// Snappy.
    Snappy,
    /// LZ4, the raw variant that Parquet calls LZ4_RAW.
    Lz4,
    /// No compression.
    None,
}

/// What to make of the inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeSpec {
    /// The order of the outputs. Empty: the order that all inputs declare, if they keep it, else input order.
    pub sort: Vec<SortColumn>,
    /// Which rows survive.
    pub rule: Rule,
    /// The column that says when a row happened: bounds of it are reported, tombstones are dropped by it.
    pub row_time: Option<TimeColumn>,
    /// Which rows are tombstones.
    pub deleted: Option<Deleted>,
    /// Which rows are past their time.
    pub expire: Option<Expire>,
    /// Outputs are closed at about this size; none is larger than a tenth above it, one row group aside.
    pub target_file_bytes: u64,
    /// Row groups have at most so many rows; fewer where the budget is small.
    pub row_group_rows: usize,
    /// How outputs are compressed.
    pub codec: Codec,
    /// How rows are hashed for digests.
    pub hash: RowHash,
    /// Every row is decoded and encoded anew, so that it stands in the digest of its output. Nothing is copied as bytes.
    pub decode_all: bool,
}

impl Default for MergeSpec {
    fn default() -> Self {
        Self {
            sort: Vec::new(),
            rule: Rule::KeepAll,
            row_time: None,
            deleted: None,
            expire: None,
            target_file_bytes: 512 << 20,
            row_group_rows: 1 << 20,
            codec: Codec::Zstd(1),
            hash: RowHash::default(),
            decode_all: false,
        }
    }
}

/// What a merge may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Decoding, merging and encoding together stay near this.
    pub memory_bytes: u64,
    /// Threads a merge may use, its own included; those that only wait for reads are not counted.
    pub threads: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            memory_bytes: 512 << 20,
            threads: 1,
        }
    }
}
