//! Guarantee 9: no decision compares the clocks of two machines. In a run in which nothing is wrong but the clocks, no
//! lease is lost and no worker is taken for dead.

use crate::faults::Fault;
use crate::faults::Mix;

/// Whether the clocks are all that is wrong in this mix.
pub(crate) fn only_clocks(mix: &Mix) -> bool {
    let others = Fault::ALL
        .into_iter()
        .filter(|fault| !matches!(fault, Fault::WrongClock | Fault::ClockJump));
    others.into_iter().all(|fault| !mix.has(fault))
}

/// At the end of such a run.
pub(crate) fn at_end(leases_lost: u64) -> Option<String> {
    (leases_lost > 0).then(|| format!("{leases_lost} leases were lost, and only clocks were wrong"))
}
