//! What lies in the bucket. A file's rows are a set of bits: every file that outsiders write has a row of its own.

use std::collections::BTreeMap;

use baler_core::file::{Digest, FilePath, Identity};
use baler_core::time::StoreTime;

/// Rows, one bit each.
pub(crate) type Rows = u32;

/// What lies under a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Object {
    pub(crate) identity: Identity,
    pub(crate) rows: Rows,
}

impl Object {
    /// An object with these rows. Another version has other rows, so their number tells versions apart.
    pub(crate) fn of(rows: Rows) -> Self {
        let identity = Identity {
            tag: format!("{rows:x}").into(),
            bytes: bytes(rows),
            modified: StoreTime { unix_ms: 1 },
        };
        Self { identity, rows }
    }
}

pub(crate) type Disk = BTreeMap<FilePath, Object>;

pub(crate) fn bytes(rows: Rows) -> u64 {
    100 * u64::from(rows.count_ones())
}

/// The sum of the hashes of rows.
pub(crate) fn digest(rows: Rows) -> Digest {
    let hash =
        |row: u32| Digest((u128::from(row) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    (0..Rows::BITS).filter(|row| rows >> row & 1 == 1).map(hash).sum()
}
