//! Guarantee 8: what is asked of the store is bounded, whatever fails.

use super::Wrong;
use std::time::Duration;

/// Requests that all processes together may send in a simulated minute, at the very most: a process that retries
/// without a pause sends more in a second.
const REQUESTS_A_MINUTE_MAX: f64 = 6_000.0;

/// Entries that a fleet may write in a simulated minute.
const ENTRIES_A_MINUTE_MAX: f64 = 400.0;

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
