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

    /// The time of rows that were this old now. Lengths beyond all time reach to its beginning.
    pub fn rows_aged(self, age: Millis) -> RowTime {
        let wide = i128::from(self.unix_ms) - i128::from(age.0);
        RowTime {
            unix_ms: i64::try_from(wide).unwrap_or(if wide < 0 { i64::MIN } else { i64::MAX }),
        }
    }
}

/// A time that stands in a row, as the writer of the row put it there. It is data: nothing says that it is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RowTime {
    /// Milliseconds since 1970-01-01 UTC; negative before.
    pub unix_ms: i64,
}

/// Inclusive bounds of the times in a file's rows. They may be loose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeRange {
    /// No row is older than this.
    pub min: RowTime,
    /// No row is newer than this.
    pub max: RowTime,
}

impl TimeRange {
    /// Bounds of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// What a store may cut off from the time at which it wrote an object.
const COARSEST_STAMP_MS: u64 = 1_000;

/// A length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Millis(pub u64);

impl Millis {
    /// From whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000)
    }

    /// How far two stamps must be apart so that at least this long has passed: many stores cut theirs to whole seconds, and
    /// then two of them can be up to a second further apart than what they were given to.
    #[must_use]
    pub const fn between_stamps(self) -> Self {
        match self.0 {
            0 => self,
            length => Self(length.saturating_add(COARSEST_STAMP_MS)),
        }
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
