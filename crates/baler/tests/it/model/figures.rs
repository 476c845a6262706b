//! Figures of a run, and the rows that `cargo xtask bench fleet` makes tables of.

use std::fmt;
use std::time::Duration;

use baler_journal::counters::Counters;

use super::fleet::Fleet;

/// Many lengths of time, in order.
pub(super) struct Times(Vec<Duration>);

impl Times {
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    pub(super) fn percentile(&self, percent: usize) -> Duration {
        let last = self.0.len().checked_sub(1).expect("something was timed");
        self.0[(last * percent).div_ceil(100)]
    }
}

/// Half of them, and all but a hundredth, took no longer.
impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |percent| self.percentile(percent).as_secs_f64();
        write!(f, "{:.2} / {:.2}", seconds(50), seconds(99))
    }
}

/// What a fleet asked of the store for its journal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    /// Entries that were written.
    pub(super) entries: u64,
    /// Those among them that say nothing but that a watcher lives.
    pub(super) renewals: u64,
    pub(super) conflicts: u64,
    /// Entries that were read, or looked for.
    pub(super) reads: u64,
    /// Times that a process looked for what is new.
    pub(super) looks: u64,
    /// Everything that the store was asked.
    pub(super) requests: u64,
}

impl Traffic {
    /// Of all processes so far. Renewals are counted by `Fleet::renewals`.
    pub(super) fn so_far(fleet: &Fleet) -> Self {
        let journals = || fleet.processes.iter().map(|process| process.journal());
        let sum = |of: fn(&Counters) -> u64| journals().map(|journal| of(journal.counters())).sum();
        Self {
            entries: sum(|counters| counters.commits.get()),
            renewals: 0,
            conflicts: sum(|counters| counters.conflicts.get()),
            reads: sum(|counters| counters.reads.get() + counters.read_backs.get()),
            looks: sum(|counters| counters.looks.get()),
            requests: fleet
                .processes
                .iter()
                .map(|process| process.store.requests())
                .sum(),
        }
    }

    pub(super) fn since(self, before: Self) -> Self {
        Self {
            entries: self.entries - before.entries,
            renewals: self.renewals,
            conflicts: self.conflicts - before.conflicts,
            reads: self.reads - before.reads,
            looks: self.looks - before.looks,
            requests: self.requests - before.requests,
        }
    }
}

/// A row of the table of this name.
pub(super) fn row(table: &str, cells: &[String]) {
    println!("fleet {table}: | {} |", cells.join(" | "));
}
