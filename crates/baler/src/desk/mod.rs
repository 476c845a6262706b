//! How a worker reaches the state machine: through a replica of its own, or through a coordinator. What a worker needs
//! to know comes with the grant; above this interface nobody looks into the state.
//!
//! ```text
//!  poll ─▶ Assignment ─▶ merge ─▶ tell(Finish) ─▶ publish ─▶ tell(Publish)
//!                          └── Leases: is it still mine, does it still move ──▶ tell(Release)
//! ```

mod leases;
mod own;
#[cfg(feature = "http")]
pub mod protocol;
#[cfg(feature = "http")]
mod remote;
mod words;

pub use leases::{End, Held, Holding, Leases};
pub use own::OwnDesk;
#[cfg(feature = "http")]
pub(crate) use own::assign;
#[cfg(feature = "http")]
pub use remote::{Client, Coordinator, Coordinators, RemoteDesk, worker_name};
pub use words::{Assignment, Offer, Phase, Progress, Room, Spent, Word};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use baler_core::ids::{JournalId, WorkerId};
use baler_core::request::Reply;
use baler_journal::JournalError;

/// How often a desk is asked by a worker with other roots, while there is nothing to do.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Where a worker asks for work and tells what became of it.
#[async_trait]
pub trait Desk: fmt::Debug + Send + Sync {
    /// The journal that the tokens are of.
    fn journal(&self) -> JournalId;

    /// Who asks, for people to read.
    fn worker(&self) -> &WorkerId;

    /// The attempts that are under way. Whoever answers for them marks those that are lost.
    fn leases(&self) -> &Arc<Leases>;

    /// Waits this long at most until there may be work for whom has this room, and keeps nothing meanwhile. Answers whether
    /// to ask for it.
    async fn stirred(&self, _room: Room, wait: Duration) -> Result<bool, DeskError> {
        // Nobody says anything by itself: it is asked now and then.
        tokio::time::sleep(crate::watch::jittered(wait.min(ASK_EVERY))).await;
        Ok(true)
    }

    /// Asks for work that there is room for, and waits this long for some to come up. Whoever drops the answer loses the
    /// leases in it until their time is over.
    async fn poll(&self, room: Room, wait: Duration) -> Result<Vec<Assignment>, DeskError>;

    /// Tells what became of an attempt, until it is heard.
    async fn tell(&self, word: Word) -> Result<Reply, DeskError>;

    /// The same, and asks for what there is room for in the same breath: one entry of the journal serves both.
    async fn tell_and_ask(&self, word: Word, room: Room) -> Result<(Reply, Vec<Assignment>), DeskError>;
}

/// Why a desk could not be reached, by what the worker should do.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// It may pass: try again later.
    #[error("{0:#}")]
    Passing(anyhow::Error),
    /// Trying again is of no use.
    #[error("{0:#}")]
    Lasting(anyhow::Error),
}

impl From<JournalError> for DeskError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Store(_) | JournalError::Contended(_) | JournalError::OutcomeUnknown(_) => {
                Self::Passing(error.into())
            }
            _ => Self::Lasting(error.into()),
        }
    }
}

impl From<anyhow::Error> for DeskError {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<JournalError>() {
            Ok(error) => error.into(),
            Err(error) => Self::Passing(error),
        }
    }
}
