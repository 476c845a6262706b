//! What a remote worker and a coordinator send each other: JSON over HTTP, below `/v1`. A token is always shown together
//! with the journal that it is of.

use baler_core::ids::{JournalId, WorkerId};
use baler_core::names::Attempt;
use baler_core::request::{Memory, Reply};
use serde::{Deserialize, Serialize};

use super::{Assignment, Offer, Progress, Spent, Word};
use crate::store::OutputSettings;
use crate::watch::Verdict;

/// `GET`: what a worker must know before it asks for work.
pub const HELLO: &str = "/v1/root";
/// `POST`: what became of attempts, and a wish for more work.
pub const POLL: &str = "/v1/poll";
/// `POST`: signs of life, all of a worker's in one.
pub const RENEW: &str = "/v1/renew";
/// `POST`: the same, to somebody who has not answered for them so far.
pub const REWATCH: &str = "/v1/rewatch";

/// Raised when older workers and coordinators would misunderstand newer ones.
pub const VERSION: u32 = 1;

/// What a worker must know before it asks for work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// How it speaks.
    pub version: u32,
    /// Where the root lies, as the coordinator opened it.
    pub root: String,
    /// The root's journal.
    pub journal: JournalId,
    /// How long a silent worker keeps its leases.
    pub lease_ms: u64,
    /// What outputs in a bucket are marked with.
    #[serde(default)]
    pub outputs: OutputSettings,
}

/// What became of attempts, and a wish for more work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PollAsk {
    /// The journal that all tokens in here are of.
    pub journal: JournalId,
    /// Who asks.
    pub worker: WorkerId,
    /// Attempts it could begin.
    pub slots: usize,
    /// Memory for them; not counted where nothing is said.
    #[serde(default)]
    pub memory: Option<Memory>,
    /// What it can do, and is willing to.
    #[serde(default)]
    pub offer: Offer,
    /// How long it would wait for work to come up.
    pub wait_ms: u64,
    /// What became of attempts.
    #[serde(default)]
    pub updates: Vec<Word>,
    /// What it has asked of stores since it began.
    #[serde(default)]
    pub spent: Spent,
}

/// What a poll is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PollAnswer {
    /// One for each update, in order.
    pub replies: Vec<Reply>,
    /// Ranges to work on.
    pub assignments: Vec<Assignment>,
}

/// Signs of life.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RenewAsk {
    /// The journal that the tokens are of.
    pub journal: JournalId,
    /// Who lives.
    pub worker: WorkerId,
    /// What it works on, and how far it is.
    pub leases: Vec<(Attempt, Progress)>,
    /// What it has asked of stores since it began.
    #[serde(default)]
    pub spent: Spent,
}

/// What signs of life are answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RenewAnswer {
    /// One for each lease, in order.
    pub verdicts: Vec<Verdict>,
}
