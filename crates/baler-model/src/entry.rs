//! An entry of the journal with the state after it, shared by all worlds that have it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use baler_core::ids::Sequence;
use baler_core::{Batch, Event, Reply, Request, State, apply, invariants};

use crate::mutants::Mutant;

/// An entry of the journal.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The state after it.
    pub(crate) state: State,
    /// What it says.
    pub(crate) events: Vec<Event>,
    /// The first invariant that the state breaks.
    pub(crate) broken: Option<u32>,
    /// Worlds are told apart by what the state is, not by how it came about.
    fingerprint: u64,
}

impl Entry {
    pub(crate) fn new(state: State, events: Vec<Event>) -> Arc<Self> {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        let broken = invariants::broken(&state)
            .first()
            .map(|invariant| invariant.number);
        Arc::new(Self {
            fingerprint: hasher.finish(),
            state,
            events,
            broken,
        })
    }

    pub(crate) fn sequence(&self) -> Sequence {
        self.state.sequence
    }

    /// Decides a request as the replica does that knows this entry as the last one. `None` if the state machine panics.
    pub(crate) fn decide(&self, mutant: Option<Mutant>, request: &Request) -> Option<(Arc<Self>, Reply)> {
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let mut open = self.state.clone();
            open.open_batch(None);
            let sequence = open.sequence;
            let decision = crate::mutants::decide(mutant, &open, request);
            let batch = Batch {
                sequence,
                parent_time: None,
                events: decision.events,
            };
            let mut state = self.state.clone();
            apply(&mut state, &batch);
            (Self::new(state, batch.events), decision.reply)
        }));
        decided.ok()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for Entry {}

impl Hash for Entry {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.fingerprint);
    }
}
