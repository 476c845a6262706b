//! What memory a worker has for what it is granted.

use serde::{Deserialize, Serialize};

/// The memory of a worker: one budget for all that it works on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The whole budget.
    pub all_bytes: u64,
    /// Ranges that it can work on at once, if it works on nothing.
    pub places: usize,
    /// What nothing that it works on holds.
    pub free_bytes: u64,
}

impl Memory {
    /// An even share of it. With so much any merge may begin, however large: the engine spills.
    pub fn even_bytes(&self) -> u64 {
        self.all_bytes / self.places.max(1) as u64
    }
}
