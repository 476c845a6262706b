//! The worlds that are looked at: small ones with every test, larger ones on demand.

use crate::mutants::Mutant;
use crate::scenario::{Purse, Scenario};

/// A few seconds each.
pub fn small() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "native, one job, a crash at any step",
            purse: purse(1, 0, 0),
            ..one_job()
        },
        Scenario {
            name: "native, one job, a lost answer at any step",
            purse: purse(0, 1, 0),
            ..one_job()
        },
        Scenario {
            name: "plain, one job, an overwritten input",
            purse: overwrites(0),
            ..plain()
        },
    ]
}

/// Minutes each.
pub fn whole() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "native, two jobs at once and a third commit, nothing goes wrong",
            reader: false,
            ..native()
        },
        Scenario {
            name: "native, two jobs at once, a crash at any step",
            reader: false,
            late_files: 0,
            commits: 2,
            purse: purse(1, 0, 0),
            ..native()
        },
        Scenario {
            name: "native, two jobs at once, a lost answer at any step",
            reader: false,
            late_files: 0,
            commits: 2,
            purse: purse(0, 1, 0),
            ..native()
        },
        Scenario {
            name: "native, one job and a second commit, a reader, nothing goes wrong",
            reader: true,
            late_files: 1,
            commits: 2,
            ..one_job()
        },
        Scenario {
            name: "native, one job, a reader, a crash and a lost answer",
            reader: true,
            purse: purse(1, 1, 0),
            ..one_job()
        },
        Scenario {
            name: "native, one job, a crash, a lost answer, a lease taken from the living",
            purse: purse(1, 1, 1),
            ..one_job()
        },
        Scenario {
            name: "plain, one job, a crash and an overwritten input",
            purse: overwrites(1),
            ..plain()
        },
        Scenario {
            name: "plain, two jobs at once, a lost answer",
            partitions: 2,
            commits: 2,
            purse: purse(0, 1, 0),
            ..plain()
        },
        Scenario {
            name: "native, two jobs at once and a third commit, a reader, a crash, a lost answer, a lease taken from the living",
            purse: purse(1, 1, 1),
            ..native()
        },
    ]
}

fn purse(crashes: u8, lost: u8, suspicions: u8) -> Purse {
    Purse {
        crashes,
        lost,
        suspicions,
        overwrites: 0,
    }
}

fn overwrites(crashes: u8) -> Purse {
    Purse {
        crashes,
        overwrites: 1,
        ..Purse::default()
    }
}

fn one_job() -> Scenario {
    Scenario {
        partitions: 1,
        late_files: 0,
        reader: false,
        commits: 1,
        ..native()
    }
}

/// A world in which the product is wrong in this way, and in which that must show.
pub fn of(mutant: Mutant) -> Scenario {
    let base = if mutant.is_native() { native() } else { plain() };
    let purse = Purse {
        lost: u8::from(matches!(
            mutant,
            Mutant::DeletesOnUnknown | Mutant::ForgetsWhatWasConsumed
        )),
        suspicions: u8::from(mutant == Mutant::TakesAnyToken),
        overwrites: u8::from(!mutant.is_native()),
        crashes: 0,
    };
    Scenario {
        name: "a planted bug",
        partitions: 1,
        purse,
        mutant: Some(mutant),
        ..base
    }
}

fn native() -> Scenario {
    Scenario {
        name: "native",
        native: true,
        partitions: 2,
        late_files: 1,
        reader: true,
        commits: 3,
        purse: Purse::default(),
        mutant: None,
    }
}

fn plain() -> Scenario {
    Scenario {
        name: "plain",
        native: false,
        partitions: 1,
        late_files: 0,
        reader: false,
        commits: 1,
        purse: Purse::default(),
        mutant: None,
    }
}
