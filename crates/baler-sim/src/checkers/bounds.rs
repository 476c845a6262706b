//! Guarantee 8: what is asked of the store is bounded, whatever fails.

use super::Wrong;
use std::time::Duration;

/// Requests that all processes together may send in a simulated minute beside those for their work, at the very most: a process
/// that retries without a pause sends more in a second.
const REQUESTS_A_MINUTE_MAX: f64 = 6_000.0;

/// Requests that a finished range may take: its inputs are read, its outputs are written, published, swept and deleted, and
/// what is decided about it is read by everybody.
const REQUESTS_A_RANGE_MAX: u64 = 50;

/// Entries that a fleet may write in a simulated minute.
const ENTRIES_A_MINUTE_MAX: f64 = 400.0;

/// Requests of one process that may come to nothing in a simulated minute: whoever waits longer and longer between two
/// tries stays far below it, whatever it is that fails.
const FAILED_A_MINUTE_MAX: u64 = 1_000;

/// So many requests of a process came to nothing in this minute.
pub(crate) fn failed(who: &str, count: u64) -> Option<String> {
    (count == FAILED_A_MINUTE_MAX)
        .then(|| format!("{who} asks again and again: {count} requests came to nothing in a minute"))
}

/// What a run took, and what was done for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) requests: u64,
    pub(crate) entries: u64,
    pub(crate) ranges: u64,
}

/// At the end of a run.
pub(crate) fn at_end(spent: &Spent, elapsed: Duration, wrong: &mut Wrong) {
    let Spent {
        requests,
        entries,
        ranges,
    } = *spent;
    let minutes = (elapsed.as_secs_f64() / 60.0).max(1.0);
    let beside_work = requests.saturating_sub(ranges * REQUESTS_A_RANGE_MAX);
    if beside_work as f64 / minutes > REQUESTS_A_MINUTE_MAX {
        wrong.push((
            8,
            format!("{requests} requests in {minutes:.0} minutes, for {ranges} ranges"),
        ));
    }
    if entries as f64 / minutes > ENTRIES_A_MINUTE_MAX {
        wrong.push((8, format!("{entries} entries in {minutes:.0} minutes")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(requests: u64, ranges: u64) -> usize {
        let (mut wrong, spent) = (
            Wrong::new(),
            Spent {
                requests,
                entries: 100,
                ranges,
            },
        );
        at_end(&spent, Duration::from_secs(300), &mut wrong);
        wrong.len()
    }

    /// Seed 310,046: without any fault a fleet finished 558 ranges in five minutes, and its work was called a storm.
    #[test]
    fn much_work_is_no_storm_and_requests_without_work_are() {
        assert_eq!(found(40_617, 558), 0);
        assert_eq!(found(40_617, 10), 1);
    }
}
