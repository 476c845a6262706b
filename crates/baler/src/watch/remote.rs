//! The workers whose leases this process answers for. Those elsewhere renew here, which costs no append; each lease is timed
//! from when its grant was applied, so that one whose grant never arrived is timed too. A worker in this process is heard
//! for as long as it has the attempt under way.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use baler_core::event::ReleaseReason;
use baler_core::ids::{Sequence, Token, WatcherId, WorkerId};
use baler_core::lease::Lease;
use baler_core::names::Attempt;
use baler_core::request::{Refusal, Reply, Request};
use baler_core::state::State;
use futures::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Watch, locked};
use crate::desk::Progress;
use crate::report::Pace;

/// What a worker is told about one of its leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is held.
    Kept,
    /// This process cannot say so now: another one answers for it, or its own last sign of life is too old. Show the token
    /// to any coordinator.
    Unsure,
    /// It is not held any more: stop.
    Lost,
}

/// What is known of the attempts that this process answers for.
#[derive(Debug, Default)]
pub(super) struct Remote {
    timed: BTreeMap<(Sequence, u32), Seen>,
    looked: Option<Instant>,
    let_go: u64,
}

/// What is known of one attempt.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Which.
    pub attempt: Attempt,
    /// Who works on it.
    pub worker: WorkerId,
    /// When it was last heard of.
    pub heard: Instant,
    /// How far it is.
    pub progress: Progress,
    /// How fast it gets there.
    pub pace: Pace,
}

impl Seen {
    fn hear(&mut self, progress: Progress) {
        if baler_core::planted!(HeartbeatByBytes) && progress.bytes == self.progress.bytes {
            return;
        }
        self.heard = Instant::now();
        self.progress = progress;
        self.pace.note(self.heard, progress.done);
    }
}

impl Watch {
    /// A worker shows that it lives. "No" is said only on a state that was read after it asked.
    pub async fn renew(&self, leases: &[(Attempt, Progress)]) -> Vec<Verdict> {
        let known = leases
            .iter()
            .all(|(attempt, _)| self.root.replica.state().lease_held(attempt).is_some());
        let read = known || self.catch_up().await.is_ok();
        let state = self.root.replica.state();
        let sure = self.is_sure();
        let mut remote = locked(&self.remote);
        let verdicts = leases.iter().map(|(attempt, progress)| {
            let Some(lease) = lease_of(&state, attempt) else {
                return if read { Verdict::Lost } else { Verdict::Unsure };
            };
            if let Some(seen) = remote.timed.get_mut(&key(attempt.token)) {
                seen.hear(*progress);
            }
            match lease.watcher == self.id && sure {
                true => Verdict::Kept,
                false => Verdict::Unsure,
            }
        });
        verdicts.collect()
    }

    /// Workers that cannot reach their watcher show their tokens here. All of them share one append.
    pub async fn rewatch(&self, attempts: &[Attempt]) -> Vec<Verdict> {
        let asked = attempts.iter().map(|attempt| {
            self.submit(Request::Rewatch {
                watcher: self.id,
                attempts: vec![*attempt],
            })
        });
        let verdicts = join_all(asked).await.into_iter().map(|reply| match reply {
            Ok(Reply::Done) => Verdict::Kept,
            Ok(Reply::Refused(Refusal::NoSuchLease { .. })) => Verdict::Lost,
            Ok(other) => {
                tracing::error!("a token that was shown was answered {other:?}");
                Verdict::Unsure
            }
            Err(error) => {
                tracing::warn!("a token was shown, and the journal did not take it: {error}");
                Verdict::Unsure
            }
        });
        verdicts.collect()
    }

    /// Times the leases that this process answers for and lets silent ones go, for as long as it is polled.
    pub async fn time_leases(&self) {
        let pace = (self.lease / 10).max(Duration::from_millis(50));
        let states = self.root.replica.watch();
        loop {
            let seen = states.now().sequence;
            let silent = self.silent_workers();
            if !silent.is_empty()
                && let Err(error) = self.let_go(&silent).await
            {
                tracing::warn!("silent workers keep their leases for now: {error:#}");
            }
            // A new grant is timed from when it was applied, so that is when it must be noticed.
            let changed = states.after(seen);
            if let Ok(None) = tokio::time::timeout(pace, changed).await {
                // The replica has stopped, and says so at once: whoever asked without a pause would do nothing else.
                tokio::time::sleep(pace).await;
            }
        }
    }

    /// The attempts that this process answers for, as they were last heard of.
    pub fn watched(&self) -> Vec<Seen> {
        locked(&self.remote).timed.values().cloned().collect()
    }

    /// How many leases were let go because nothing was heard of them.
    pub fn let_go_count(&self) -> u64 {
        locked(&self.remote).let_go
    }

    pub(super) fn silent_workers(&self) -> Vec<Attempt> {
        let state = self.root.replica.state();
        let now = Instant::now();
        let mut remote = locked(&self.remote);
        let slept = remote.looked.is_some_and(|looked| now - looked > self.lease / 2);
        remote.looked = Some(now);
        if slept {
            // Nobody was heard while this process slept: that is not the workers' silence.
            remote.timed.values_mut().for_each(|seen| seen.heard = now);
        }
        let before = std::mem::take(&mut remote.timed);
        for (attempt, worker) in watched_by(&state, self.id) {
            let seen = before.get(&key(attempt.token)).cloned();
            if baler_core::planted!(GrantNotTimed) && seen.is_none() {
                continue;
            }
            let seen = seen.unwrap_or(Seen {
                attempt,
                worker,
                heard: now,
                progress: Progress::default(),
                pace: Pace::default(),
            });
            remote.timed.insert(key(attempt.token), seen);
        }
        for held in self.leases.all() {
            if let Some(seen) = remote.timed.get_mut(&key(held.attempt.token)) {
                seen.hear(held.progress());
            }
        }
        let patience = self.lease * if baler_core::planted!(DeathSeenLate) { 3 } else { 1 };
        let silent = remote.timed.values().filter(|seen| now - seen.heard > patience);
        silent.map(|seen| seen.attempt).collect()
    }

    /// Workers elsewhere may have found another watcher meanwhile: only what is still this one's expires. An attempt of
    /// this very process that nobody works on any more is given back.
    pub(super) async fn let_go(&self, silent: &[Attempt]) -> Result<()> {
        let state = self.root.replica.state();
        let embedded = |attempt: &&Attempt| lease_of(&state, attempt).is_some_and(|lease| lease.embedded);
        let (own, elsewhere): (Vec<&Attempt>, Vec<&Attempt>) = silent.iter().partition(embedded);
        for attempt in silent {
            tracing::info!(job = %attempt.job, range = %attempt.range, "nothing was heard of its worker: it is free again");
        }
        for attempt in own {
            let release = Request::Release {
                attempt: *attempt,
                why: ReleaseReason::NodeFault("its attempt ended without a word".into()),
                culprits: vec![],
            };
            self.root.replica.submit(release).await?;
        }
        if !elsewhere.is_empty() {
            let expire = Request::Expire {
                watcher: self.id,
                attempts: elsewhere.into_iter().copied().collect(),
            };
            self.root.replica.submit(expire).await?;
        }
        locked(&self.remote).let_go += silent.len() as u64;
        Ok(())
    }
}

fn lease_of<'a>(state: &'a State, attempt: &Attempt) -> Option<&'a Lease> {
    state.lease_held(attempt)?.range(attempt.range)?.lease()
}

fn watched_by(state: &State, watcher: WatcherId) -> Vec<(Attempt, WorkerId)> {
    if !state.watchers.contains_key(&watcher) {
        return Vec::new();
    }
    let mut watched = Vec::new();
    for job in state.jobs.values() {
        for (range, lease) in job.leases() {
            if lease.watcher == watcher {
                let attempt = Attempt {
                    job: job.id,
                    range,
                    token: lease.token,
                };
                watched.push((attempt, lease.worker.clone()));
            }
        }
    }
    watched
}

fn key(token: Token) -> (Sequence, u32) {
    (token.sequence, token.index)
}
