//! Waits between tries: doubling, with jitter, bounded.

use std::time::Duration;

use crate::limits::{BACKOFF_MAX, BACKOFF_MIN};

/// Sleeps before try number `try_number` (counted from 0) is made again.
pub(crate) async fn pause(try_number: u32) {
    let longest = BACKOFF_MIN
        .saturating_mul(1 << try_number.min(16))
        .min(BACKOFF_MAX);
    let micros = rand::random_range(0..=longest.as_micros() as u64);
    tokio::time::sleep(Duration::from_micros(micros)).await;
}
