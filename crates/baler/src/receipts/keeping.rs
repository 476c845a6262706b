//! Receipts in a process that goes on. In a fleet each one is written by one process, and costs no entry of its own: when its
//! job was committed comes to be known with the next entry, whoever writes it, and the report goes with the next thing that this
//! process appends. What waits too long for that is done in its own right, by whoever comes first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use baler_core::ids::{JobId, WatcherId};
use baler_core::limits::COMMITTED_JOBS_MAX;
use baler_core::request::Request;
use baler_core::state::State;
use baler_journal::host;
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use super::writing;
use crate::root::Root;
use crate::watch::jittered;

/// How often it looks.
const PACE: Duration = Duration::from_secs(1);

/// How long a receipt waits for company if nobody else is there.
const ALONE: Duration = Duration::from_secs(5);

/// How long if others are there, and up to twice as long, so that not all come at once.
const IN_COMPANY: Duration = Duration::from_secs(20);

/// Committed jobs in the state beyond which nothing waits: soon some would get no receipt.
const HASTE: usize = COMMITTED_JOBS_MAX + 64;

/// Goes on writing what is due until it is dropped.
pub async fn keep_writing(root: Arc<Root>, me: WatcherId) {
    let mut keeper = Keeper {
        root,
        me,
        patience: IN_COMPANY.mul_f64(1.0 + host::fraction()),
        due: BTreeMap::new(),
    };
    loop {
        tokio::time::sleep(jittered(PACE)).await;
        if let Err(error) = keeper.look().await {
            tracing::warn!("receipts wait: {error:#}");
        }
    }
}

struct Keeper {
    root: Arc<Root>,
    me: WatcherId,
    patience: Duration,
    due: BTreeMap<JobId, Due>,
}

#[derive(Clone, Copy)]
struct Due {
    since: Instant,
    written: bool,
}

impl Keeper {
    async fn look(&mut self) -> Result<()> {
        let state = self.root.replica.state();
        self.note(&state);
        if state.committed.len() > HASTE || self.has_waited(&state) {
            writing::write_due(&self.root).await?;
            return Ok(());
        }
        let mine = |job: JobId| {
            let ended = state.committed.get(&job).map(|committed| committed.ended);
            ended.is_some_and(|ended| state.began(ended).is_some()) && is_whose(&state, job) == Some(self.me)
        };
        let written = |job: JobId| self.due.get(&job).is_some_and(|due| due.written);
        if !state
            .receipts_due()
            .any(|due| mine(due.job.id) && !written(due.job.id))
        {
            return Ok(());
        }
        let written = writing::write_those(&self.root, |job| mine(job) && !written(job)).await?;
        for job in &written {
            self.due.entry(*job).and_modify(|due| due.written = true);
        }
        Ok(self
            .root
            .replica
            .mention(Request::ReportReceipts(written))
            .await?)
    }

    fn note(&mut self, state: &State) {
        let now = Instant::now();
        let new = Due {
            since: now,
            written: false,
        };
        let due = state.receipts_due().map(|due| due.job.id);
        self.due = due
            .map(|job| (job, self.due.get(&job).copied().unwrap_or(new)))
            .collect();
    }

    fn has_waited(&self, state: &State) -> bool {
        let patience = match state.watchers.keys().any(|other| *other != self.me) {
            true => self.patience,
            false => ALONE,
        };
        self.due.values().any(|due| due.since.elapsed() >= patience)
    }
}

/// Who is to write a receipt, of those who answer for leases. All who see the same state agree, and when one leaves only
/// what was his goes to others.
fn is_whose(state: &State, job: JobId) -> Option<WatcherId> {
    let weight = |watcher: &WatcherId| xxh3_64(format!("{job} {watcher}").as_bytes());
    state.watchers.keys().copied().max_by_key(weight)
}

#[cfg(test)]
mod tests {
    use baler_core::ids::Sequence;
    use baler_core::lease::Watcher;

    use super::*;

    /// Sixteen processes that all write the same receipts are sixteen times the requests.
    #[test]
    fn each_receipt_is_for_one_process_and_all_have_their_share() {
        let mut state = State::default();
        let present = Watcher {
            counter: Sequence(1),
            leases: 1,
            host: None,
        };
        for watcher in 0..16 {
            state.watchers.insert(WatcherId(watcher), present.clone());
        }
        let mut shares = BTreeMap::<WatcherId, u32>::new();
        for job in 0..1_600 {
            *shares.entry(is_whose(&state, JobId(job)).unwrap()).or_default() += 1;
        }
        assert_eq!(shares.len(), 16);
        assert!(
            shares.values().all(|share| (50..200).contains(share)),
            "{shares:?}"
        );
        let before: Vec<_> = (0..1_600).map(|job| is_whose(&state, JobId(job))).collect();
        state.watchers.remove(&WatcherId(3));
        for (job, before) in (0..1_600).zip(before) {
            let now = is_whose(&state, JobId(job));
            assert!(now == before || before == Some(WatcherId(3)), "job {job}");
        }
    }
}
