//! Planted bugs of the state machine, in walks. `cargo xtask mutants` runs it.

use std::panic::catch_unwind;

use super::walk;
use crate::decide::decide;
use crate::mutants::{Mutant, choose, chosen_outside};

/// Walks in which each must be found.
const SEEDS: u64 = 2_000;

/// Those that a walk can meet: the others are in the journal, in watchers and workers, or need a clock.
const HERE: &[Mutant] = &[
    Mutant::TokenReused,
    Mutant::RenewalWithoutCondition,
    Mutant::NoSourceCheck,
    Mutant::FinalStateOverwritten,
    Mutant::PublishedBeforeCommitted,
    Mutant::InputsGoBeforePublished,
    Mutant::UnpublishedIsLetGo,
    Mutant::StaleEvidence,
    Mutant::ForgetsConsumed,
    Mutant::PinsWhatIsGone,
    Mutant::CollectorIgnoresPins,
    Mutant::CollectorIgnoresJobs,
    Mutant::FinishedIsLeftover,
    Mutant::SweepsWhatIsLive,
    Mutant::SharedOutputNames,
    Mutant::TokenAtLeast,
    Mutant::PositionsNotCompared,
];

/// One test, because one bug is planted in a process at a time: all of them in turn, or the one that the environment names.
#[test]
#[ignore = "plants bugs in the whole process: cargo xtask mutants runs it alone"]
fn planted_bugs_of_the_core_are_found() {
    let only = chosen_outside();
    let mut missed = Vec::new();
    for mutant in HERE
        .iter()
        .filter(|mutant| only.is_none_or(|only| only == **mutant))
    {
        choose(Some(*mutant));
        let found = (0..SEEDS).find_map(|seed| Some((seed + 1, wrong(seed)?)));
        choose(None);
        match found {
            Some((seeds, wrong)) => println!("figure: {}: walk {seeds}: {wrong}", mutant.name()),
            None => missed.push(mutant.name()),
        }
    }
    assert!(missed.is_empty(), "not found in {SEEDS} walks: {missed:?}");
}

/// What a walk finds wrong. A state machine that stops with a word is found out too.
fn wrong(seed: u64) -> Option<String> {
    match catch_unwind(|| walk(seed, decide)) {
        Ok(verdict) => verdict.err(),
        Err(panic) => {
            let word = panic.downcast_ref::<String>().cloned();
            Some(word.unwrap_or_else(|| "the state machine stopped".to_owned()))
        }
    }
}
