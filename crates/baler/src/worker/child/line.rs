//! What a parent and its child say to each other, a line of JSON each.

use std::path::PathBuf;
use std::time::Duration;

use baler_core::ids::JournalId;
use baler_core::request::Grant;
use baler_core::table::Catalog;
use serde::{Deserialize, Serialize};

use crate::desk::Progress;
use crate::store::{OutputSettings, Usage};
use crate::worker::engine::MergeEnd;

/// How often a child says how far it is. It says so also while it does not move.
pub(super) const TELL: Duration = Duration::from_millis(200);

/// What a child is to do, and all that it must know for it: it asks nobody about the state.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChildOrder {
    pub(super) root: String,
    pub(super) source: Option<String>,
    pub(super) outputs: OutputSettings,
    pub(super) cache: Option<CacheAt>,
    pub(super) journal: JournalId,
    pub(super) catalog: Catalog,
    pub(super) grant: Grant,
    pub(super) threads: usize,
    /// What the merge is to get along with.
    pub(super) memory_bytes: u64,
    pub(super) reread: bool,
    /// What the whole process may take, where that can be limited.
    pub(super) limit_bytes: Option<u64>,
    pub(super) task: Task,
}

/// Where its parent's cache lies.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CacheAt {
    pub(super) dir: PathBuf,
    pub(super) bytes_max: u64,
}

/// What a child is to do.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Task {
    /// Merge the range.
    Merge,
    /// Look where the job can be cut.
    Cut { ranges: usize },
}

/// What a child says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// It lives.
    Lives(Signs),
    /// It is done.
    Done(Signs, Said),
}

/// What comes of a child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    Ended(Box<MergeEnd>),
    Cut(Vec<Vec<u8>>),
}

/// How far a child is, counted from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Signs {
    pub(super) progress: Progress,
    /// Moves of any kind.
    pub(super) steps: u64,
    /// Time that its threads were computing, added up.
    pub(super) cpu_ms: u64,
    /// What it asked of each bucket of the site.
    pub(super) usages: Vec<Usage>,
}
