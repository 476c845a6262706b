//! Time as arithmetic. The only clock that decisions may use is the store's, carried by the batches.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A point on the store's clock, as it stamped an object. Never compared with a machine's clock in a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StoreTime {
    /// Milliseconds since 1970-01-01 UTC.
    pub unix_ms: u64,
}

impl StoreTime {
    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.unix_ms.saturating_sub(earlier.unix_ms))
    }
}

/// A length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Millis(pub u64);

impl Millis {
    /// From whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000)
    }
}

impl Add<Millis> for StoreTime {
    type Output = Self;
    fn add(self, length: Millis) -> Self {
        Self {
            unix_ms: self.unix_ms.saturating_add(length.0),
        }
    }
}

impl Sub<Millis> for StoreTime {
    type Output = Self;
    fn sub(self, length: Millis) -> Self {
        Self {
            unix_ms: self.unix_ms.saturating_sub(length.0),
        }
    }
}
