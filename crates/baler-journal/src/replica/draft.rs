//! A group of requests, decided one after another, each on the state after those before it. Nothing of it is true
//! until its batch is in the journal.

use baler_core::apply::apply_event;
use baler_core::event::Event;
use baler_core::ids::JournalId;
use baler_core::planted;
use baler_core::request::{Reply, Request};
use baler_core::state::State;
use baler_core::time::StoreTime;

use crate::entry::{Lines, Proposal};
use crate::error::JournalError;
use crate::journal::Position;
use crate::limits::{BATCH_BYTES_MAX, BATCH_EVENTS_MAX};

/// What would be appended, and what would be answered then.
#[derive(Debug)]
pub(super) struct Draft {
    /// The state after the batch.
    pub(super) state: State,
    /// The answers, in the order of the requests. There may be fewer: a batch has bounds.
    pub(super) replies: Vec<Reply>,
    parent_time: Option<StoreTime>,
    lines: Lines,
    events: usize,
    created: Option<JournalId>,
}

impl Draft {
    pub(super) fn decide<'a>(
        state: &State,
        parent_time: Option<StoreTime>,
        requests: impl Iterator<Item = &'a Request>,
    ) -> Self {
        let mut draft = Self {
            state: state.clone(),
            replies: Vec::new(),
            parent_time,
            lines: Lines::NONE,
            events: 0,
            created: None,
        };
        draft.state.open_batch(parent_time);
        let first = planted!(GroupOnOneState).then(|| draft.state.clone());
        for request in requests {
            let decision = baler_core::decide(first.as_ref().unwrap_or(&draft.state), request);
            for event in &decision.events {
                draft.take(event);
            }
            draft.replies.push(decision.reply);
            if draft.is_full() {
                break;
            }
        }
        draft
    }

    /// Decides these as well, as long as there is room, for nobody who waits. Returns how many.
    pub(super) fn take_along<'a>(&mut self, requests: impl Iterator<Item = &'a Request>) -> usize {
        let mut taken = 0;
        for request in requests {
            if self.is_full() {
                break;
            }
            for event in &baler_core::decide(&self.state, request).events {
                self.take(event);
            }
            taken += 1;
        }
        taken
    }

    fn is_full(&self) -> bool {
        self.lines.text.len() >= BATCH_BYTES_MAX || self.events >= BATCH_EVENTS_MAX
    }

    fn take(&mut self, event: &Event) {
        if let (0, Event::JournalCreated { journal }) = (self.events, event) {
            self.created = Some(*journal);
        }
        apply_event(&mut self.state, event);
        self.lines.add(event);
        self.events += 1;
    }

    /// Whether there is nothing to append.
    pub(super) fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// The batch, on offer for the slot after this position.
    pub(super) fn proposal(&self, position: &Position) -> Result<Proposal, JournalError> {
        let journal = position
            .journal
            .or(self.created)
            .ok_or(JournalError::NotCreated)?;
        Proposal::new(
            journal,
            self.state.sequence,
            position.checksum,
            self.parent_time,
            &self.lines,
        )
    }
}
