//! The proof's currency: an order-independent hash of a multiset of rows.
//!
//! A row's hash covers its column names and values, not their order, width or encoding; a digest is the wrapping sum of
//! row hashes. So digests of parts add up to the digest of the whole, and equal digests mean equal rows, each as often.
//!
//! ```text
//! value  → its canonical form, hashed by column path and kind; a null is 0, so absent equals null
//! row    → the sum of its values, sealed: not linear, so values swapped between rows or columns show
//! digest → sum of rows, modulo 2^128
//! ```

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// An order-independent hash of a multiset of rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Digest(u128);

impl Digest {
    /// The digest of no rows.
    pub const EMPTY: Digest = Digest(0);

    /// From its sixteen bytes, little end first.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_le_bytes(bytes))
    }

    /// Its sixteen bytes, little end first.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// Counts one row of this hash in.
    pub(crate) fn add_row(&mut self, hash: u128) {
        self.0 = self.0.wrapping_add(hash);
    }
}

impl Add for Digest {
    type Output = Digest;
    fn add(self, other: Digest) -> Digest {
        Digest(self.0.wrapping_add(other.0))
    }
}

impl AddAssign for Digest {
    fn add_assign(&mut self, other: Digest) {
        *self = *self + other;
    }
}

impl Sum for Digest {
    fn sum<I: Iterator<Item = Digest>>(digests: I) -> Digest {
        digests.fold(Digest::EMPTY, Add::add)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}
