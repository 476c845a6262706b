//! The first bytes of a value as a number, and whether a value begins as others do: asked of every row, so without a call or a
//! copy of unknown length.

/// The first eight bytes, big end first; zeros where there are fewer. It is never less for a greater value.
pub(crate) fn first_8(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The two overlap; the shift takes away what is there twice.
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
            let last = u64::from(last) << (8 * (8 - bytes.len())) & u64::from(u32::MAX);
            u64::from(first) << 32 | last
        }
        _ => {
            let shifted = |(place, byte): (usize, &u8)| u64::from(*byte) << (56 - 8 * place);
            bytes.iter().enumerate().map(shifted).sum()
        }
    }
}

/// The first sixteen bytes, likewise.
pub(crate) fn first_16(bytes: &[u8]) -> u128 {
    if let Some(first) = bytes.first_chunk() {
        return u128::from_be_bytes(*first);
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u64::from_be_bytes(*first), u64::from_be_bytes(*last));
            let last = u128::from(last) << (8 * (16 - bytes.len())) & u128::from(u64::MAX);
            u128::from(first) << 64 | last
        }
        _ => u128::from(first_8(bytes)) << 64,
    }
}

/// What values of a column begin with.
pub(super) struct Beginning<'a> {
    all: &'a [u8],
    first: u64,
    /// The bits of it that count.
    mask: u64,
}

impl<'a> Beginning<'a> {
    pub(super) fn new(all: &'a [u8]) -> Self {
        let unused = 64 - 8 * all.len().min(8) as u32;
        Self {
            all,
            first: first_8(all),
            mask: u64::MAX.checked_shl(unused).unwrap_or(0),
        }
    }

    /// Whether a value begins so.
    pub(super) fn begins(&self, value: &[u8]) -> bool {
        let alike = (first_8(value) ^ self.first) & self.mask == 0;
        alike && value.len() >= self.all.len() && (self.all.len() <= 8 || value.starts_with(self.all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"\x01\x82abc\0defghijklmnopqrst";

    #[test]
    fn first_bytes_are_those_of_a_copy_filled_with_zeros() {
        for length in 0..TEXT.len() {
            let mut filled = TEXT[..length].to_vec();
            filled.resize(32, 0);
            assert_eq!(first_8(&TEXT[..length]).to_be_bytes(), filled[..8], "{length}");
            assert_eq!(first_16(&TEXT[..length]).to_be_bytes(), filled[..16], "{length}");
        }
    }

    #[test]
    fn a_value_begins_as_its_bytes_say() {
        for length in 0..TEXT.len() {
            let beginning = Beginning::new(&TEXT[..length]);
            for end in 0..TEXT.len() {
                assert_eq!(beginning.begins(&TEXT[..end]), end >= length, "{end} of {length}");
                let mut other = TEXT[..end].to_vec();
                if let Some(last) = other.last_mut() {
                    *last ^= 0x80;
                }
                assert_eq!(beginning.begins(&other), other.starts_with(&TEXT[..length]));
            }
        }
        // A zero that is not there is not a zero that is.
        assert!(!Beginning::new(b"a\0").begins(b"a"));
    }
}
