//! The core's words for merging, in the engine's words. Neither of the two knows the other.

use std::sync::Arc;

use baler_core::file::{Digest, KeyRange};
use baler_core::table::{Codec, MergeSpec, Rule, SortColumn, TableSpec};

use baler_merge::{Facts, FileError, Input};

/// A job's spec for the engine.
pub fn for_engine(spec: &MergeSpec) -> baler_merge::MergeSpec {
    let rule = match &spec.rule {
        Rule::KeepAll => baler_merge::Rule::KeepAll,
        Rule::LastWriteWins { key, version } => baler_merge::Rule::LastWriteWins {
            key: key.iter().map(|column| column.to_string()).collect(),
            version: version.to_string(),
        },
    };
    let codec = match spec.codec {
        Codec::Zstd(level) => baler_merge::Codec::Zstd(level),
        Codec::Snappy => baler_merge::Codec::Snappy,
        Codec::None => baler_merge::Codec::None,
    };
    baler_merge::MergeSpec {
        sort: sort_for_engine(&spec.sort),
        rule,
        target_file_bytes: spec.target_bytes,
        row_group_rows: usize::try_from(spec.row_group_rows).unwrap_or(usize::MAX),
        codec,
    }
}

/// A sort key for the engine.
fn sort_for_engine(sort: &[SortColumn]) -> Vec<baler_merge::SortColumn> {
    let column = |column: &SortColumn| baler_merge::SortColumn {
        name: column.name.to_string(),
        descending: column.descending,
        nulls_first: column.nulls_first,
    };
    sort.iter().map(column).collect()
}

/// The columns by which files are told apart: under a keyed rule the key alone.
fn bounds_for_engine(spec: &MergeSpec) -> Vec<baler_merge::SortColumn> {
    let columns = match &spec.rule {
        Rule::KeepAll => spec.sort.len(),
        Rule::LastWriteWins { key, .. } => key.len(),
    };
    sort_for_engine(&spec.sort[..columns.min(spec.sort.len())])
}

/// What is asked of a file's footer.
#[derive(Clone, Debug)]
pub struct Asked {
    bounds: Vec<baler_merge::SortColumn>,
}

impl Asked {
    /// What a table needs to know of its files.
    pub fn for_table(spec: &TableSpec) -> Self {
        Self {
            bounds: bounds_for_engine(&spec.merge),
        }
    }

    /// Nothing but whether it can be read, and its rows.
    pub fn nothing() -> Self {
        Self { bounds: Vec::new() }
    }

    /// Reads the footer.
    pub fn inspect(&self, input: &Arc<dyn Input>) -> Result<Facts, FileError> {
        baler_merge::inspect(input, &self.bounds)
    }
}

/// A digest that the engine took, for the state.
pub fn digest_of(digest: baler_merge::Digest) -> Digest {
    Digest(u128::from_le_bytes(digest.to_bytes()))
}

/// Bounds that the engine found, for the state.
pub fn key_range_of(keys: &baler_merge::KeyRange) -> KeyRange {
    KeyRange {
        min: keys.min.clone().into(),
        max: keys.max.clone().into(),
    }
}
