//! Which bytes an entry holds: a stretch of one version of a file. Two versions never share a key, so one that was overwritten in
//! the store is not found here any more.

use baler_core::file::{Digest, File, FilePath, Identity, Origin};
use xxhash_rust::xxh3::xxh3_128;

/// One version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    version: String,
    bytes: u64,
}

impl Key {
    /// Of a file that the state knows, in the depot of this name.
    pub fn of_file(depot: &str, file: &File) -> Self {
        match (file.origin, file.checksum) {
            (Origin::Foreign, _) | (_, None) => Self::of_identity(depot, &file.path, &file.identity),
            (_, Some(checksum)) => Self::of_output(depot, &file.path, file.identity.bytes, checksum),
        }
    }

    /// Of what Baler wrote itself: its name is used once, and its checksum is known.
    pub fn of_output(depot: &str, path: &FilePath, bytes: u64, checksum: Digest) -> Self {
        Self {
            version: format!("{depot:?} {path:?} {bytes} checksum {checksum}"),
            bytes,
        }
    }

    fn of_identity(depot: &str, path: &FilePath, identity: &Identity) -> Self {
        let Identity { tag, bytes, modified } = identity;
        Self {
            version: format!("{depot:?} {path:?} {bytes} tag {tag:?} at {}", modified.unix_ms),
            bytes: *bytes,
        }
    }

    pub(super) fn whole(&self) -> String {
        self.stretch(0, self.bytes)
    }

    pub(super) fn stretch(&self, offset: u64, length: u64) -> String {
        format!("{} from {offset} length {length}", self.version)
    }
}

/// The name of an entry. What it really holds is written in it.
pub(super) fn file_name(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}
