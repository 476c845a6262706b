//! Keeping house: replaced files go out of sight as soon as their jobs are committed; what has waited out its grace goes;
//! and the state is told the time where something waits for it.

use std::time::Duration;

use anyhow::Result;
use baler_core::request::{Grace, Scope};
use baler_core::scheduler;
use tokio::time::Instant;

use super::Station;
use crate::watch::jittered;
use crate::{collector, upkeep};

/// How often it is looked for replaced files, at most: until they are gone, readers who list see their rows twice.
const PACE: Duration = Duration::from_millis(200);

/// How often ages are judged by this machine's clock.
const AGEING: Duration = Duration::from_secs(30);

/// How often garbage is collected.
const COLLECTING: Duration = Duration::from_secs(300);

impl Station {
    pub(super) async fn keep_house(&self) {
        let states = self.root.replica.watch();
        let mut due = Due::new();
        loop {
            let seen = states.now().sequence;
            if let Err(error) = self.tidy_up(&mut due).await {
                tracing::warn!("upkeep goes on later: {error:#}");
            }
            tokio::time::sleep(jittered(PACE)).await;
            let changed = states.after(seen);
            let _ = tokio::time::timeout(due.next(), changed).await;
        }
    }

    async fn tidy_up(&self, due: &mut Due) -> Result<()> {
        collector::clear_sight(&self.root).await?;
        if due.store_is_due(
            scheduler::backed_off_for(&self.root.replica.state(), &Scope::everything())
                .map(|wait| Duration::from_millis(wait.0)),
        ) {
            upkeep::tell_the_time(&self.root).await?;
        }
        if due.is_due(Chore::Ageing) {
            let tables = self.root.tables(None)?;
            upkeep::ask_for_the_present(&self.root, &tables, &Scope::everything()).await?;
        }
        if due.is_due(Chore::Collecting) {
            let tables = self.root.tables(None)?;
            upkeep::apply_retention(&self.root, &tables).await?;
            collector::collect(&self.root, Grace::Kept).await?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Chore {
    Ageing,
    Collecting,
}

/// What is to be done when.
struct Due {
    ageing: Instant,
    collecting: Instant,
    /// Since when ranges are known to wait for the store.
    backed_off: Option<Instant>,
}

impl Due {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            ageing: now,
            collecting: now,
            backed_off: None,
        }
    }

    fn is_due(&mut self, chore: Chore) -> bool {
        let (at, every) = match chore {
            Chore::Ageing => (&mut self.ageing, AGEING),
            Chore::Collecting => (&mut self.collecting, COLLECTING),
        };
        let due = Instant::now() >= *at;
        if due {
            *at = Instant::now() + jittered(every);
        }
        due
    }

    /// The state's time moves with entries only: whoever has waited long enough tells it.
    fn store_is_due(&mut self, wait: Option<Duration>) -> bool {
        let Some(wait) = wait else {
            self.backed_off = None;
            return false;
        };
        let since = *self.backed_off.get_or_insert_with(Instant::now);
        let due = since.elapsed() >= wait;
        if due {
            self.backed_off = None;
        }
        due
    }

    fn next(&self) -> Duration {
        let next = self.ageing.min(self.collecting);
        let left = next.saturating_duration_since(Instant::now());
        match self.backed_off {
            Some(_) => left.min(PACE),
            None => left,
        }
    }
}
