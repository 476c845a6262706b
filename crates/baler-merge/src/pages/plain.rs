//! Values one after another: of one width each, or each with its length before it.

/// How values of a column lie in a PLAIN page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// So many bytes each.
    Fixed(usize),
    /// Length, then bytes.
    Bytes,
    /// A bit each.
    Bits,
}

impl Layout {
    /// How values of this leaf lie.
    pub(crate) fn of(leaf: &parquet::schema::types::ColumnDescriptor) -> Self {
        use parquet::basic::Type::*;
        match leaf.physical_type() {
            BOOLEAN => Layout::Bits,
            INT32 | FLOAT => Layout::Fixed(4),
            INT64 | DOUBLE => Layout::Fixed(8),
            INT96 => Layout::Fixed(12),
            FIXED_LEN_BYTE_ARRAY => Layout::Fixed(leaf.type_length().unsigned_abs() as usize),
            BYTE_ARRAY => Layout::Bytes,
        }
    }
}

/// Appends a byte array with its length.
pub(crate) fn push_bytes(into: &mut Vec<u8>, value: &[u8]) {
    into.extend_from_slice(&(value.len() as u32).to_le_bytes());
    into.extend_from_slice(value);
}

/// Hands over exactly `count` byte arrays, which must fill `bytes`.
pub(crate) fn each_byte_array<'a>(
    bytes: &'a [u8],
    count: usize,
    mut take: impl FnMut(&'a [u8]),
) -> Result<(), String> {
    const CUT: &str = "a page of strings ends in the middle";
    let mut rest = bytes;
    for _ in 0..count {
        let (length, behind) = rest.split_first_chunk().ok_or(CUT)?;
        let (value, behind) = behind
            .split_at_checked(u32::from_le_bytes(*length) as usize)
            .ok_or(CUT)?;
        take(value);
        rest = behind;
    }
    match rest.is_empty() {
        true => Ok(()),
        false => Err("strings do not fill their page".into()),
    }
}
