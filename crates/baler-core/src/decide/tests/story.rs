//! `given(events).when(request).then(events)`.

use super::fixtures::*;
use crate::decide::{Decision, decide};
use crate::event::{Batch, Event};
use crate::file::FilePath;
use crate::ids::{JobId, RangeId, TableName, Token};
use crate::job::Job;
use crate::lease::Lease;
use crate::names::Attempt;
use crate::request::{Refusal, Reply, Request};
use crate::state::{State, Table};
use crate::time::{Millis, StoreTime};
use crate::{apply, invariants};

/// The time between two entries of a story.
pub(super) const TICK: Millis = Millis(1);

/// Begins a story: entry 1 makes the journal and a table of each kind, entry 2 holds these events.
pub(super) fn given(events: impl IntoIterator<Item = Event>) -> Story {
    let mut story = Story {
        state: State::default(),
        entries: Vec::new(),
        written: StoreTime { unix_ms: 1_000_000 },
    };
    story.append(beginning());
    story.and(events)
}

/// What was written so far, and the state that it leads to.
#[derive(Clone)]
pub(super) struct Story {
    pub(super) state: State,
    entries: Vec<Batch>,
    /// When the last entry was written, on the store's clock.
    written: StoreTime,
}

impl Story {
    /// One more entry.
    pub(super) fn and(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self.append(events.into_iter().collect());
        self
    }

    /// This long after the last entry an empty one is written, and then another, which carries that time.
    pub(super) fn later(mut self, length: Millis) -> Self {
        self.append(vec![Event::Ticked]);
        self.written = self.written + length;
        self.and([Event::Ticked])
    }

    pub(super) fn when(self, request: Request) -> Told {
        let decision = decide(&self.open(), &request);
        Told {
            story: self,
            request,
            decision,
        }
    }

    /// The story goes on with whatever is decided.
    pub(super) fn after(self, request: Request) -> Self {
        self.when(request).go_on()
    }

    pub(super) fn job(&self, job: u64) -> &Job {
        self.state.jobs.get(&JobId(job)).expect("the job is open")
    }

    pub(super) fn table(&self, name: &str) -> &Table {
        &self.state.tables[&TableName::from(name)]
    }

    /// The live files of a table.
    pub(super) fn live(&self, table: &str) -> Vec<FilePath> {
        self.table(table).files.keys().cloned().collect()
    }

    pub(super) fn lease(&self, job: u64, range: RangeId) -> &Lease {
        let range = self.job(job).range(range).expect("the job has this range");
        range.lease().expect("the range is leased")
    }

    /// The attempt that is working on the only key range of a job.
    pub(super) fn attempt(&self, job: u64) -> Attempt {
        self.attempt_at(job, RangeId::Keys(0))
    }

    pub(super) fn attempt_at(&self, job: u64, range: RangeId) -> Attempt {
        Attempt {
            job: JobId(job),
            range,
            token: self.lease(job, range).token,
        }
    }

    /// The token of the publishing of a job.
    pub(super) fn publish_token(&self, job: u64) -> Token {
        self.lease(job, RangeId::Publish).token
    }

    fn open(&self) -> State {
        let mut state = self.state.clone();
        state.open_batch(Some(self.written));
        state
    }

    fn append(&mut self, events: Vec<Event>) {
        let batch = Batch {
            sequence: self.state.sequence.next(),
            parent_time: Some(self.written),
            events,
        };
        apply(&mut self.state, &batch);
        self.entries.push(batch);
        self.written = self.written + TICK;
        let broken: Vec<_> = invariants::broken(&self.state).iter().map(|i| i.says).collect();
        assert!(broken.is_empty(), "broken: {broken:?}");
        assert_eq!(self.replayed(), self.state, "a replay gives another state");
    }

    /// What a replica that reads the journal from its beginning arrives at.
    fn replayed(&self) -> State {
        let mut state = State::default();
        for entry in &self.entries {
            let text = serde_json::to_string(entry).unwrap();
            apply(&mut state, &serde_json::from_str(&text).unwrap());
        }
        state
    }
}

/// A request that was decided and not yet appended.
#[derive(Clone)]
pub(super) struct Told {
    story: Story,
    request: Request,
    pub(super) decision: Decision,
}

impl Told {
    pub(super) fn then(self, events: impl IntoIterator<Item = Event>) -> Self {
        let wanted: Vec<Event> = events.into_iter().collect();
        assert_eq!(self.decision.events, wanted);
        self
    }

    pub(super) fn nothing(self) -> Self {
        self.then([])
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "stories read better so")]
    pub(super) fn replies(self, reply: Reply) -> Self {
        assert_eq!(self.decision.reply, reply);
        self
    }

    /// Refused, and nothing is written.
    #[track_caller]
    pub(super) fn refused(self, why: Refusal) -> Self {
        self.nothing().replies(Reply::Refused(why))
    }

    #[track_caller]
    pub(super) fn not_proved(self, because: &str) -> Self {
        match &self.decision.reply {
            Reply::Refused(Refusal::NotProved(why)) => assert!(why.contains(because), "{why}"),
            other => panic!("not refused as unproved, but {other:?}"),
        }
        self
    }

    /// The same request, come twice, changes nothing the second time.
    #[track_caller]
    pub(super) fn only_once(self) -> Self {
        let again = self.clone().go_on().when(self.request.clone());
        assert_eq!(again.decision.events, [], "the second time");
        self
    }

    /// The decision is appended, and the story goes on.
    pub(super) fn go_on(self) -> Story {
        self.story.and(self.decision.events)
    }
}
