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
