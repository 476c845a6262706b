//! State and journal together: catch up, decide, append, apply, reply. The loop runs in a task of its own; handles
//! to it are cheap to clone.

mod catch_up;
mod company;
mod draft;
mod serve;
mod snapshots;
mod states;

use std::sync::Arc;
use std::time::Duration;

use baler_core::request::{Reply, Request};
use baler_core::state::State;
use tokio::sync::{mpsc, oneshot};

use crate::error::JournalError;
use crate::host;
use crate::journal::Journal;
use crate::limits;
use crate::object_log::Access;
use serve::Server;
pub use states::States;

/// How a replica behaves. The defaults are for production.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether it may write. A read-only one asks nothing but List and Get of the store.
    pub access: Access,
    /// Entries between two snapshots.
    pub snapshot_every: u64,
    /// How long it goes on offering a batch whose outcome is unknown before it stops for good.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            access: Access::ReadWrite,
            snapshot_every: limits::SNAPSHOT_EVERY,
            patience: limits::PATIENCE,
        }
    }
}

/// A handle to a replica. It ends when the last handle is dropped.
#[derive(Clone, Debug)]
pub struct Replica {
    asks: mpsc::Sender<Ask>,
    view: States,
    journal: Arc<dyn Journal>,
    access: Access,
}

/// What a handle asks of the loop.
#[derive(Debug)]
enum Ask {
    Submit {
        request: Box<Request>,
        answer: oneshot::Sender<Result<Reply, JournalError>>,
    },
    /// Nobody waits for it.
    Mention(Box<Request>),
    CatchUp {
        answer: oneshot::Sender<Result<(), JournalError>>,
    },
    Close {
        answer: oneshot::Sender<()>,
    },
}

impl Replica {
    /// Loads the state from the journal, and begins to serve it.
    pub async fn open(journal: Arc<dyn Journal>, settings: Settings) -> Result<Self, JournalError> {
        let access = settings.access;
        let (asks, queue) = mpsc::channel(limits::QUEUE_MAX);
        let (server, view) = Server::load(journal.clone(), settings, queue).await?;
        host::spawn(server.run());
        Ok(Self {
            asks,
            view,
            journal,
            access,
        })
    }

    /// Decides the request and returns the answer once its events are in the journal, or, if it has none, once the
    /// state it was decided on is known to be the latest. An error says whether something may have been written.
    ///
    /// The answer may take as long as the store does; whoever stops waiting has learnt nothing.
    pub async fn submit(&self, request: Request) -> Result<Reply, JournalError> {
        if self.access == Access::ReadOnly {
            return Err(JournalError::ReadOnly);
        }
        let request = Box::new(request);
        self.ask(|answer| Ask::Submit { request, answer }).await?
    }

    /// Has the request decided together with the next one that has something appended, for what is not worth an entry of its
    /// own. Nobody is answered, and it is forgotten with this replica: whoever asks looks at the state whether it was done.
    pub async fn mention(&self, request: Request) -> Result<(), JournalError> {
        if self.access == Access::ReadOnly {
            return Err(JournalError::ReadOnly);
        }
        let mention = Ask::Mention(Box::new(request));
        self.asks.send(mention).await.map_err(|_| JournalError::Stopped)
    }

    /// The state as this replica knows it. Others may have moved on.
    pub fn state(&self) -> Arc<State> {
        self.view.now()
    }

    /// Follows the states that this replica learns of.
    pub fn watch(&self) -> States {
        self.view.clone()
    }

    /// Reads what others appended until now, and returns the state after it.
    pub async fn catch_up(&self) -> Result<Arc<State>, JournalError> {
        self.ask(|answer| Ask::CatchUp { answer }).await??;
        Ok(self.state())
    }

    /// Answers what waits, finishes a snapshot that is being written, and stops.
    pub async fn close(self) {
        let _already_stopped = self.ask(|answer| Ask::Close { answer }).await;
    }

    /// The journal behind it.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Result<T, JournalError> {
        let (answer, answered) = oneshot::channel();
        self.asks
            .send(ask(answer))
            .await
            .map_err(|_| JournalError::Stopped)?;
        answered.await.map_err(|_| JournalError::Stopped)
    }
}
