//! Workers: ask for a range, merge, finish, publish. One that lost its lease does not know, and goes on.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use baler_core::event::{Quarantined, ReleaseReason};
use baler_core::file::{FilePath, Identity};
use baler_core::ids::{RangeId, WatcherId, WorkerId};
use baler_core::job::{Finished, InputRead, Job, Output};
use baler_core::names::Attempt;
use baler_core::positions::Positions;
use baler_core::request::{Finish, Grant, Poll, Scope};
use baler_core::table::Catalog;
use baler_core::{Reply, Request};

use crate::coordinators::Asker;
use crate::disk::{Object, Rows, bytes, digest};
use crate::mutants::Mutant;
use crate::scenario::Scenario;
use crate::world::{JOURNAL, World};

/// What a worker is at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Worker {
    /// It asks for work.
    Idle,
    /// It has a range.
    Granted(Held),
    /// It has merged these rows of each input, and its output is durable; or it has published.
    Worked(Held, Vec<Rows>),
    /// It has looked at its inputs after the merge.
    Looked(Held, Vec<Rows>, Vec<Option<Identity>>),
    /// It did not find these inputs.
    Missed(Held, Vec<FilePath>),
}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held(Arc<Grant>);

impl Hash for Held {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.attempt().hash(hasher);
        self.0.job.hash(hasher);
    }
}

impl Worker {
    pub(crate) fn is_idle(&self) -> bool {
        *self == Self::Idle
    }

    pub(crate) fn attempt(&self) -> Option<Attempt> {
        self.grant().map(Grant::attempt)
    }

    pub(crate) fn can_work(&self) -> bool {
        matches!(self, Self::Granted(_))
    }

    /// Publishing ends without another look.
    pub(crate) fn can_look(&self) -> bool {
        let merged = |held: &Held| held.0.range != RangeId::Publish;
        matches!(self, Self::Worked(held, _) if merged(held))
    }

    fn grant(&self) -> Option<&Grant> {
        match self {
            Self::Idle => None,
            Self::Granted(held) | Self::Worked(held, _) | Self::Looked(held, ..) | Self::Missed(held, _) => {
                Some(&held.0)
            }
        }
    }
}

impl World {
    pub(crate) fn work(&mut self, scenario: &Scenario, w: usize) {
        let Worker::Granted(held) = self.workers[w].clone() else {
            return;
        };
        self.workers[w] = match held.0.range {
            RangeId::Publish => {
                self.move_outputs(&held.0.job);
                Worker::Worked(held, Vec::new())
            }
            RangeId::Keys(_) => self.merge(scenario, held),
        };
        // Nobody overwrites what a native table holds.
        if scenario.native {
            self.look(w);
        }
    }

    /// Two workers are alike: leases are told apart by their tokens. Which of them does what makes no difference.
    pub(crate) fn order_workers(&mut self) {
        let place = |worker: &Worker| {
            let attempt = worker.attempt();
            attempt.map(|attempt| (attempt.token.sequence, attempt.token.index))
        };
        if place(&self.workers[0]) >= place(&self.workers[1]) {
            return;
        }
        self.workers.swap(0, 1);
        for coordinator in &mut self.coordinators {
            let asker = coordinator.offer.as_mut().and_then(|offer| offer.by.as_mut());
            if let Some(Asker::Worker(w) | Asker::Stranded(w)) = asker {
                *w = 1 - *w;
            }
        }
    }

    fn merge(&mut self, scenario: &Scenario, held: Held) -> Worker {
        let inputs = &held.0.job.inputs;
        let here = |path: &FilePath, identity: &Identity| {
            let object = self.disk.get(path);
            object.filter(|object| self.state().is_own(path) || object.identity == *identity)
        };
        let read: Vec<Option<Rows>> = inputs
            .iter()
            .map(|input| here(&input.path, &input.identity).map(|object| object.rows))
            .collect();
        if read.iter().any(Option::is_none) {
            let gone = inputs.iter().zip(&read).filter(|(_, read)| read.is_none());
            let gone = gone.map(|(input, _)| input.path.clone()).collect();
            return Worker::Missed(held, gone);
        }
        let read: Vec<Rows> = read.into_iter().flatten().collect();
        let attempt = held.0.attempt();
        let written = match scenario.native {
            true => self.output_path(&held.0.job, &attempt),
            false => attempt.staged(0),
        };
        self.disk.insert(written, Object::of(read.iter().sum()));
        Worker::Worked(held, read)
    }

    pub(crate) fn output_path(&self, job: &Job, attempt: &Attempt) -> FilePath {
        job.output_path(&self.table().spec.catalog, JOURNAL, attempt, 0)
    }

    /// On a store that is a copy: what was staged stays until the collector sweeps it.
    fn move_outputs(&mut self, job: &Job) {
        for (range, finished) in job.finished() {
            let attempt = Attempt {
                job: job.id,
                range,
                token: finished.token,
            };
            for output in &finished.outputs {
                if let Some(staged) = self.disk.get(&attempt.staged(output.part)).cloned() {
                    self.disk.entry(output.path.clone()).or_insert(staged);
                }
            }
        }
    }

    pub(crate) fn look(&mut self, w: usize) {
        let Worker::Worked(held, read) = self.workers[w].clone() else {
            return;
        };
        let inputs = held.0.job.inputs.iter();
        let now: Vec<Option<Identity>> = inputs
            .map(|input| self.identity_now(&input.path, &input.identity))
            .collect();
        let planned = held.0.job.inputs.iter().map(|input| Some(&input.identity));
        if planned.ne(now.iter().map(Option::as_ref)) {
            let token = held.0.token;
            self.heard.outdated.insert((token.sequence, token.index));
        }
        self.workers[w] = Worker::Looked(held, read, now);
    }

    /// An output is what it was: nobody else writes its name. The state knows it by another tag than the store.
    fn identity_now(&self, path: &FilePath, planned: &Identity) -> Option<Identity> {
        let object = self.disk.get(path)?;
        let own = self.state().is_own(path) && self.table().spec.catalog == Catalog::Native;
        Some(if own {
            planned.clone()
        } else {
            object.identity.clone()
        })
    }

    pub(crate) fn crash_worker(&mut self, w: usize) {
        self.workers[w] = Worker::Idle;
    }

    /// What a worker needs next, through a coordinator.
    pub(crate) fn worker_asks(&self, w: usize, watcher: WatcherId) -> Option<Request> {
        match &self.workers[w] {
            Worker::Idle => Some(Request::Poll(poll(watcher))),
            Worker::Granted(_) => None,
            Worker::Worked(held, _) if held.0.range == RangeId::Publish => Some(self.publish(&held.0)),
            Worker::Worked(..) => None,
            Worker::Looked(held, read, now) => Some(self.finish(&held.0, read, now)),
            Worker::Missed(held, gone) => Some(release(&held.0, gone)),
        }
    }

    fn publish(&self, grant: &Grant) -> Request {
        let outputs = grant.job.outputs();
        let identities = outputs.map(|output| Some(self.disk.get(&output.path)?.identity.clone()));
        Request::Publish {
            job: grant.job.id,
            token: grant.token,
            identities: identities.collect(),
        }
    }

    fn finish(&self, grant: &Grant, read: &[Rows], now: &[Option<Identity>]) -> Request {
        let rows: Rows = read.iter().sum();
        let output = Output {
            part: 0,
            path: self.output_path(&grant.job, &grant.attempt()),
            bytes: bytes(rows),
            rows: rows.count_ones().into(),
            copied: 0,
            digest: digest(rows),
            checksum: digest(rows),
            keys: None,
            times: None,
        };
        let reads = read.iter().map(|rows| InputRead {
            rows: rows.count_ones().into(),
            copied: 0,
            digest: digest(*rows),
            positions: Some(Positions::all(rows.count_ones().into())),
        });
        Request::Finish(Finish {
            job: grant.job.id,
            range: grant.range,
            finished: Finished {
                token: grant.token,
                outputs: vec![output],
                reads: reads.collect(),
                drops: Vec::new(),
                copied: None,
                stretches: Vec::new(),
                effort: None,
            },
            inputs_now: Some(now.to_vec()),
        })
    }

    pub(crate) fn worker_hears(&mut self, w: usize, reply: Reply) -> bool {
        let next = match reply {
            Reply::Granted(grants) => match grants.into_iter().next() {
                Some(grant) => Worker::Granted(Held(grant.into())),
                None => return false,
            },
            Reply::Finished { publish, committed } => {
                self.heard.committed.extend(committed.map(|summary| summary.id));
                publish.map_or(Worker::Idle, |grant| Worker::Granted(Held(grant.into())))
            }
            Reply::Committed(summary) => {
                self.heard.committed.insert(summary.id);
                Worker::Idle
            }
            _ => Worker::Idle,
        };
        let changed = self.workers[w] != next;
        self.workers[w] = next;
        changed
    }

    /// A worker that hears nothing and gives up takes its outputs away: what the product never does.
    pub(crate) fn gives_up(&mut self, mutant: Option<Mutant>, w: usize) {
        if mutant != Some(Mutant::DeletesOnUnknown) {
            return;
        }
        if let Worker::Looked(held, ..) = self.workers[w].clone() {
            let output = self.output_path(&held.0.job, &held.0.attempt());
            self.disk.remove(&output);
            self.workers[w] = Worker::Idle;
        }
    }
}

fn poll(watcher: WatcherId) -> Poll {
    Poll {
        worker: WorkerId::from("w"),
        watcher,
        embedded: false,
        host: None,
        slots: 1,
        memory: None,
        isolates: false,
        scope: Scope::default(),
    }
}

fn release(grant: &Grant, gone: &[FilePath]) -> Request {
    let inputs = grant.job.inputs.iter();
    let culprits = inputs
        .filter(|input| gone.contains(&input.path))
        .map(|input| Quarantined {
            path: input.path.clone(),
            identity: input.identity.clone(),
            reason: "404".into(),
        });
    Request::Release {
        attempt: grant.attempt(),
        why: ReleaseReason::InputsChanged,
        culprits: culprits.collect(),
    }
}
