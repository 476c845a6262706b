//! Chance that comes from a seed. Each node and each concern has dice of its own, so that taking one kind of fault away
//! leaves the throws of the others as they are for as long as the run itself does.

use std::time::Duration;

/// Dice: SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice of this seed for this concern.
    pub(crate) fn new(seed: u64, concern: &str) -> Self {
        Self(xxhash_rust::xxh3::xxh3_64_with_seed(concern.as_bytes(), seed))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.bits() % end.max(1)
    }

    /// A number from this one on, below that one.
    pub(crate) fn between(&mut self, from: u64, until: u64) -> u64 {
        from + self.below(until - from)
    }

    /// In `0.0..1.0`.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True so often in a thousand.
    pub(crate) fn permille(&mut self, often: u64) -> bool {
        self.below(1_000) < often
    }

    /// A length of time around this one: mostly shorter, now and then much longer.
    pub(crate) fn about(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(-(1.0 - self.fraction()).ln())
    }

    /// One of these.
    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}
