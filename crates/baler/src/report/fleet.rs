//! Who works on what, how far it is, and how long it will still take. The journal says who holds which lease; how far an
//! attempt is stands in no journal, for that would cost an entry each time. Whoever answers for a lease has heard it from its worker.

use std::collections::{BTreeMap, BTreeSet};

use baler_core::ids::{Sequence, Token, WatcherId, WorkerId};
use baler_core::job::Job;
use baler_core::lease::Lease;
use baler_core::state::State;
use baler_core::time::StoreTime;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::pace::seconds_left;
use crate::desk::{Phase, Spent};
use crate::watch::{Seen, Watch, WorkerSeen};

/// What the process that is asked has heard of workers and their attempts. Who only reads the bucket has heard nothing.
#[derive(Debug, Default)]
pub struct Heard {
    attempts: BTreeMap<(Sequence, u32), Seen>,
    workers: BTreeMap<WorkerId, WorkerSeen>,
    watcher: Option<WatcherId>,
    /// The present, on the clock of whoever was asked.
    now: Option<StoreTime>,
}

impl Heard {
    /// By a process that answers for leases.
    pub fn by(watch: &Watch) -> Self {
        let attempts = watch.watched().into_iter();
        Self {
            attempts: attempts.map(|seen| (key(seen.attempt.token), seen)).collect(),
            workers: watch.workers().all(),
            watcher: Some(watch.id()),
            now: Some(watch.now()),
        }
    }

    /// Seconds since an entry was written, by the wall clock of whoever was asked: an estimate. `None` while no later entry
    /// tells its time.
    pub(super) fn age_of(&self, state: &State, entry: Sequence) -> Option<f64> {
        let began = state.began(entry)?;
        let now = self.now.unwrap_or_else(crate::root::machine_now);
        Some(now.unix_ms.saturating_sub(began.unix_ms) as f64 / 1_000.0)
    }

    /// Whether whoever is asked hears of workers at all.
    pub fn is_anything(&self) -> bool {
        self.watcher.is_some()
    }

    fn of(&self, lease: &Lease) -> Option<&Seen> {
        // Of a lease that passed to another watcher nothing newer is heard here.
        let ours = self.watcher == Some(lease.watcher);
        self.attempts.get(&key(lease.token)).filter(|_| ours)
    }
}

fn key(token: Token) -> (Sequence, u32) {
    (token.sequence, token.index)
}

/// A lease, and how far its attempt is as far as that is known here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeaseStatus {
    /// The job.
    pub job: u64,
    /// Its range.
    pub range: String,
    /// Who works on it.
    pub worker: String,
    /// Who answers for it.
    pub watcher: String,
    /// The how-manieth lease on this range it is.
    pub attempt: u32,
    /// How long ago its worker was last heard of.
    pub silent_seconds: Option<f64>,
    /// What it is doing.
    pub phase: Option<Phase>,
    /// Rows read.
    pub rows: Option<u64>,
    /// Bytes of outputs written.
    pub bytes: Option<u64>,
    /// Bytes of inputs worked off.
    pub bytes_done: Option<u64>,
    /// Bytes of inputs that it is about.
    pub bytes_total: Option<u64>,
    /// How fast it goes.
    pub bytes_per_second: Option<f64>,
    /// How long it will still take at that rate.
    pub seconds_left: Option<f64>,
}

impl LeaseStatus {
    /// The leases on a job.
    pub fn of_job(job: &Job, heard: &Heard) -> Vec<Self> {
        let leased = job
            .ranges()
            .filter_map(|(id, range)| Some((id, range, range.lease()?)));
        leased
            .map(|(id, range, lease)| {
                let seen = heard.of(lease);
                // An attempt that has not said what it is about yet is not at its end.
                let progress = seen.map(|seen| seen.progress).filter(|said| said.total > 0);
                let rate = seen.and_then(|seen| seen.pace.bytes_per_second());
                Self {
                    job: job.id.0,
                    range: id.to_string(),
                    worker: lease.worker.to_string(),
                    watcher: lease.watcher.to_string(),
                    attempt: range.attempts,
                    silent_seconds: seen.map(|seen| since(seen.heard)),
                    phase: progress.map(|said| said.phase),
                    rows: progress.map(|said| said.rows),
                    bytes: progress.map(|said| said.bytes),
                    bytes_done: progress.map(|said| said.done.min(said.total)),
                    bytes_total: progress.map(|said| said.total),
                    bytes_per_second: rate,
                    seconds_left: progress.and_then(|said| seconds_left(said.done, said.total, rate)),
                }
            })
            .collect()
    }
}

/// A worker that holds leases, or has asked for some lately.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Its name.
    pub worker: String,
    /// Leases that it holds.
    pub leases: usize,
    /// Attempts that it could begin, as it said when it last asked.
    pub slots_free: Option<usize>,
    /// Memory that it had for them.
    pub memory_free_bytes: Option<u64>,
    /// How long ago it was last heard of.
    pub silent_seconds: Option<f64>,
    /// What it has asked of stores, if it runs elsewhere.
    pub spent: Option<Spent>,
}

impl WorkerStatus {
    /// Those who hold these leases, and those who were heard of.
    pub fn all(leases: &[LeaseStatus], heard: &Heard) -> Vec<Self> {
        let mut held: BTreeMap<&str, usize> = BTreeMap::new();
        for lease in leases {
            *held.entry(&lease.worker).or_default() += 1;
        }
        let seen: BTreeMap<String, &WorkerSeen> = heard
            .workers
            .iter()
            .map(|(id, seen)| (id.to_string(), seen))
            .collect();
        let names: BTreeSet<&str> = held
            .keys()
            .copied()
            .chain(seen.keys().map(String::as_str))
            .collect();
        let workers = names.into_iter().map(|name| {
            let said = seen.get(name);
            Self {
                worker: name.to_owned(),
                leases: held.get(name).copied().unwrap_or_default(),
                slots_free: said.and_then(|said| said.slots_free),
                memory_free_bytes: said.and_then(|said| said.memory_free_bytes),
                silent_seconds: said.map(|said| since(said.heard)),
                spent: said.and_then(|said| said.spent),
            }
        });
        workers.collect()
    }
}

/// What waits, and since when.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Queue {
    /// Jobs that nobody works on yet.
    pub planned: usize,
    /// Jobs that somebody works on.
    pub leased: usize,
    /// Jobs whose outputs are durable and on their way to their final names.
    pub compacted: usize,
    /// Bytes of the inputs of all of them.
    pub bytes: u64,
    /// Leases granted on them so far.
    pub attempts: u32,
    /// How long the oldest planned one has waited, by this machine's clock: an estimate.
    pub oldest_seconds: Option<f64>,
    /// How fast those go whose progress is known.
    pub bytes_per_second: Option<f64>,
}

fn since(heard: Instant) -> f64 {
    heard.elapsed().as_secs_f64()
}
