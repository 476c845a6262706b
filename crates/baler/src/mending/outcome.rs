//! What a repair did, or would do.

use baler_core::ids::{JournalId, Sequence};
use serde::Serialize;

/// A file with what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The file.
    pub path: String,
    /// What is to be said.
    pub reason: String,
}

/// What a repair did, or would do.
#[derive(Clone, Debug, Serialize)]
pub struct Mended {
    /// The journal as it was; `None` where nothing of it could be read.
    pub before: Option<JournalId>,
    /// The new journal; `None` in a dry run.
    pub journal: Option<JournalId>,
    /// The entry it begins in.
    pub begins: Option<Sequence>,
    /// The snapshot that was built on; 0 for none.
    pub snapshot: Sequence,
    /// The last entry that could be applied.
    pub until: Sequence,
    /// Whether something was decided after it.
    pub cut: bool,
    /// Whether the folder is a copy of the root that the journal was written in.
    pub is_copy: bool,
    /// Jobs that were open and begin anew.
    pub jobs_ended: u64,
    /// Files that were on their way out and now stay, because they may have been brought back since.
    pub kept: u64,
    /// Outputs that were found by their names, and count.
    pub adopted: Vec<Named>,
    /// Second copies of rows: not merged; they can be removed.
    pub second_copies: Vec<Named>,
    /// Files that may hold the same rows as others: held until somebody decides.
    pub uncertain: Vec<Named>,
    /// Live files that are not there any more.
    pub gone: Vec<String>,
    /// Where the old journal was copied to; `None` in a dry run.
    pub backup: Option<String>,
    /// Objects copied there.
    pub copied: u64,
}

impl Mended {
    /// Whether nothing is left for anybody to decide.
    pub fn is_certain(&self) -> bool {
        self.second_copies.is_empty() && self.uncertain.is_empty()
    }
}
