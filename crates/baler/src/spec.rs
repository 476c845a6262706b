//! The core's words for merging, in the engine's words. Neither of the two knows the other.

use std::io;
use std::sync::Arc;

use baler_core::file::{Digest, File, FilePath, Identity, KeyRange};
use baler_core::ids::Partition;
use baler_core::job::{Dropped, Edge, Job, Span};
use baler_core::stretch::{Stretch, Way};
use baler_core::table::{Codec, MergeSpec, RowHash, Rule, SortColumn, TableSpec};
use baler_core::time::{RowTime, TimeRange};
use baler_merge::{EpochUnit, Facts, FileError, KeySpan, ProvedStretch, TimeColumn};
use bytes::Bytes;

use crate::depot::Input;

/// A job's spec for the engine. What may be dropped for its age was fixed when the job was planned.
pub fn for_engine(job: &Job) -> baler_merge::MergeSpec {
    let spec = &*job.merge;
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
        row_time: spec.row_time.as_deref().map(time_column),
        deleted: deleted_for_engine(job),
        expire: expire_for_engine(job),
        target_file_bytes: spec.target_bytes,
        row_group_rows: usize::try_from(spec.row_group_rows).unwrap_or(usize::MAX),
        codec,
        hash: hash_for_engine(spec.hash),
        decode_all: false,
    }
}

/// How rows are hashed, for the engine.
pub fn hash_for_engine(hash: RowHash) -> baler_merge::RowHash {
    match hash {
        RowHash::Xxh3 => baler_merge::RowHash::Xxh3,
        RowHash::Weighted => baler_merge::RowHash::Weighted,
    }
}

/// The keys of a range, for the engine.
pub fn span_for_engine(span: &Span) -> KeySpan {
    let edge = |edge: &Option<Edge>| edge.as_ref().map(|edge| edge.0.to_vec());
    KeySpan {
        from: edge(&span.from),
        until: edge(&span.until),
    }
}

/// Tombstones stay as rows unless the job may drop them.
fn deleted_for_engine(job: &Job) -> Option<baler_merge::Deleted> {
    let cut = job.drops.as_ref().and_then(|drops| drops.deleted.as_ref());
    let column = job.merge.deleted.as_ref()?;
    Some(baler_merge::Deleted {
        column: column.to_string(),
        drop_before: cut.map(|cut| baler_merge::RowTime(cut.before.unix_ms)),
    })
}

fn expire_for_engine(job: &Job) -> Option<baler_merge::Expire> {
    let cut = job.drops.as_ref()?.expired.as_ref()?;
    Some(baler_merge::Expire {
        column: time_column(&cut.column),
        before: baler_merge::RowTime(cut.before.unix_ms),
    })
}

/// A column that holds times, as the user writes it: `ts`, or with the unit of plain integers `ts:ms`.
fn time_column(text: &str) -> TimeColumn {
    let with_unit = text
        .rsplit_once(':')
        .and_then(|(name, unit)| Some((name, epoch_unit(unit)?)));
    match with_unit {
        Some((name, unit)) => TimeColumn {
            name: name.to_owned(),
            integer_unit: Some(unit),
        },
        None => TimeColumn::new(text),
    }
}

fn epoch_unit(text: &str) -> Option<EpochUnit> {
    match text {
        "s" => Some(EpochUnit::Seconds),
        "ms" => Some(EpochUnit::Milliseconds),
        "us" => Some(EpochUnit::Microseconds),
        "ns" => Some(EpochUnit::Nanoseconds),
        _ => None,
    }
}

/// The name of a column that holds times, without its unit.
pub fn time_column_name(text: &str) -> String {
    time_column(text).name
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
#[derive(Clone, Debug, Default)]
pub struct Asked {
    bounds: Vec<baler_merge::SortColumn>,
    row_time: Option<TimeColumn>,
    constants: Vec<String>,
}

impl Asked {
    /// What a table needs to know of its files.
    pub fn for_table(spec: &TableSpec) -> Self {
        Self {
            bounds: bounds_for_engine(&spec.merge),
            row_time: spec.merge.row_time.as_deref().map(time_column),
            constants: spec
                .tenant
                .iter()
                .chain(&spec.shard)
                .map(ToString::to_string)
                .collect(),
        }
    }

    /// Nothing but whether it can be read, and its rows.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Reads the footer.
    pub fn inspect(&self, input: &Arc<dyn Input>) -> Result<Facts, FileError> {
        let asked = baler_merge::Asked {
            sort: &self.bounds,
            row_time: self.row_time.as_ref(),
            constants: &self.constants,
        };
        baler_merge::inspect(&input_for_engine(input.clone()), &asked)
    }
}

/// A file as the engine reads it.
pub fn input_for_engine(input: Arc<dyn Input>) -> Arc<dyn baler_merge::Input> {
    Arc::new(EngineInput(input))
}

struct EngineInput(Arc<dyn Input>);

impl baler_merge::Input for EngineInput {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.0.read_at(offset, length)
    }
}

/// A file that somebody else wrote, as its footer describes it.
pub fn foreign_file(path: FilePath, identity: Identity, partition: Partition, facts: &Facts) -> File {
    File {
        partition,
        keys: facts.keys.as_ref().map(key_range_of),
        times: facts.times.map(times_of),
        ..File::found(path, identity, facts.rows)
    }
}

/// A rule that let rows go, in the core's words.
pub fn rule_of(rule: &str) -> &'static str {
    match rule {
        baler_merge::DELETED => Dropped::DELETED,
        baler_merge::EXPIRED => Dropped::EXPIRED,
        _ => Dropped::LAST_WRITE_WINS,
    }
}

/// Times that the engine found, for the state.
pub fn times_of(times: baler_merge::RowTimes) -> TimeRange {
    let row_time = |time: baler_merge::RowTime| RowTime { unix_ms: time.0 };
    TimeRange {
        min: row_time(times.min),
        max: row_time(times.max),
    }
}

/// The way that a stretch went, for the state.
pub fn way_of(way: baler_merge::Way) -> Way {
    match way {
        baler_merge::Way::Copied => Way::Copied,
        baler_merge::Way::Stitched => Way::Stitched,
        baler_merge::Way::Merged => Way::Merged,
    }
}

/// A stretch that the engine proved, for the state.
pub fn stretch_of(stretch: &ProvedStretch) -> Stretch {
    Stretch {
        way: way_of(stretch.way),
        why: stretch.why.into(),
        stretches: 1,
        rows: stretch.rows,
        read: digest_of(stretch.read),
        written: digest_of(stretch.written),
        dropped: digest_of(stretch.dropped),
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
