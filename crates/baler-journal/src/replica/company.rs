//! Whether others write to the journal too. An append on a stale state is lost, and costs more than a look; where nobody
//! else writes, a look is what costs.

use std::time::Duration;

use tokio::time::Instant;

/// Own appends in a row after which this replica takes itself for the only one.
const ALONE_AFTER: u32 = 16;

/// A state this old may be stale where others write; a younger one is worth a try.
const FRESH: Duration = Duration::from_millis(20);

/// What a replica has seen of others, and when it last knew the latest entry.
#[derive(Debug)]
pub(super) struct Company {
    appends_until_alone: u32,
    latest: Instant,
}

impl Company {
    pub(super) fn alone() -> Self {
        Self {
            appends_until_alone: 0,
            latest: Instant::now(),
        }
    }

    /// An entry of somebody else was read.
    pub(super) fn met(&mut self) {
        self.appends_until_alone = ALONE_AFTER;
    }

    /// The state is the latest, as far as reading can tell.
    pub(super) fn caught_up(&mut self) {
        self.latest = Instant::now();
    }

    /// The state is the latest, because an append on it was taken.
    pub(super) fn appended(&mut self) {
        self.appends_until_alone = self.appends_until_alone.saturating_sub(1);
        self.latest = Instant::now();
    }

    /// Whether to catch up before the next append.
    pub(super) fn is_worth_a_look(&self) -> bool {
        self.appends_until_alone > 0 && self.latest.elapsed() >= FRESH
    }
}
