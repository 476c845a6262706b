//! How much may be tried again. Each request earns a fifth of a retry, and a reserve covers a short outage. So in a
//! storm of failures a store meets at most a fifth more requests than without retries, instead of many times as many.

use std::sync::{Mutex, PoisonError};

/// What a request earns.
const SHARE: f64 = 0.2;
/// What can be saved up, and is there at the start.
const RESERVE: f64 = 100.0;

/// The retries that are left.
#[derive(Debug)]
pub(in crate::store) struct Budget {
    left: Mutex<f64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            left: Mutex::new(RESERVE),
        }
    }
}

impl Budget {
    /// A request is sent for the first time.
    pub(in crate::store) fn earn(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = (*left + SHARE).min(RESERVE);
    }

    /// Takes one retry, if there is one left.
    pub(in crate::store) fn spend(&self) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = *left >= 1.0;
        if enough {
            *left -= 1.0;
        }
        enough
    }
}
