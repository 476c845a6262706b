//! What goes through the cascade with each key: the number of its lane and, where both fit into 64 bits, above it the version of its row.
//! So the newest of some rows with one key is that with the greatest tag, the last of them if several have it, and no version has to be
//! looked up where its lane has it.

use super::place::Lane;

/// How the rows of one chunk are tagged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tags {
    lane_bits: u32,
    lane_mask: u64,
    /// Tags hold versions.
    pub(super) dated: bool,
}

impl Tags {
    /// For a chunk that takes so many rows of these lanes.
    pub(super) fn of<C>(lanes: &[Lane<'_, C>], counts: &[(u32, usize)]) -> Self {
        let lane_bits = usize::BITS - lanes.len().saturating_sub(1).leading_zeros();
        let fits = |(number, rows): &(u32, usize)| {
            let versions = versions(&lanes[*number as usize], *rows);
            versions.is_some_and(|versions| {
                let bits = versions.iter().fold(0, |bits, version| bits | version);
                bits.leading_zeros() >= lane_bits
            })
        };
        Self {
            lane_bits,
            lane_mask: !u64::MAX.checked_shl(lane_bits).unwrap_or(0),
            dated: counts.iter().all(fits),
        }
    }

    /// The tags of the next `rows` rows of a lane.
    pub(super) fn next<'l, C>(
        self,
        lane: &'l Lane<'_, C>,
        number: u32,
        rows: usize,
    ) -> impl Iterator<Item = u64> + 'l {
        let versions = versions(lane, rows).filter(|_| self.dated);
        let above = versions.unwrap_or_default().iter();
        let above = above.map(move |version| version.checked_shl(self.lane_bits).unwrap_or(0));
        let without = std::iter::repeat_n(0, if versions.is_some() { 0 } else { rows });
        above.chain(without).map(move |above| above | u64::from(number))
    }

    pub(super) fn lane(self, tag: u64) -> u32 {
        (tag & self.lane_mask) as u32
    }
}

fn versions<'l, C>(lane: &'l Lane<'_, C>, rows: usize) -> Option<&'l [u64]> {
    let ages = lane.block.as_ref()?.ages.as_ref()?;
    ages.short()?.get(lane.at..lane.at + rows)
}
