//! What workers and those who grant them work say to each other.

use baler_core::event::{Quarantined, ReleaseReason};
use baler_core::file::Identity;
use baler_core::ids::{JobId, Token};
use baler_core::names::Attempt;
use baler_core::request::{Finish, Grant, Memory, Request, Scope};
use baler_core::table::Catalog;
use serde::{Deserialize, Serialize};

/// What a worker can do, and is willing to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Offer {
    /// Whether it can run a merge in a child process, and outlive it.
    #[serde(default)]
    pub isolates: bool,
    /// What it is willing to work on.
    #[serde(default)]
    pub scope: Scope,
}

/// What a worker has for what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Attempts that it could begin.
    pub slots: usize,
    /// Memory for them.
    pub memory: Memory,
}

/// A range to work on, with all that a worker without a state must know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The range.
    pub grant: Grant,
    /// Where the truth about the table's files is kept.
    pub catalog: Catalog,
}

/// What became of an attempt, or is to become of its job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Its job is large: cut here, so that others can help.
    Cut {
        /// The attempt.
        attempt: Attempt,
        /// Where, in ascending order.
        edges: Vec<Vec<u8>>,
    },
    /// Its range is merged and durable.
    Finish(Box<Finish>),
    /// The outputs of its job are under their final names.
    Publish {
        /// The job.
        job: JobId,
        /// The lease on its publishing.
        token: Token,
        /// What each output is now; `None` for one that is nowhere to be found.
        identities: Vec<Option<Identity>>,
    },
    /// It ends without a result.
    Release {
        /// The attempt.
        attempt: Attempt,
        /// Why.
        why: ReleaseReason,
        /// The inputs to blame.
        culprits: Vec<Quarantined>,
    },
}

impl From<Word> for Request {
    fn from(word: Word) -> Self {
        match word {
            Word::Cut { attempt, edges } => Self::CutJob { attempt, edges },
            Word::Finish(finish) => Self::Finish(*finish),
            Word::Publish {
                job,
                token,
                identities,
            } => Self::Publish {
                job,
                token,
                identities,
            },
            Word::Release {
                attempt,
                why,
                culprits,
            } => Self::Release {
                attempt,
                why,
                culprits,
            },
        }
    }
}

/// What an attempt is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Its inputs are being opened.
    #[default]
    Opening,
    /// Rows are read and written.
    Merging,
    /// The inputs are looked at once more, and the result is told.
    Finishing,
    /// Outputs are brought to their final names.
    Publishing,
}

/// How far an attempt is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// Rows read so far.
    pub rows: u64,
    /// Bytes of outputs written so far.
    pub bytes: u64,
    /// Bytes of its inputs that are worked off: reading is one half of the work, writing the other.
    #[serde(default)]
    pub done: u64,
    /// Bytes of its inputs that it is about; none while that is not known.
    #[serde(default)]
    pub total: u64,
}

/// What a process has asked of stores since it began, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Requests.
    pub requests: u64,
    /// Their list price, in US dollars.
    pub price_usd: f64,
}
