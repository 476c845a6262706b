//! Signs of life of a remote worker. A refused renewal ends its attempt at once. Where the watcher cannot be reached, or is
//! not sure of itself, the tokens are shown to the others; only if none accepts within the lease time, the attempt ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::RemoteDesk;
use crate::desk::protocol::{self, RenewAnswer, RenewAsk};
use crate::desk::{Desk, DeskError, End, Held};
use crate::watch::{Verdict, stall};

impl RemoteDesk {
    /// Renews at a third of the lease time, for as long as it is polled.
    pub async fn keep_alive(&self) {
        let mut ticker = tokio::time::interval(self.lease() / 3);
        ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticker.tick().await;
            self.leases().end_stalled(stall());
            self.renew_all().await;
        }
    }

    async fn renew_all(&self) {
        let held = self.leases().all().into_iter();
        let held: Vec<Arc<Held>> = held.filter(|held| held.ended().is_none()).collect();
        if held.is_empty() {
            return;
        }
        let current = self.current();
        let (answered, mut unsure) = match self.show(current, protocol::RENEW, &held).await {
            Some(unsure) => (true, unsure),
            None if baler_core::planted!(StopsWithItsWatcher) => {
                for held in held {
                    held.end(End::Lost);
                }
                return;
            }
            None => (false, held),
        };
        // Who answers is asked to take them over first, so that all leases come to one watcher.
        let number = self.coordinators.len();
        let others = (1..number).map(|step| (current + step) % number);
        let order: Vec<usize> = match answered {
            true => [current].into_iter().chain(others).collect(),
            false => others.chain([current]).collect(),
        };
        for index in order {
            if unsure.is_empty() {
                return;
            }
            let shown = unsure.len();
            if let Some(left) = self.show(index, protocol::REWATCH, &unsure).await {
                if left.len() < shown {
                    self.current.store(index, Ordering::Relaxed);
                }
                unsure = left;
            }
        }
        self.give_up(&unsure);
    }

    /// Shows tokens to one coordinator. Answers with those it cannot answer for; `None` if it does not answer.
    async fn show(&self, index: usize, path: &str, held: &[Arc<Held>]) -> Option<Vec<Arc<Held>>> {
        let coordinator = self.coordinators.get(index);
        let leases = held.iter().map(|held| (held.attempt, held.progress()));
        let ask = RenewAsk {
            journal: self.hello.journal,
            worker: self.worker.clone(),
            leases: leases.collect(),
            spent: self.spent(),
        };
        let asked = Instant::now();
        let patience = (self.lease() / 3).max(Duration::from_millis(500));
        let answer: Result<RenewAnswer, DeskError> = coordinator.post(path, &ask, patience).await;
        let verdicts = match answer {
            Ok(answer) if answer.verdicts.len() == held.len() => answer.verdicts,
            Ok(_) => {
                tracing::warn!("{} leaves some leases without an answer", coordinator.name());
                return None;
            }
            Err(error) => {
                tracing::warn!("no sign of life could be given: {error}");
                return None;
            }
        };
        let mut unsure = Vec::new();
        for (held, verdict) in held.iter().zip(verdicts) {
            match verdict {
                Verdict::Kept => held.confirm(asked),
                Verdict::Unsure => unsure.push(held.clone()),
                Verdict::Lost => {
                    tracing::info!(job = %held.attempt.job, range = %held.attempt.range, "the lease is lost: the merge stops");
                    held.end(End::Lost);
                }
            }
        }
        Some(unsure)
    }

    fn give_up(&self, unsure: &[Arc<Held>]) {
        for held in unsure {
            if held.unconfirmed_for() >= self.lease() && held.end(End::Lost) {
                tracing::warn!(
                    job = %held.attempt.job,
                    range = %held.attempt.range,
                    "nobody has answered for the lease in its time: the merge stops"
                );
            }
        }
    }
}
