//! Makes a failing seed smaller: kinds of faults are left out one by one, for as long as it still fails.

use std::collections::BTreeSet;

use crate::faults::Fault;
use crate::run::{Options, Outcome, run};

/// A failing run with as few kinds of faults as can be, and the kinds that are left.
pub fn shrink(failed: &Outcome, options: &Options) -> (Outcome, BTreeSet<Fault>) {
    let mut smallest = failed.clone();
    let mut without = options.without.clone();
    for fault in Fault::ALL {
        if !without.insert(fault) {
            continue;
        }
        let tried = Options {
            without: without.clone(),
            ..options.clone()
        };
        let outcome = run(failed.seed, &tried);
        match outcome.violations.is_empty() {
            true => drop(without.remove(&fault)),
            false => smallest = outcome,
        }
    }
    let left = Fault::ALL.into_iter().filter(|fault| !without.contains(fault));
    (smallest, left.collect())
}
