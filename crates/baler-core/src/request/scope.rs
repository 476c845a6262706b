//! What a worker is willing to work on.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::file::Level;
use crate::ids::{Partition, TableName};
use crate::table::MergeSpec;

/// What a worker is willing to work on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Only this table.
    pub table: Option<TableName>,
    /// Only these tables.
    pub tables: Option<BTreeSet<TableName>>,
    /// Only jobs whose lowest input is of one of these levels.
    pub levels: Option<RangeInclusive<Level>>,
    /// Only jobs with at most so many input bytes.
    pub max_job_bytes: Option<u64>,
    /// Only files of these formats.
    #[serde(default)]
    pub formats: Formats,
    /// Only these partitions.
    pub partitions: Option<BTreeSet<Partition>>,
    /// Plan no more input bytes than this.
    pub bytes_left: Option<u64>,
    /// Begin no more jobs than this.
    pub jobs_left: Option<usize>,
}

/// The formats that a worker knows. Whoever says nothing knows Baler's own and no other: a file of another one would look
/// damaged to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Formats {
    /// Baler's own.
    #[default]
    Parquet,
    /// These, by their names.
    Only(BTreeSet<Arc<str>>),
    /// Every one: for those who do not merge.
    Any,
}

impl Scope {
    /// Everything there is.
    pub fn everything() -> Self {
        Self {
            formats: Formats::Any,
            ..Self::default()
        }
    }

    /// Whether a job of this table and partition is inside.
    pub fn covers(&self, table: &TableName, partition: &Partition) -> bool {
        self.covers_table(table)
            && self
                .partitions
                .as_ref()
                .is_none_or(|only| only.contains(partition))
    }

    /// Whether something of this table may be inside.
    pub fn covers_table(&self, table: &TableName) -> bool {
        self.table.as_ref().is_none_or(|only| only == table)
            && self.tables.as_ref().is_none_or(|only| only.contains(table))
    }

    /// Whether files that are merged so are of a format that the worker knows.
    pub fn knows(&self, merge: &MergeSpec) -> bool {
        match &self.formats {
            Formats::Parquet => merge.format.is_none(),
            Formats::Only(these) => these.contains(merge.format()),
            Formats::Any => true,
        }
    }

    /// Whether a job of this level and size is inside. That is about merging: publishing is short, and for anybody.
    pub fn takes(&self, level: Level, bytes: u64) -> bool {
        let fits = self.levels.as_ref().is_none_or(|only| only.contains(&level))
            && self.max_job_bytes.is_none_or(|max| bytes <= max);
        fits || crate::planted!(RoutesIgnored)
    }
}
