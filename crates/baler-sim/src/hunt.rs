//! Hunts planted bugs: one is switched on, and some seed must show it. One that nothing shows would be a hole in the checkers.

use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use baler_core::mutants::{self, Mutant};

use crate::oracle::Violation;
use crate::run::{Options, run};

/// Those that some thirty seeds show within seconds: every test run can afford five of them.
pub const FOUND_SOON: &[Mutant] = &[
    Mutant::ReaderIgnoresBoundary,
    Mutant::GroupOnOneState,
    Mutant::ResumeSkipsBatch,
    Mutant::TokenAtLeast,
    Mutant::TokenReused,
    Mutant::HeartbeatByBytes,
    Mutant::RenewalWithoutCondition,
    Mutant::GoneBeforeTheCut,
    Mutant::StaleEvidence,
    Mutant::InputsGoBeforePublished,
    Mutant::UnpublishedIsLetGo,
    Mutant::PublishedBeforeCommitted,
    Mutant::ForgetsConsumed,
    Mutant::CollectorIgnoresPins,
    Mutant::SweepsWhatIsLive,
    Mutant::DeletesByName,
    Mutant::GraceBeginsEarly,
    Mutant::AddsWhatIsDue,
    Mutant::TombstoneDroppedEarly,
    Mutant::WrongTieBreak,
];

/// What showed a planted bug.
#[derive(Clone, Debug)]
pub struct Catch {
    /// How many seeds it took, counted from the first.
    pub seeds: u64,
    /// What was wrong in the last of them.
    pub violation: Violation,
}

/// Plants the bug in this process and runs seeds until one shows it.
pub fn hunt(mutant: Mutant, from: u64, seeds: u64, threads: u64) -> Option<Catch> {
    mutants::choose(Some(mutant));
    let (next, first) = (AtomicU64::new(0), Mutex::new(None::<Catch>));
    let caught = || first.lock().map_or(None, |first| first.clone());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= seeds || caught().is_some() {
                return;
            }
            let Some(violation) = shown_by(from + number) else {
                continue;
            };
            let seeds = number + 1;
            if let Ok(mut first) = first.lock()
                && first.as_ref().is_none_or(|first| seeds < first.seeds)
            {
                *first = Some(Catch { seeds, violation });
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    mutants::choose(None);
    caught()
}

/// A bug may bring the whole world down: that shows it too.
fn shown_by(seed: u64) -> Option<Violation> {
    match catch_unwind(|| run(seed, &Options::default())) {
        Ok(outcome) => outcome.violations.into_iter().next(),
        Err(_panic) => Some(Violation {
            guarantee: 8,
            what: "the run panicked".to_owned(),
        }),
    }
}
