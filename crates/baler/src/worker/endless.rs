//! A worker that goes on until it is asked to stop: it asks for work whenever it has a free slot, waits where there is none,
//! and backs off where its machine or the store fails.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use baler_core::event::ReleaseReason;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::attempt::Outcome;
use super::hands::Hands;
use crate::desk::{Assignment, Desk, DeskError, Word};
use crate::watch::jittered;

/// How long a poll waits for work to come up. A worker that is to stop waits for the answer, so as to lose no lease.
const POLL_WAIT: Duration = Duration::from_secs(5);

/// How soon it is noticed that the worker is to stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// What a worker has done so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Attempts under way.
    pub running: AtomicU64,
    /// Jobs committed.
    pub committed: AtomicU64,
    /// Bytes of the files that its jobs replaced.
    pub bytes_in: AtomicU64,
    /// Bytes of the files that replaced them.
    pub bytes_out: AtomicU64,
    /// Attempts that its machine or the store failed.
    pub faults: AtomicU64,
    /// Attempts begun.
    pub begun: AtomicU64,
    /// Polls that nobody answered.
    pub unanswered: AtomicU64,
    /// Why the last poll was not answered, if it was not.
    unreachable: Mutex<Option<String>>,
}

impl Tally {
    /// Why the last poll was not answered, if it was not.
    pub fn unreachable_for(&self) -> Option<String> {
        self.unreachable
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn polled(&self, error: Option<&DeskError>) {
        self.unanswered
            .fetch_add(u64::from(error.is_some()), Ordering::Relaxed);
        let mut unreachable = self.unreachable.lock().unwrap_or_else(PoisonError::into_inner);
        *unreachable = error.map(ToString::to_string);
    }
}

/// What a worker that goes on asks with, and begins attempts with.
pub trait Works: Clone + Send + Sync + 'static {
    /// Where it asks for work.
    fn desk(&self) -> &Arc<dyn Desk>;

    /// Whether to begin nothing new.
    fn is_draining(&self) -> bool;

    /// Ranges that come with the answer to an attempt's last word are sent here, before the attempt is over.
    fn hand_on(&mut self, next: mpsc::UnboundedSender<Assignment>);

    /// Begins an attempt. Its lease is held from now on.
    fn begin(
        &self,
        assignment: Assignment,
    ) -> impl Future<Output = Result<Outcome, DeskError>> + Send + 'static;
}

/// A worker that goes on.
#[derive(Debug)]
pub struct Endless<W = Hands> {
    hands: W,
    slots: usize,
    tally: Arc<Tally>,
}

type Polling = JoinHandle<Result<Vec<Assignment>, DeskError>>;

impl<W: Works> Endless<W> {
    /// With so many attempts at once.
    pub fn new(hands: W, slots: usize, tally: Arc<Tally>) -> Self {
        Self { hands, slots, tally }
    }

    /// Works until it is asked to stop; then it gives back what is not finished, and delivers what is.
    pub async fn run(mut self) -> anyhow::Result<()> {
        let (handed_on, mut next) = mpsc::unbounded_channel();
        self.hands.hand_on(handed_on);
        let mut running: JoinSet<Result<Outcome, DeskError>> = JoinSet::new();
        let mut polling: Option<Polling> = None;
        let (mut unreachable, mut faulty) = (Pause::default(), Pause::default());
        loop {
            while let Ok(assignment) = next.try_recv() {
                self.take(vec![assignment], &mut running).await?;
            }
            let free = self.slots.saturating_sub(running.len());
            if self.hands.is_draining() && running.is_empty() && polling.is_none() {
                return Ok(());
            }
            if polling.is_none() && free > 0 && !self.hands.is_draining() {
                polling = Some(self.poll(free, unreachable.length.max(faulty.length)));
            }
            tokio::select! {
                polled = join(&mut polling) => {
                    polling = None;
                    self.tally.polled(polled.as_ref().err());
                    match polled {
                        Ok(assignments) => {
                            unreachable = Pause::default();
                            self.take(assignments, &mut running).await?;
                        }
                        Err(error) => unreachable.after(error)?,
                    }
                }
                Some(ended) = running.join_next(), if !running.is_empty() => {
                    let ended = ended.map_err(|panic| anyhow!("a merge panicked: {panic}"))?;
                    match ended {
                        Ok(outcome) => self.count(outcome, &mut faulty),
                        Err(error) => faulty.after(error)?,
                    }
                }
                () = tokio::time::sleep(STOP_CHECK), if !self.hands.is_draining() => {}
            }
            self.tally.running.store(running.len() as u64, Ordering::Relaxed);
        }
    }

    /// In a task of its own: an answer that nobody waits for would be a lost lease.
    fn poll(&self, free: usize, pause: Duration) -> Polling {
        let hands = self.hands.clone();
        tokio::spawn(async move {
            let mut left = jittered(pause);
            while !left.is_zero() && !hands.is_draining() {
                tokio::time::sleep(STOP_CHECK.min(left)).await;
                left = left.saturating_sub(STOP_CHECK);
            }
            match hands.is_draining() {
                true => Ok(Vec::new()),
                false => hands.desk().poll(free, POLL_WAIT).await,
            }
        })
    }

    async fn take(
        &self,
        assignments: Vec<Assignment>,
        running: &mut JoinSet<Result<Outcome, DeskError>>,
    ) -> anyhow::Result<()> {
        for assignment in assignments {
            match self.hands.is_draining() {
                false => {
                    self.tally.begun.fetch_add(1, Ordering::Relaxed);
                    running.spawn(self.hands.begin(assignment));
                }
                true => self.give_back(assignment).await?,
            }
        }
        Ok(())
    }

    async fn give_back(&self, assignment: Assignment) -> Result<(), DeskError> {
        let word = Word::Release {
            attempt: assignment.grant.attempt(),
            why: ReleaseReason::Drained,
            culprits: vec![],
        };
        self.hands.desk().tell(word).await?;
        Ok(())
    }

    fn count(&self, outcome: Outcome, faulty: &mut Pause) {
        match outcome {
            Outcome::Committed(job) => {
                self.tally.committed.fetch_add(1, Ordering::Relaxed);
                self.tally.bytes_in.fetch_add(job.bytes_in, Ordering::Relaxed);
                self.tally.bytes_out.fetch_add(job.bytes_out, Ordering::Relaxed);
                *faulty = Pause::default();
            }
            Outcome::Cancelled | Outcome::Released => {}
            Outcome::NodeFault(error) | Outcome::StoreFault(error) | Outcome::Impossible(error) => {
                self.tally.faults.fetch_add(1, Ordering::Relaxed);
                tracing::warn!("an attempt failed: {error}");
                faulty.grow();
            }
        }
    }
}

/// Waits for a poll that is under way; for ever if none is.
async fn join(polling: &mut Option<Polling>) -> Result<Vec<Assignment>, DeskError> {
    match polling {
        None => std::future::pending().await,
        Some(polling) => match polling.await {
            Ok(polled) => polled,
            Err(panic) => Err(DeskError::Lasting(anyhow!("a poll panicked: {panic}"))),
        },
    }
}

/// How long to wait before the next poll: the longer, the more has failed in a row.
#[derive(Debug, Default)]
struct Pause {
    length: Duration,
}

impl Pause {
    fn grow(&mut self) {
        self.length = (self.length * 2).clamp(PAUSE_MIN, PAUSE_MAX);
    }

    fn after(&mut self, error: DeskError) -> anyhow::Result<()> {
        match error {
            DeskError::Passing(error) => {
                tracing::warn!("the next try comes later: {error:#}");
                self.grow();
                Ok(())
            }
            DeskError::Lasting(error) => Err(error),
        }
    }
}
