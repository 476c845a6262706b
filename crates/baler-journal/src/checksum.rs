//! XXH3-128: finds damage, and tells one entry from another. Not a defence against forgery.

use std::fmt;
use std::str::FromStr;

use baler_core::file::Digest;
use baler_core::ids::NotAnId;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

/// The checksum of some bytes, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Checksum(pub u128);

impl Checksum {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(xxh3_128(bytes))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl From<Checksum> for String {
    fn from(checksum: Checksum) -> Self {
        checksum.to_string()
    }
}

impl FromStr for Checksum {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        Digest::from_str(text).map(|digest| Self(digest.0))
    }
}

impl TryFrom<String> for Checksum {
    type Error = NotAnId;
    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}
