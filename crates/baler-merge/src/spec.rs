//! What a merge is asked to do: order, rule, shape of the outputs, and the budget it must keep.

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
    /// Outputs are closed at about this size; none is larger than a tenth above it, one row group aside.
    pub target_file_bytes: u64,
    /// Row groups have at most so many rows; fewer where the budget is small.
    pub row_group_rows: usize,
    /// How outputs are compressed.
    pub codec: Codec,
}

impl Default for MergeSpec {
    fn default() -> Self {
        Self {
            sort: Vec::new(),
            rule: Rule::KeepAll,
            target_file_bytes: 512 << 20,
            row_group_rows: 1 << 20,
            codec: Codec::Zstd(1),
        }
    }
}

/// What a merge may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Decoding, merging and encoding together stay near this.
    pub memory_bytes: u64,
    /// Threads a merge may use, its own included.
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
