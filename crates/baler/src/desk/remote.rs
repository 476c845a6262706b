//! A worker without a state: it asks a coordinator, and any other one where that is gone. Killing a coordinator stops no
//! merge while another one is there.

mod client;
mod coordinators;
mod place;
mod renewing;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::anyhow;
use async_trait::async_trait;
use baler_core::ids::{JournalId, WorkerId};
use baler_core::request::Reply;
use tokio::time::Instant;

use super::protocol::{self, Hello, PollAnswer, PollAsk};
use super::{Assignment, Desk, DeskError, Leases, Offer, Room, Spent, Word};
use crate::report::Cost;
use crate::site::Site;
pub use client::{Client, Coordinator};
pub use coordinators::Coordinators;
pub use place::worker_name;

/// How long a word about an attempt is tried to be delivered.
const TELL_PATIENCE: Duration = Duration::from_secs(60);

/// How long a worker looks for its first coordinator.
const CONNECT_PATIENCE: Duration = Duration::from_secs(30);

/// How long an answer may take, beyond what was asked to be waited for.
const ANSWER_MAX: Duration = Duration::from_secs(30);

const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A desk behind coordinators.
#[derive(Debug)]
pub struct RemoteDesk {
    coordinators: Arc<Coordinators>,
    /// Which of them is asked first.
    current: AtomicUsize,
    hello: Hello,
    worker: WorkerId,
    offer: Offer,
    leases: Arc<Leases>,
    /// Where its requests to stores are counted, once that is known.
    site: OnceLock<Site>,
}

impl RemoteDesk {
    /// Finds a coordinator among these, and learns from it which root it is about.
    pub async fn connect(
        urls: &[String],
        token: Option<&str>,
        worker: WorkerId,
        offer: Offer,
    ) -> Result<Self, DeskError> {
        let clients = urls.iter().map(|url| {
            let client = Client::new(url, token)?;
            Ok(Arc::new(client) as Arc<dyn Coordinator>)
        });
        let coordinators = clients.collect::<anyhow::Result<Vec<_>>>();
        let coordinators = coordinators.map_err(DeskError::Lasting)?;
        Self::connect_to(coordinators, worker, offer).await
    }

    /// The same where coordinators are reached in another way than by their URLs.
    pub async fn connect_to(
        coordinators: Vec<Arc<dyn Coordinator>>,
        worker: WorkerId,
        offer: Offer,
    ) -> Result<Self, DeskError> {
        let all = Coordinators::default();
        coordinators.into_iter().for_each(|one| all.join(one));
        Self::connect_among(Arc::new(all), worker, offer).await
    }

    /// The same among coordinators that may still become more.
    pub async fn connect_among(
        coordinators: Arc<Coordinators>,
        worker: WorkerId,
        offer: Offer,
    ) -> Result<Self, DeskError> {
        let begun = Instant::now();
        let mut pause = PAUSE_MIN;
        loop {
            let mut failed = None;
            for index in 0..coordinators.len() {
                match coordinators.get(index).hello().await {
                    Ok(hello) => {
                        return Ok(Self {
                            coordinators,
                            current: AtomicUsize::new(index),
                            hello,
                            worker,
                            offer,
                            leases: Arc::default(),
                            site: OnceLock::new(),
                        });
                    }
                    Err(DeskError::Passing(error)) => failed = Some(error),
                    Err(lasting) => return Err(lasting),
                }
            }
            let error = failed.unwrap_or_else(|| anyhow!("no coordinator was named"));
            if begun.elapsed() > CONNECT_PATIENCE {
                return Err(DeskError::Lasting(error.context("no coordinator answers")));
            }
            tracing::warn!("no coordinator answers yet: {error:#}");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// What the coordinator said about the root.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// How long a silent worker keeps its leases.
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.hello.lease_ms)
    }

    /// From now on it tells what was asked of these stores.
    pub fn works_in(&self, site: Site) {
        let _said_before = self.site.set(site);
    }

    fn spent(&self) -> Spent {
        self.site
            .get()
            .map_or_else(Spent::default, |site| Cost::so_far(site).spent())
    }

    fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// The coordinator that was tried is not there: another is asked first from now on, unless somebody chose already.
    fn pass_over(&self, tried: usize) {
        let next = (tried + 1) % self.coordinators.len();
        let _chosen_already =
            self.current
                .compare_exchange(tried, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    async fn ask(
        &self,
        room: Option<Room>,
        wait: Duration,
        updates: Vec<Word>,
    ) -> Result<PollAnswer, DeskError> {
        let ask = PollAsk {
            journal: self.hello.journal,
            worker: self.worker.clone(),
            slots: room.map_or(0, |room| room.slots),
            memory: room.map(|room| room.memory),
            offer: self.offer.clone(),
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            updates,
            spent: self.spent(),
        };
        let tried = self.current();
        let coordinator = self.coordinators.get(tried);
        let answer = coordinator.post(protocol::POLL, &ask, wait + ANSWER_MAX).await;
        if matches!(answer, Err(DeskError::Passing(_))) {
            self.pass_over(tried);
        }
        answer
    }
}

#[async_trait]
impl Desk for RemoteDesk {
    fn journal(&self) -> JournalId {
        self.hello.journal
    }

    fn worker(&self) -> &WorkerId {
        &self.worker
    }

    fn leases(&self) -> &Arc<Leases> {
        &self.leases
    }

    async fn poll(&self, room: Room, wait: Duration) -> Result<Vec<Assignment>, DeskError> {
        Ok(self.ask(Some(room), wait, Vec::new()).await?.assignments)
    }

    async fn tell(&self, word: Word) -> Result<Reply, DeskError> {
        Ok(self.tell_until_heard(word, None).await?.0)
    }

    async fn tell_and_ask(&self, word: Word, room: Room) -> Result<(Reply, Vec<Assignment>), DeskError> {
        self.tell_until_heard(word, Some(room)).await
    }
}

impl RemoteDesk {
    /// Said twice, a word counts once, so it is repeated until somebody has heard it.
    async fn tell_until_heard(
        &self,
        word: Word,
        room: Option<Room>,
    ) -> Result<(Reply, Vec<Assignment>), DeskError> {
        let begun = Instant::now();
        let mut pause = PAUSE_MIN;
        loop {
            match self.ask(room, Duration::ZERO, vec![word.clone()]).await {
                Ok(mut answer) => {
                    let unanswered = || DeskError::Lasting(anyhow!("an update was left unanswered"));
                    let reply = answer.replies.pop().ok_or_else(unanswered)?;
                    return Ok((reply, answer.assignments));
                }
                Err(DeskError::Passing(error)) if begun.elapsed() < TELL_PATIENCE => {
                    tracing::warn!("the end of an attempt could not be told yet: {error:#}");
                    tokio::time::sleep(crate::watch::jittered(pause)).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
