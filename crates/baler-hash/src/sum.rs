//! A sum of hashes, by halves: a wide register adds eight words of 64 bits at once, but none of 128.

/// A sum of hashes modulo 2^128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    low: u64,
    high: u64,
}

impl Sum {
    /// The sum of no hashes.
    pub const ZERO: Self = Self { low: 0, high: 0 };

    /// Counts one hash in.
    #[inline]
    pub fn add(&mut self, hash: u128) {
        self.add_halves(hash as u64, (hash >> 64) as u64);
    }

    /// As one number.
    #[inline]
    pub fn whole(self) -> u128 {
        u128::from(self.low) | u128::from(self.high) << 64
    }

    /// The low and the high half.
    #[inline(always)]
    pub(crate) fn halves(self) -> (u64, u64) {
        (self.low, self.high)
    }

    #[inline(always)]
    pub(crate) fn of_halves(low: u64, high: u64) -> Self {
        Self { low, high }
    }

    /// Steps that have room in registers of any width; a sum that is less than what was added has gone past its end.
    #[inline(always)]
    pub(crate) fn add_halves(&mut self, low: u64, high: u64) {
        self.low = self.low.wrapping_add(low);
        let carried = u64::from(self.low < low);
        self.high = self.high.wrapping_add(high).wrapping_add(carried);
    }
}

impl From<u128> for Sum {
    #[inline]
    fn from(whole: u128) -> Self {
        Self::of_halves(whole as u64, (whole >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_whole_numbers() {
        let ends = [0, 1, u128::from(u64::MAX), 1 << 64, u128::MAX - 1, u128::MAX];
        for (one, other) in ends
            .iter()
            .flat_map(|one| ends.iter().map(move |other| (*one, *other)))
        {
            let mut sum = Sum::from(one);
            sum.add(other);
            assert_eq!(sum.whole(), one.wrapping_add(other));
        }
    }
}
