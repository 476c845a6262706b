//! Other watchers: judged by how long, on this process's own monotonic clock, their counter has not changed.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use baler_core::ids::{Sequence, WatcherId};
use baler_core::lease::{HostLock, Watcher};
use baler_core::request::{Reply, Request};
use tokio::time::Instant;

use super::{Watch, locked};
use crate::folder::lock;

impl Watch {
    /// Waits for what other processes hold, for as long as it takes to tell the living from the dead, and takes over
    /// from the dead. Answers whether that freed anything.
    pub async fn outwait_silent(&self) -> Result<bool> {
        let began = Instant::now();
        let before = self.others_counters();
        while began.elapsed() <= self.lease + self.lease / 4 {
            self.catch_up().await?;
            self.take_over_silent().await?;
            let now = self.others_counters();
            if now.len() < before.len() {
                return Ok(true);
            }
            if now.is_empty() || now.iter().all(|(id, counter)| before.get(id) != Some(counter)) {
                return Ok(false);
            }
            tokio::time::sleep(self.lease / 10).await;
        }
        Ok(false)
    }

    fn others_counters(&self) -> BTreeMap<WatcherId, Sequence> {
        let state = self.root.replica.state();
        let others = state.watchers.iter().filter(|(id, _)| **id != self.id);
        others.map(|(id, watcher)| (*id, watcher.counter)).collect()
    }

    /// Takes over from watchers that are proved dead, or whose counter has stood still for the lease time.
    pub async fn take_over_silent(&self) -> Result<()> {
        let silent = self.silent_watchers();
        for (watcher, counter, host) in silent.clone() {
            let request = Request::TakeOver {
                watcher,
                counter,
                by: self.id,
            };
            if let Reply::Done = self.root.replica.submit(request).await? {
                tracing::info!(%watcher, "took over from a process that ended");
                if let (Some(host), Some(folder)) = (host, self.root.site.root.as_folder()) {
                    lock::remove_dead(folder, &host)?;
                }
            }
        }
        // Whoever holds leases by now says yes for them only after a sign of life of its own.
        let answers = self.root.replica.state().watchers.contains_key(&self.id);
        if !silent.is_empty() && answers {
            self.submit(Request::Renew(self.id)).await?;
        }
        Ok(())
    }

    fn silent_watchers(&self) -> Vec<(WatcherId, Sequence, Option<HostLock>)> {
        let state = self.root.replica.state();
        let mut others = locked(&self.others);
        others.retain(|id, _| state.watchers.contains_key(id) || baler_core::planted!(IdleWatcherRobbed));
        let mut silent = Vec::new();
        for (id, watcher) in state.watchers.iter().filter(|(id, _)| **id != self.id) {
            let now = Instant::now();
            let seen = others.entry(*id).or_insert((watcher.counter, now));
            if seen.0 != watcher.counter {
                *seen = (watcher.counter, now);
            }
            let silence = match baler_core::planted!(ClocksCompared) {
                true => Duration::from_millis(self.now().since(state.time).0),
                false => seen.1.elapsed(),
            };
            if self.is_proved_dead(watcher) || silence > self.lease {
                silent.push((*id, watcher.counter, watcher.host.clone()));
            }
        }
        silent
    }

    fn is_proved_dead(&self, watcher: &Watcher) -> bool {
        match (&watcher.host, self.root.site.root.as_folder()) {
            (Some(host), Some(folder)) => lock::is_dead(folder, host),
            _ => false,
        }
    }
}
