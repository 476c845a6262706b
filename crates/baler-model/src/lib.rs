//! Every order of steps, not only those that a random run meets: the real `decide` and `apply`, in a world small enough to
//! be looked at whole.
//!
//! ```text
//!  writer ─┐                  ┌ coordinator ─ offer ─┐
//!  workers ├─ requests ─▶ one of                     ├─▶ journal: the next number, or nothing
//!  reader  │                  └ coordinator ─ offer ─┘
//!  collector ─┘     every one may crash, every answer may be lost, every offer may land late
//! ```
//!
//! `stateright` walks through all reachable worlds, breadth first, and looks at each with the properties of `properties`.
//! Faults come from a purse (`Scenario`), so that the space ends. Time stands still: grace periods are waived, and what
//! runs on a clock (leases, watchers) may happen at any moment.

mod collector;
mod coordinators;
mod disk;
mod entry;
mod mutants;
mod properties;
mod reader;
mod scenario;
pub mod scenarios;
mod step;
mod workers;
mod world;
mod writer;

pub use mutants::Mutant;
pub use scenario::{Purse, Scenario};

use std::time::{Duration, Instant};

use stateright::{Checker, Model, Property};
use step::Step;
use world::World;

/// What was found in a scenario.
#[derive(Debug)]
pub struct Report {
    /// The scenario's name.
    pub scenario: &'static str,
    /// Different worlds that were looked at.
    pub worlds: usize,
    /// Steps from one to another.
    pub steps: usize,
    /// The longest way that was gone.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// Whether all worlds were looked at.
    pub whole: bool,
    /// Properties that do not hold, each with the steps that lead there; or, for one that must be possible, with none.
    pub broken: Vec<(&'static str, Vec<String>)>,
}

/// Looks at every world of a scenario, or until a property is found broken.
/// `patience` is how long: a world that is too large is looked at breadth first until then.
pub fn check(scenario: &Scenario, threads: usize, patience: Duration) -> Report {
    let start = Instant::now();
    let builder = Scenario::clone(scenario)
        .checker()
        .threads(threads)
        .timeout(patience);
    let failures = stateright::HasDiscoveries::AnyFailures;
    let checker = builder.finish_when(failures).spawn_bfs().join();
    let whole = start.elapsed() < patience;
    let discoveries = checker.discoveries();
    let mut broken = Vec::new();
    for property in checker.model().properties() {
        let found = discoveries.get(property.name);
        match (&property.expectation, found) {
            (stateright::Expectation::Sometimes, None) if whole && scenario.mutant.is_none() => {
                broken.push((property.name, Vec::new()))
            }
            (stateright::Expectation::Sometimes, _) | (_, None) => {}
            (_, Some(path)) => {
                let steps = path.clone().into_actions();
                broken.push((
                    property.name,
                    steps.iter().map(|step| format!("{step:?}")).collect(),
                ));
            }
        }
    }
    Report {
        scenario: scenario.name,
        worlds: checker.unique_state_count(),
        steps: checker.state_count(),
        depth: checker.max_depth(),
        took: start.elapsed(),
        whole,
        broken,
    }
}

impl Model for Scenario {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        world.steps(steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        next.take(self, step).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
