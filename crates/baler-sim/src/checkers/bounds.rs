//! Guarantee 8: what is asked of the store is bounded, whatever fails.

use super::Wrong;
use std::time::Duration;

/// Requests that all processes together may send in a simulated minute, at the very most: a process that retries
/// without a pause sends more in a second.
const REQUESTS_A_MINUTE_MAX: f64 = 6_000.0;

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

/// At the end of a run.
pub(crate) fn at_end(requests: u64, entries: u64, elapsed: Duration, wrong: &mut Wrong) {
    let minutes = (elapsed.as_secs_f64() / 60.0).max(1.0);
    if requests as f64 / minutes > REQUESTS_A_MINUTE_MAX {
        wrong.push((8, format!("{requests} requests in {minutes:.0} minutes")));
    }
    if entries as f64 / minutes > ENTRIES_A_MINUTE_MAX {
        wrong.push((8, format!("{entries} entries in {minutes:.0} minutes")));
    }
}
