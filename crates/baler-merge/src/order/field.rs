//! How one column is written: in as few bits as its values need, or the beginning of each value in the bits that are left.

use super::observe::{Seen, Values};
use crate::spec::SortColumn;

/// How one column is written.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) code: Code,
    /// The greatest code, nulls aside.
    pub(super) code_max: u128,
    /// Bits of the greatest code, nulls counted in.
    pub(super) bits: u32,
    pub(super) nulls: Nulls,
    pub(super) descending: bool,
}

#[derive(Debug)]
pub(super) enum Code {
    /// Nothing but nulls.
    Nothing,
    /// Without the lowest `shift` bits.
    Numbers { min: u128, shift: u32 },
    Bytes {
        prefix: Vec<u8>,
        shortest: usize,
        longest: usize,
        length_bits: u32,
    },
    /// The first `width` bytes that follow the common beginning, padded with zeros.
    Beginning { prefix: Vec<u8>, width: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nulls {
    None,
    First,
    Last,
}

impl Field {
    /// Nothing if the values need more than 128 bits.
    pub(super) fn whole(seen: &Seen, sort: &SortColumn) -> Option<Self> {
        let (code, code_max) = match &seen.values {
            Values::None => (Code::Nothing, 0),
            Values::Numbers { min, max } => (Code::Numbers { min: *min, shift: 0 }, max - min),
            Values::Bytes {
                prefix,
                shortest,
                longest,
            } => {
                let length_bits = usize::BITS - (longest - shortest).leading_zeros();
                let bits = u32::try_from(longest - prefix.len()).ok()?.checked_mul(8)? + length_bits;
                let code_max = match bits {
                    0..=127 => (1 << bits) - 1,
                    128 => u128::MAX,
                    _ => return None,
                };
                let code = Code::Bytes {
                    prefix: prefix.clone(),
                    shortest: *shortest,
                    longest: *longest,
                    length_bits,
                };
                (code, code_max)
            }
            Values::Others => return None,
        };
        Self::new(code, code_max, seen, sort)
    }

    /// As much of the values as fits into some bits: of two codes that differ the lesser has the lesser value. Nothing if that
    /// would tell nothing.
    pub(super) fn cut(seen: &Seen, sort: &SortColumn, bits: u32) -> Option<Self> {
        let bits = bits.checked_sub(u32::from(seen.nulls)).filter(|bits| *bits > 0)?;
        let (code, code_max) = match &seen.values {
            Values::Numbers { min, max } => {
                let shift = (u128::BITS - (max - min).leading_zeros()).saturating_sub(bits);
                (Code::Numbers { min: *min, shift }, (max - min) >> shift)
            }
            Values::Bytes { prefix, longest, .. } => {
                let width = (longest - prefix.len()).min(bits as usize / 8);
                let prefix = prefix.clone();
                let unused = u128::BITS - 8 * width as u32;
                (Code::Beginning { prefix, width }, u128::MAX.checked_shr(unused)?)
            }
            Values::None | Values::Others => return None,
        };
        Self::new(code, code_max, seen, sort)
    }

    fn new(code: Code, code_max: u128, seen: &Seen, sort: &SortColumn) -> Option<Self> {
        let nulls = match (seen.nulls, sort.nulls_first) {
            (false, _) => Nulls::None,
            (true, true) => Nulls::First,
            (true, false) => Nulls::Last,
        };
        // A column of nulls alone has one key: no bit is spent on it.
        let only_nulls = matches!(code, Code::Nothing);
        let greatest = code_max.checked_add(u128::from(seen.nulls && !only_nulls))?;
        Some(Self {
            code,
            code_max,
            bits: u128::BITS - greatest.leading_zeros(),
            nulls,
            descending: sort.descending,
        })
    }

    pub(super) fn null_code(&self) -> u128 {
        match (&self.code, self.nulls) {
            (Code::Nothing, _) | (_, Nulls::None | Nulls::First) => 0,
            (_, Nulls::Last) => self.code_max + 1,
        }
    }
}
