//! What a run reached: faults of each kind, scenarios, simulated time.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::faults::Fault;
use crate::model::Model;
use crate::oracle::At;
use crate::scenarios::{self, Scenario};

/// What one run reached, or many together.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// How often a fault of each kind happened.
    pub faults: BTreeMap<Fault, u64>,
    /// How often each scenario was reached.
    pub scenarios: BTreeMap<Scenario, u64>,
    /// Simulated time.
    pub simulated: Duration,
    /// How much of it the whole fleet was switched off.
    pub dark: Duration,
    /// Requests that reached the store.
    pub requests: u64,
    /// Entries of the journal.
    pub entries: u64,
    /// Events of each kind.
    pub events: BTreeMap<String, u64>,
    /// Entries that came to a slot whose block was retired.
    pub belated: u64,
    /// Leases whose worker was not heard of any more.
    pub leases_lost: u64,
    /// Rows that were handed over.
    pub rows: u64,
}

impl Coverage {
    pub(crate) fn struck(&mut self, fault: Fault) {
        *self.faults.entry(fault).or_default() += 1;
    }

    pub(crate) fn reached(&mut self, scenario: Scenario) {
        *self.scenarios.entry(scenario).or_default() += 1;
    }

    /// How many events of a kind there were.
    pub(crate) fn seen(&self, kind: &str) -> u64 {
        self.events.get(kind).copied().unwrap_or(0)
    }

    pub(crate) fn saw(&mut self, model: &Model, at: At<'_>) {
        match self.events.get_mut(at.kind) {
            Some(count) => *count += 1,
            None => drop(self.events.insert(at.kind.to_owned(), 1)),
        }
        if at.kind == "RangeReleased" {
            let why = at.body["why"].as_str().unwrap_or_default();
            self.leases_lost += u64::from(matches!(why, "Lost" | "TakenOver" | "Stalled"));
        }
        for scenario in scenarios::seen_in(model, at) {
            self.reached(scenario);
        }
    }

    /// With what another run reached.
    pub fn add(&mut self, other: &Self) {
        let sum = |into: &mut BTreeMap<Fault, u64>, from: &BTreeMap<Fault, u64>| {
            from.iter()
                .for_each(|(key, count)| *into.entry(*key).or_default() += count);
        };
        sum(&mut self.faults, &other.faults);
        for (scenario, count) in &other.scenarios {
            *self.scenarios.entry(*scenario).or_default() += count;
        }
        for (event, count) in &other.events {
            *self.events.entry(event.clone()).or_default() += count;
        }
        self.simulated += other.simulated;
        self.dark += other.dark;
        self.requests += other.requests;
        self.entries += other.entries;
        self.belated += other.belated;
        self.leases_lost += other.leases_lost;
        self.rows += other.rows;
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.simulated.as_secs_f64() / 3_600.0;
        let dark = self.dark.as_secs_f64() / 3_600.0;
        let faults: u64 = self.faults.values().sum();
        writeln!(
            f,
            "simulated {hours:.1} hours, {dark:.1} of them switched off, {} requests, {} entries, {faults} faults",
            self.requests, self.entries
        )?;
        for fault in Fault::ALL {
            let count = self.faults.get(&fault).copied().unwrap_or(0);
            writeln!(f, "  {:<18} {count}", fault.name())?;
        }
        writeln!(f, "scenarios")?;
        for scenario in Scenario::all() {
            let count = self.scenarios.get(&scenario).copied().unwrap_or(0);
            match scenario.not_here() {
                Some(why) => writeln!(f, "  {:>2} {}: not here: {why}", scenario.0, scenario.words())?,
                None => writeln!(f, "  {:>2} {}: {count}", scenario.0, scenario.words())?,
            }
        }
        write!(f, "events")?;
        for (event, count) in &self.events {
            write!(f, " {event} {count}")?;
        }
        Ok(())
    }
}
