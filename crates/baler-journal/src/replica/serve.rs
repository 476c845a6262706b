//! The loop. Whoever waits while an append is under way is decided in the next group.

use std::collections::VecDeque;
use std::sync::Arc;

use baler_core::planted;
use baler_core::request::{Reply, Request};
use baler_core::state::State;
use baler_core::time::StoreTime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::catch_up::load_snapshot;
use super::company::Company;
use super::draft::Draft;
use super::snapshots::Snapshots;
use super::states::{States, Teller};
use super::{Ask, Settings};
use crate::backoff;
use crate::entry::Proposal;
use crate::error::JournalError;
use crate::journal::{Appended, Journal, Position};
use crate::limits::{CONFLICTS_MAX, GROUP_MAX};

/// The loop's own: nobody else touches the state.
pub(super) struct Server {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) settings: Settings,
    pub(super) state: State,
    pub(super) position: Position,
    /// The first entry read since the boundary was last asked for.
    pub(super) unchecked_from: Option<baler_core::ids::Sequence>,
    pub(super) snapshots: Snapshots,
    pub(super) company: Company,
    view: Teller,
    queue: mpsc::Receiver<Ask>,
    /// What goes with the next batch.
    mentioned: VecDeque<Box<Request>>,
    stopped: bool,
}

struct Waiting {
    request: Box<Request>,
    answer: oneshot::Sender<Result<Reply, JournalError>>,
}

/// What became of a draft.
enum Outcome {
    Taken,
    Lost,
}

impl Server {
    /// Loads the state and catches up.
    pub(super) async fn load(
        journal: Arc<dyn Journal>,
        settings: Settings,
        queue: mpsc::Receiver<Ask>,
    ) -> Result<(Self, States), JournalError> {
        let (state, position) = load_snapshot(&journal).await?;
        let view = Teller::of(state.clone());
        let seen = view.states();
        let snapshots = Snapshots::new(journal.clone(), settings.snapshot_every, position.sequence);
        let mut server = Self {
            journal,
            settings,
            state,
            position,
            unchecked_from: None,
            snapshots,
            company: Company::alone(),
            view,
            queue,
            mentioned: VecDeque::new(),
            stopped: false,
        };
        server.catch_up().await?;
        server.check_no_hole().await?;
        // What lay there says nothing about who writes now.
        server.company = Company::alone();
        Ok((server, seen))
    }

    /// Slots are filled in order. An entry beyond an empty slot was written just now, or the one in the slot was
    /// lost; filling the slot again would begin a second history.
    async fn check_no_hole(&mut self) -> Result<(), JournalError> {
        let Some(listed) = self.journal.last_listed(self.position.sequence).await? else {
            return Ok(());
        };
        self.catch_up().await?;
        if self.position.sequence < listed {
            let missing = self.position.sequence.next();
            let why = format!("it is missing, though there is an entry {listed}");
            return Err(JournalError::damaged_entry(missing, why));
        }
        Ok(())
    }

    pub(super) async fn run(mut self) {
        while let Some(first) = self.queue.recv().await {
            let mut asks = vec![first];
            while asks.len() < GROUP_MAX {
                match self.queue.try_recv() {
                    Ok(ask) => asks.push(ask),
                    Err(_) => break,
                }
            }
            let closing = self.serve(asks).await;
            if !closing.is_empty() || self.stopped {
                self.snapshots.finish().await;
                drop(closing);
                return;
            }
        }
        self.snapshots.finish().await;
    }

    /// Answers a group; returns those who want the replica to stop.
    async fn serve(&mut self, asks: Vec<Ask>) -> Vec<oneshot::Sender<()>> {
        let (mut waiting, mut catching_up, mut closing) = (VecDeque::new(), Vec::new(), Vec::new());
        for ask in asks {
            match ask {
                Ask::Submit { request, answer } => waiting.push_back(Waiting { request, answer }),
                Ask::Mention(request) => self.mentioned.push_back(request),
                Ask::CatchUp { answer } => catching_up.push(answer),
                Ask::Close { answer } => closing.push(answer),
            }
        }
        let mut caught_up = false;
        if !catching_up.is_empty() {
            let result = self.catch_up().await;
            caught_up = result.is_ok();
            for answer in catching_up {
                let _gone = answer.send(result.clone());
            }
        }
        if let Err(error) = self.answer_all(&mut waiting, caught_up).await {
            for Waiting { answer, .. } in waiting {
                let _gone = answer.send(Err(error.clone()));
            }
        }
        closing
    }

    /// `caught_up`: whether the state was the latest at some moment after all of these came. An append that
    /// succeeded proves as much as reading an empty slot.
    async fn answer_all(
        &mut self,
        waiting: &mut VecDeque<Waiting>,
        mut caught_up: bool,
    ) -> Result<(), JournalError> {
        let mut conflicts = 0;
        if !waiting.is_empty() && !caught_up && self.company.is_worth_a_look() {
            self.read_to_append().await?;
        }
        while !waiting.is_empty() {
            let parent_time = self.parent_time().await?;
            let mut draft = Draft::decide(&self.state, parent_time, waiting.iter().map(|w| &*w.request));
            if draft.is_empty() && !caught_up && !planted!(AnswersFromMemory) {
                self.catch_up().await?;
                caught_up = true;
                continue;
            }
            if !draft.is_empty() {
                let along = draft.take_along(self.mentioned.iter().map(|request| &**request));
                if let Outcome::Lost = self.commit(&draft).await? {
                    conflicts += 1;
                    if conflicts >= CONFLICTS_MAX {
                        return Err(JournalError::Contended(conflicts));
                    }
                    backoff::pause(conflicts - 1).await;
                    self.read_to_append().await?;
                    caught_up = false;
                    continue;
                }
                (caught_up, conflicts) = (true, 0);
                self.mentioned.drain(..along);
                self.journal
                    .counters()
                    .grouped
                    .add(draft.replies.len() as u64 - 1);
            }
            for (Waiting { answer, .. }, reply) in waiting.drain(..draft.replies.len()).zip(draft.replies) {
                let _gone = answer.send(Ok(reply));
            }
        }
        Ok(())
    }

    /// When the last entry was written; a PUT does not tell.
    async fn parent_time(&mut self) -> Result<Option<StoreTime>, JournalError> {
        if self.position.modified.is_none() && self.position != Position::default() {
            self.position.modified = self.journal.modified(self.position.sequence).await?;
        }
        Ok(self.position.modified)
    }

    /// Offers the draft's slot these bytes, and nothing else, until it is known what the slot holds. Until then the
    /// loop stands still and answers nobody.
    async fn commit(&mut self, draft: &Draft) -> Result<Outcome, JournalError> {
        let proposal = draft.proposal(&self.position)?;
        let begun = Instant::now();
        let mut offered_before = false;
        for try_number in 0.. {
            match self.journal.append(&proposal).await {
                Ok(Appended::Committed { modified }) => {
                    self.advance(draft, &proposal, modified);
                    return Ok(Outcome::Taken);
                }
                Ok(Appended::Conflict) => return Ok(Outcome::Lost),
                Ok(Appended::Retired { maybe_ours }) => {
                    self.reload().await?;
                    return match maybe_ours || offered_before {
                        true => Err(JournalError::OutcomeUnknown(proposal.sequence)),
                        false => Ok(Outcome::Lost),
                    };
                }
                Ok(Appended::Unknown) if planted!(OtherBytesOffered) => return Ok(Outcome::Lost),
                Ok(Appended::Unknown) => offered_before = true,
                Err(error) if !offered_before => return Err(error),
                Err(error) => tracing::warn!(%error, "an entry's outcome is still unknown"),
            }
            if begun.elapsed() >= self.settings.patience {
                tracing::error!(
                    entry = proposal.sequence.0,
                    "giving up: the outcome stays unknown"
                );
                self.stopped = true;
                break;
            }
            backoff::pause(try_number).await;
        }
        Err(JournalError::OutcomeUnknown(proposal.sequence))
    }

    fn advance(&mut self, draft: &Draft, proposal: &Proposal, modified: Option<StoreTime>) {
        self.state = draft.state.clone();
        self.position = Position {
            journal: self.state.journal,
            sequence: proposal.sequence,
            checksum: proposal.checksum,
            modified,
        };
        self.unchecked_from = None;
        self.company.appended();
        self.publish();
        self.snapshots.appended(&self.state, &self.position);
    }

    pub(super) fn publish(&self) {
        self.view.tell(self.state.clone());
    }
}
