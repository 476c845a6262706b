//! A worker with a replica of its own: it asks the journal, and its own process answers for its leases.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use baler_core::ids::{JournalId, WorkerId};
use baler_core::request::{Grant, Poll, Reply, Scope};
use baler_journal::host;
use futures::future::join;

use super::{Assignment, Desk, DeskError, Leases, Offer, Room, Word};
use crate::root::Root;
use crate::watch::Watch;

/// A desk of its own.
#[derive(Debug)]
pub struct OwnDesk {
    root: Arc<Root>,
    watch: Arc<Watch>,
    worker: WorkerId,
    journal: JournalId,
    offer: Offer,
}

impl OwnDesk {
    /// For the worker of this process.
    pub fn new(root: Arc<Root>, watch: Arc<Watch>, offer: Offer) -> anyhow::Result<Self> {
        let journal = root.journal()?;
        let worker = WorkerId(format!("{}-{}", host::process(), watch.id()).into());
        Ok(Self {
            root,
            watch,
            worker,
            journal,
            offer,
        })
    }

    /// What this worker would ask for.
    pub fn ask(&self, room: Room, scope: Scope) -> Poll {
        Poll {
            worker: self.worker.clone(),
            watcher: self.watch.id(),
            embedded: true,
            host: None,
            slots: room.slots,
            memory: Some(room.memory),
            isolates: self.offer.isolates,
            scope,
        }
    }

    /// A grant, with what its worker must know.
    pub fn assign(&self, grant: Grant) -> anyhow::Result<Assignment> {
        assign(&self.root, grant)
    }
}

/// A grant, with what a worker without a state must know.
pub(crate) fn assign(root: &Root, grant: Grant) -> anyhow::Result<Assignment> {
    let state = root.replica.state();
    let table = state.tables.get(&grant.job.table);
    let catalog = table.context("the job's table is gone")?.spec.catalog.clone();
    Ok(Assignment { grant, catalog })
}

#[async_trait]
impl Desk for OwnDesk {
    fn journal(&self) -> JournalId {
        self.journal
    }

    fn worker(&self) -> &WorkerId {
        &self.worker
    }

    fn leases(&self) -> &Arc<Leases> {
        self.watch.leases()
    }

    async fn stirred(&self, room: Room, wait: Duration) -> Result<bool, DeskError> {
        let poll = self.ask(room, self.offer.scope.clone());
        Ok(self.watch.stirred(&poll, wait).await?)
    }

    async fn poll(&self, room: Room, wait: Duration) -> Result<Vec<Assignment>, DeskError> {
        let poll = self.ask(room, self.offer.scope.clone());
        self.watch
            .workers()
            .asks(&self.worker, room.slots, poll.memory.as_ref());
        let grants = self.watch.grant_within(poll, wait).await?;
        Ok(grants
            .into_iter()
            .map(|grant| self.assign(grant))
            .collect::<anyhow::Result<_>>()?)
    }

    async fn tell(&self, word: Word) -> Result<Reply, DeskError> {
        Ok(self.root.replica.submit(word.into()).await?)
    }

    async fn tell_and_ask(&self, word: Word, room: Room) -> Result<(Reply, Vec<Assignment>), DeskError> {
        // Both are submitted before either is decided, so that they share an append.
        let (told, asked) = join(self.tell(word), self.poll(room, Duration::ZERO)).await;
        // What was told counts, whatever became of the wish.
        let assignments = asked.unwrap_or_else(|error| {
            tracing::warn!("no work comes with the answer: {error}");
            Vec::new()
        });
        Ok((told?, assignments))
    }
}
