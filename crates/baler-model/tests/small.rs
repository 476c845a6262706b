//! The small worlds whole, and the planted bugs. `cargo xtask model` looks at the larger ones.

use std::time::Duration;

use baler_model::{Mutant, check, scenarios};

const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn no_order_of_steps_breaks_a_guarantee_in_the_small_worlds() {
    for scenario in scenarios::small() {
        let report = check(&scenario, 2, PATIENCE);
        println!("{}: {} distinct worlds", report.scenario, report.worlds);
        assert!(report.whole && report.broken.is_empty(), "{report:#?}");
    }
}

#[test]
fn planted_bugs_are_found() {
    for mutant in Mutant::ALL {
        let report = check(&scenarios::of(mutant), 2, PATIENCE);
        assert!(
            !report.broken.is_empty(),
            "{mutant:?} was not found in {} worlds",
            report.worlds
        );
    }
}
