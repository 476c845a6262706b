//! Waits between tries: doubling, with jitter, bounded.

use std::time::Duration;

use baler_core::planted;

use crate::host;
use crate::limits::{BACKOFF_MAX, BACKOFF_MIN};

/// Sleeps before try number `try_number` (counted from 0) is made again.
pub(crate) async fn pause(try_number: u32) {
    if planted!(RetryWithoutBudget) {
        return;
    }
    tokio::time::sleep(longest(try_number).mul_f64(host::fraction())).await;
}

fn longest(try_number: u32) -> Duration {
    BACKOFF_MIN
        .saturating_mul(1 << try_number.min(16))
        .min(BACKOFF_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trap: with retries that never back off, nobody else gets in.
    #[test]
    fn waits_double_up_to_a_bound() {
        assert_eq!(longest(0), BACKOFF_MIN);
        assert_eq!(longest(3), 8 * BACKOFF_MIN);
        assert_eq!(longest(12), BACKOFF_MAX);
        assert_eq!(longest(u32::MAX), BACKOFF_MAX);
    }
}
