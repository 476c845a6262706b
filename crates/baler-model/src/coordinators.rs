//! Replicas: catch up, decide, offer the next number of the journal, answer. Two of them race for every number.

use std::sync::Arc;

use baler_core::ids::WatcherId;
use baler_core::names::Attempt;
use baler_core::{Reply, Request};

use crate::entry::Entry;
use crate::mutants::Mutant;
use crate::scenario::Scenario;
use crate::step::Fate;
use crate::world::{PANICKED, World};

/// A replica that answers for leases.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Coordinator {
    /// Its number as a watcher: new at each start.
    watcher: u8,
    /// What it offers the journal.
    pub(crate) offer: Option<Offer>,
}

/// An entry that a coordinator decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Offer {
    pub(crate) entry: Arc<Entry>,
    pub(crate) reply: Answer,
    /// Who waits for the answer; `None` once nobody does.
    pub(crate) by: Option<Asker>,
}

/// A reply, told apart by its entry.
#[derive(Clone, Debug)]
pub(crate) struct Answer(pub(crate) Reply);

impl PartialEq for Answer {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Answer {}

impl std::hash::Hash for Answer {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Asker {
    /// A worker, for what it needs next.
    Worker(usize),
    /// A worker that cannot reach its watcher shows its token.
    Stranded(usize),
    /// The collector.
    Collector,
    /// The reader.
    Reader,
    /// The writer.
    Writer,
    /// The coordinator itself: a lease of which it has heard nothing.
    Silence(Attempt),
    /// The coordinator itself: a watcher whose counter stands still.
    Standstill(u8),
    /// An operator, about a pin whose reader is dead.
    Operator,
}

impl Coordinator {
    pub(crate) fn new(watcher: u8) -> Self {
        Self { watcher, offer: None }
    }

    pub(crate) fn watcher(&self) -> WatcherId {
        WatcherId(self.watcher.into())
    }
}

impl World {
    /// Everybody who may ask this coordinator something now.
    pub(crate) fn askers(&self, c: usize, mut each: impl FnMut(Asker)) {
        let suspects = self.purse.suspicions > 0;
        for w in 0..self.workers.len() {
            if !self.waits(&Asker::Worker(w)) {
                each(Asker::Worker(w));
            }
            if suspects && !self.waits(&Asker::Stranded(w)) {
                each(Asker::Stranded(w));
            }
        }
        for asker in [Asker::Collector, Asker::Reader, Asker::Writer, Asker::Operator] {
            if !self.waits(&asker) {
                each(asker);
            }
        }
        for (attempt, watcher) in self.leases() {
            let dead = !self.is_worked_on(&attempt);
            if (dead || suspects) && watcher == self.coordinators[c].watcher() {
                each(Asker::Silence(attempt));
            }
        }
        for watcher in self.state().watchers.keys() {
            let dead = self.coordinators.iter().all(|other| other.watcher() != *watcher);
            if (dead || suspects) && *watcher != self.coordinators[c].watcher() {
                each(Asker::Standstill(watcher.0 as u8));
            }
        }
    }

    /// Whether an answer to this one is under way.
    fn waits(&self, asker: &Asker) -> bool {
        let mut offers = self.coordinators.iter().filter_map(|c| c.offer.as_ref());
        offers.any(|offer| offer.by.as_ref() == Some(asker))
    }

    fn leases(&self) -> Vec<(Attempt, WatcherId)> {
        let jobs = self.state().jobs.values();
        let leases = jobs.flat_map(|job| job.leases().map(|(range, lease)| (job.id, range, lease)));
        let named = leases.map(|(job, range, lease)| {
            let token = lease.token;
            (Attempt { job, range, token }, lease.watcher)
        });
        named.collect()
    }

    /// Whether a worker has this grant.
    fn is_worked_on(&self, attempt: &Attempt) -> bool {
        self.workers
            .iter()
            .any(|worker| worker.attempt() == Some(*attempt))
    }

    pub(crate) fn decide(&mut self, scenario: &Scenario, c: usize, asker: Asker) -> bool {
        let Some(request) = self.request(scenario.mutant, c, &asker) else {
            return false;
        };
        let suspicion = match &asker {
            Asker::Silence(attempt) => self.is_worked_on(attempt),
            Asker::Standstill(watcher) => self.coordinators.iter().any(|other| other.watcher == *watcher),
            Asker::Stranded(_) => true,
            _ => false,
        };
        self.purse.suspicions -= u8::from(suspicion);
        let Some((entry, reply)) = self.head.decide(scenario.mutant, &request) else {
            self.wrong.get_or_insert(PANICKED);
            return true;
        };
        if asker == Asker::Reader {
            self.reader_leaves();
        }
        if entry.events.is_empty() {
            // Nothing to append: the state is caught up, so the answer may be given.
            return !suspicion && self.hears(&asker, reply);
        }
        self.coordinators[c].offer = Some(Offer {
            entry,
            reply: Answer(reply),
            by: Some(asker),
        });
        true
    }

    fn request(&self, mutant: Option<Mutant>, c: usize, asker: &Asker) -> Option<Request> {
        let by = self.coordinators[c].watcher();
        match asker {
            Asker::Worker(w) => self.worker_asks(*w, by),
            Asker::Stranded(w) => {
                let attempt = self.workers[*w].attempt()?;
                let attempts = vec![attempt];
                Some(Request::Rewatch {
                    watcher: by,
                    attempts,
                })
            }
            Asker::Collector => self.collector_asks(mutant),
            Asker::Reader => self.reader_asks(),
            Asker::Writer => self.writer_asks(),
            Asker::Operator => self.operator_asks(),
            Asker::Silence(attempt) => Some(Request::Expire {
                watcher: by,
                attempts: vec![*attempt],
            }),
            Asker::Standstill(watcher) => {
                let watcher = WatcherId((*watcher).into());
                let counter = self.state().watchers.get(&watcher)?.counter;
                Some(Request::TakeOver { watcher, counter, by })
            }
        }
    }

    /// Compare and swap: the entry counts if its number is the next one. Else somebody was first, and the request is decided
    /// anew when its client asks again.
    pub(crate) fn land(&mut self, scenario: &Scenario, c: usize) {
        let Some(offer) = self.coordinators[c].offer.take() else {
            return;
        };
        if !self.append_if_next(scenario, offer.entry) {
            return;
        }
        if let Some(asker) = offer.by {
            self.hears(&asker, offer.reply.0);
        }
    }

    fn append_if_next(&mut self, scenario: &Scenario, entry: Arc<Entry>) -> bool {
        let conditional = scenario.mutant != Some(Mutant::AppendsWithoutCondition);
        let is_next = entry.sequence() == self.head.sequence().next();
        if !is_next && conditional {
            return false;
        }
        self.append(entry);
        if conditional {
            self.drop_outrun();
        }
        true
    }

    /// An offer whose number is taken can only be refused: that needs no step of its own.
    fn drop_outrun(&mut self) {
        let taken = self.head.sequence();
        for coordinator in &mut self.coordinators {
            coordinator.offer.take_if(|offer| offer.entry.sequence() <= taken);
        }
        self.adrift.retain(|entry| entry.sequence() > taken);
    }

    pub(crate) fn give_up(&mut self, scenario: &Scenario, c: usize) {
        let Some(offer) = &mut self.coordinators[c].offer else {
            return;
        };
        if let Some(Asker::Worker(w)) = offer.by.take() {
            self.gives_up(scenario.mutant, w);
        }
    }

    pub(crate) fn crash_coordinator(&mut self, scenario: &Scenario, c: usize, fate: Fate) {
        let offer = self.coordinators[c].offer.take();
        self.coordinators[c] = Coordinator::new(self.next_watcher);
        self.next_watcher += 1;
        let Some(offer) = offer else {
            return;
        };
        match fate {
            Fate::Gone => {}
            Fate::Landed => {
                self.append_if_next(scenario, offer.entry);
            }
            Fate::Adrift => self.adrift.push(offer.entry),
        }
    }

    pub(crate) fn land_late(&mut self, scenario: &Scenario, adrift: usize) {
        let entry = self.adrift.remove(adrift);
        self.append_if_next(scenario, entry);
    }

    /// Two idle coordinators of which nobody knows anything are alike: it is enough to ask the first.
    pub(crate) fn is_like_the_first(&self, c: usize) -> bool {
        let unknown = |other: &Coordinator| {
            other.offer.is_none() && !self.state().watchers.contains_key(&other.watcher())
        };
        c > 0 && self.adrift.is_empty() && self.coordinators.iter().all(unknown)
    }

    /// The answer reaches who asked. Says whether that changes anything.
    fn hears(&mut self, asker: &Asker, reply: Reply) -> bool {
        match asker {
            Asker::Worker(w) => self.worker_hears(*w, reply),
            Asker::Collector => self.collector_hears(reply),
            Asker::Reader => self.reader_hears(&reply),
            Asker::Writer => self.writer_hears(reply),
            Asker::Stranded(_) | Asker::Silence(_) | Asker::Standstill(_) | Asker::Operator => false,
        }
    }
}
