//! A worker that goes on until it is asked to stop: it asks for work whenever it has a free slot, waits where there is none,
//! and backs off where its machine or the store fails.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::anyhow;
use baler_core::event::ReleaseReason;
use baler_journal::host;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::attempt::Outcome;
use super::hands::{Handed, Hands};
use super::memory::Loan;
use super::slots::{Place, Pool, Slots};
use super::tally::Tally;
use crate::desk::{Assignment, Desk, DeskError, Word};
use crate::watch::jittered;

/// How long a poll waits for work to come up. A worker that is to stop waits for the answer, so as to lose no lease.
const POLL_WAIT: Duration = Duration::from_secs(5);

/// How long a root that shares its places may take to answer before it has to do without them.
const POLL_PATIENCE: Duration = Duration::from_secs(2);

/// How soon it is noticed that the worker is to stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// What a worker that goes on asks with, and begins attempts with.
pub trait Works: Clone + Send + Sync + 'static {
    /// Where it asks for work.
    fn desk(&self) -> &Arc<dyn Desk>;

    /// Whether to begin nothing new.
    fn is_draining(&self) -> bool;

    /// Ranges that come with the answer to an attempt's last word are sent here, before the attempt is over.
    fn hand_on(&mut self, next: mpsc::UnboundedSender<Handed>);

    /// Begins an attempt with this memory. Its lease is held from now on.
    fn begin(
        &self,
        assignment: Assignment,
        memory: Loan,
    ) -> impl Future<Output = Result<Outcome, DeskError>> + Send + 'static;
}

/// A worker that goes on.
#[derive(Debug)]
pub struct Endless<W = Hands> {
    hands: W,
    slots: Arc<Slots>,
    tally: Arc<Tally>,
}

/// Work that was granted, and places and memory to do it.
#[derive(Default)]
struct Granted {
    assignments: Vec<Assignment>,
    places: Vec<Place>,
    /// None only where nothing was asked for.
    memory: Option<Loan>,
}

type Polled = Result<Granted, DeskError>;
type Polling = JoinHandle<Polled>;
type Running = JoinSet<Result<Outcome, DeskError>>;

impl<W: Works> Endless<W> {
    /// With so many attempts at once, and so much memory for all of them.
    pub fn new(hands: W, slots: usize, memory_bytes: u64, tally: Arc<Tally>) -> Self {
        let pool = Pool::new(slots, slots, memory_bytes);
        Self::sharing(hands, pool.share(), tally)
    }

    /// With as many attempts at once as it gets places, which others may want too.
    pub fn sharing(hands: W, slots: Slots, tally: Arc<Tally>) -> Self {
        let slots = Arc::new(slots);
        Self { hands, slots, tally }
    }

    /// Works until it is asked to stop; then it gives back what is not finished, and delivers what is.
    pub async fn run(self) -> anyhow::Result<()> {
        let (handed_on, mut next) = mpsc::unbounded_channel();
        let mut running = Running::new();
        let mut polling: Option<Polling> = None;
        let mut waiting = VecDeque::new();
        let (mut unreachable, mut faulty) = (Pause::default(), Pause::default());
        let mut idle = false;
        loop {
            while let Ok(handed) = next.try_recv() {
                waiting.push_back(handed);
            }
            self.take_handed_on(&mut waiting, &handed_on, &mut running)
                .await?;
            let ended = running.is_empty() && polling.is_none() && waiting.is_empty();
            if self.hands.is_draining() && ended {
                return Ok(());
            }
            if polling.is_none() && waiting.is_empty() && self.slots.has_room() && !self.hands.is_draining() {
                polling = Some(self.poll(unreachable.length.max(faulty.length), idle));
            }
            tokio::select! {
                biased;
                polled = join(&mut polling) => {
                    polling = None;
                    self.tally.polled(polled.as_ref().err());
                    match polled {
                        Ok(granted) => {
                            unreachable = Pause::default();
                            idle = granted.assignments.is_empty();
                            self.take(granted, &handed_on, &mut running).await?;
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
                () = tokio::time::sleep(host::look_every(STOP_CHECK)), if !self.hands.is_draining() => {}
            }
            self.tally.running.store(running.len() as u64, Ordering::Relaxed);
        }
    }

    /// In a task of its own: an answer that nobody waits for would be a lost lease.
    fn poll(&self, pause: Duration, idle: bool) -> Polling {
        let (hands, slots) = (self.hands.clone(), self.slots.clone());
        host::spawn(async move {
            let mut left = jittered(pause);
            while !left.is_zero() && !hands.is_draining() {
                let step = host::look_every(STOP_CHECK).min(left);
                tokio::time::sleep(step).await;
                left -= step;
            }
            // Who shares its places does not keep one while there is nothing to do.
            let wanted = match slots.is_shared() && idle {
                true => {
                    tokio::select! {
                        biased;
                        stirred = hands.desk().stirred(slots.room(), POLL_WAIT) => stirred?,
                        () = draining(&hands) => false,
                    }
                }
                false => !hands.is_draining(),
            };
            if !wanted {
                return Ok(Granted::default());
            }
            tokio::select! {
                biased;
                places = slots.take() => ask(&hands, &slots, places).await,
                () = draining(&hands) => Ok(Granted::default()),
            }
        })
    }

    async fn take(
        &self,
        mut granted: Granted,
        handed_on: &mpsc::UnboundedSender<Handed>,
        running: &mut Running,
    ) -> anyhow::Result<()> {
        for assignment in std::mem::take(&mut granted.assignments) {
            match granted.begins(&assignment).filter(|_| !self.hands.is_draining()) {
                Some((place, memory)) => self.begin(Handed { assignment, memory }, place, handed_on, running),
                None => self.give_back(assignment).await?,
            }
        }
        Ok(())
    }

    /// What came with an attempt's last word gets the place that the attempt is about to leave.
    async fn take_handed_on(
        &self,
        waiting: &mut VecDeque<Handed>,
        handed_on: &mpsc::UnboundedSender<Handed>,
        running: &mut Running,
    ) -> anyhow::Result<()> {
        while let Some(handed) = waiting.pop_front() {
            if self.hands.is_draining() {
                self.give_back(handed.assignment).await?;
                continue;
            }
            let Some(place) = self.slots.try_take() else {
                waiting.push_front(handed);
                return Ok(());
            };
            self.begin(handed, place, handed_on, running);
        }
        Ok(())
    }

    /// Who shares its places asks for nothing with its last word: others may have waited longer for the place.
    fn begin(
        &self,
        handed: Handed,
        place: Place,
        handed_on: &mpsc::UnboundedSender<Handed>,
        running: &mut Running,
    ) {
        let mut hands = self.hands.clone();
        if !self.slots.is_shared() {
            hands.hand_on(handed_on.clone());
        }
        self.tally.begun.fetch_add(1, Ordering::Relaxed);
        let attempt = hands.begin(handed.assignment, handed.memory);
        running.spawn(host::own(async move {
            let outcome = attempt.await;
            drop(place);
            outcome
        }));
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

/// Asks for work for these places. Where others wait for the same ones, a root that takes long to answer does not keep them: what it
/// grants in the end is begun where there is room, and given back where there is none.
async fn ask<W: Works>(hands: &W, slots: &Slots, places: Vec<Place>) -> Polled {
    let (desk, memory) = (hands.desk(), slots.lend(places.len()));
    if !slots.is_shared() {
        let assignments = desk.poll(memory.room(), host::look_every(POLL_WAIT)).await?;
        return Ok(Granted::new(assignments, places, memory));
    }
    let mut asked = pin!(desk.poll(memory.room(), Duration::ZERO));
    if let Ok(assignments) = timeout(POLL_PATIENCE, asked.as_mut()).await {
        return Ok(Granted::new(assignments?, places, memory));
    }
    drop((places, memory));
    let assignments = asked.await?;
    let places = (0..assignments.len()).map_while(|_| slots.try_take());
    let places: Vec<Place> = places.collect();
    let memory = slots.lend(places.len());
    Ok(Granted::new(assignments, places, memory))
}

impl Granted {
    fn new(assignments: Vec<Assignment>, places: Vec<Place>, memory: Loan) -> Self {
        Self {
            assignments,
            places,
            memory: Some(memory),
        }
    }

    /// A place for this one with the memory that it was granted, if both are still there.
    fn begins(&mut self, assignment: &Assignment) -> Option<(Place, Loan)> {
        let granted = assignment.grant.memory_bytes;
        let memory = self.memory.as_ref().filter(|memory| memory.bytes() >= granted)?;
        Some((self.places.pop()?, memory.part(granted)))
    }
}

/// Returns once nothing new is to be begun.
async fn draining<W: Works>(hands: &W) {
    while !hands.is_draining() {
        tokio::time::sleep(host::look_every(STOP_CHECK)).await;
    }
}

/// Waits for a poll that is under way; for ever if none is.
async fn join(polling: &mut Option<Polling>) -> Polled {
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

#[cfg(test)]
mod tests;
