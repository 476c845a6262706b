//! The core's words for merging, in the engine's words. Neither of the two knows the other.

use std::io;

use baler_core::file::{Digest, FilePath, KeyRange};
use baler_core::table::{Codec, MergeSpec, Rule, SortColumn};

use crate::folder::input::FolderInput;

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
        row_time: None,
        deleted: None,
        expire: None,
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
pub fn bounds_for_engine(spec: &MergeSpec) -> Vec<baler_merge::SortColumn> {
    let columns = match &spec.rule {
        Rule::KeepAll => spec.sort.len(),
        Rule::LastWriteWins { key, .. } => key.len(),
    };
    sort_for_engine(&spec.sort[..columns.min(spec.sort.len())])
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

/// A file of a folder, as the engine reads it.
pub struct NamedInput {
    name: String,
    input: FolderInput,
}

impl NamedInput {
    /// Under its path below the folder.
    pub fn new(path: &FilePath, input: FolderInput) -> Self {
        Self {
            name: path.to_string(),
            input,
        }
    }
}

impl baler_merge::Input for NamedInput {
    fn name(&self) -> &str {
        &self.name
    }
    fn len(&self) -> u64 {
        self.input.len()
    }
    fn read_at(&self, offset: u64, length: usize) -> io::Result<bytes::Bytes> {
        self.input.read_at(offset, length)
    }
}
