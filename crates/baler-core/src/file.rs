//! A file: one immutable object with what is known of it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{JobId, NotAnId, Partition, Sequence, parse_hex_128};
use crate::limits::KEY_BOUND_BYTES_MAX;
use crate::time::{StoreTime, TimeRange};

/// Where a path is counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Place {
    /// The root that holds the journal.
    #[default]
    Root,
    /// The folder that a table with `--output` reads from, and never writes to.
    Source,
}

/// A file's name: a place and a path below it, with `/` between folders.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FilePath {
    /// Where the path begins.
    #[serde(default, skip_serializing_if = "is_root")]
    pub place: Place,
    /// The path below it.
    pub path: Arc<str>,
}

fn is_root(place: &Place) -> bool {
    *place == Place::Root
}

impl FilePath {
    /// A path below the root.
    pub fn in_root(path: impl Into<Arc<str>>) -> Self {
        Self {
            place: Place::Root,
            path: path.into(),
        }
    }

    /// A path below the source of a table with `--output`.
    pub fn in_source(path: impl Into<Arc<str>>) -> Self {
        Self {
            place: Place::Source,
            path: path.into(),
        }
    }

    /// The folder part, empty at the top: the partition of a plain table.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(&self.path, |(_, name)| name)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

/// Which version of an object this is. Two versions of one path differ in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// ETag on a store; inode and modification time in a directory.
    pub tag: Arc<str>,
    /// Length of the object.
    pub bytes: u64,
    /// When the store says it was written.
    pub modified: StoreTime,
}

/// How far a file has been compacted. Files arrive at level 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Level(pub u8);

impl Level {
    /// The level above, or this one at the top.
    pub fn up(self) -> Self {
        Self((self.0 + 1).min(crate::limits::LEVEL_MAX))
    }
}

/// Inclusive bounds of a file's sort keys, in an encoding whose byte order is the key order. They may be loose.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyRange {
    /// No key is below this.
    #[serde(with = "hex_bytes")]
    pub min: Box<[u8]>,
    /// No key is above this.
    #[serde(with = "hex_bytes")]
    pub max: Box<[u8]>,
}

impl KeyRange {
    /// Whether both bounds are short enough to be kept in the state.
    pub fn is_bounded(&self) -> bool {
        self.min.len() <= KEY_BOUND_BYTES_MAX && self.max.len() <= KEY_BOUND_BYTES_MAX
    }

    /// The same with short bounds, the lower one rounded down and the upper one up. `None` if no short upper bound exists.
    pub fn bounded(&self) -> Option<Self> {
        let min = &self.min[..self.min.len().min(KEY_BOUND_BYTES_MAX)];
        Some(Self {
            min: min.into(),
            max: rounded_up(&self.max)?,
        })
    }
}

/// The shortest string that is above all that begin like this one, if it is too long. Bytes that are the largest there
/// are cannot be raised, so they fall off the end.
fn rounded_up(bound: &[u8]) -> Option<Box<[u8]>> {
    if bound.len() <= KEY_BOUND_BYTES_MAX {
        return Some(bound.into());
    }
    let head = &bound[..KEY_BOUND_BYTES_MAX];
    let last = head.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut raised = head[..=last].to_vec();
    raised[last] += 1;
    Some(raised.into())
}

/// An order-independent hash of a multiset of rows: the wrapping sum of 128-bit row hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest(pub u128);

impl Digest {
    /// The digest of both multisets together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

impl std::iter::Sum for Digest {
    fn sum<I: Iterator<Item = Self>>(digests: I) -> Self {
        digests.fold(Self::default(), Self::plus)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = NotAnId;
    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl FromStr for Digest {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        parse_hex_128(text).map(Self).ok_or(NotAnId)
    }
}

/// Who wrote a file, and so how it may be deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// Somebody else named it: it may be deleted only if it is still the version that was consumed.
    #[default]
    Foreign,
    /// Baler named it, uniquely: the name is enough.
    Job(JobId),
}

/// One immutable object and its metadata.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct File {
    /// Its name.
    pub path: FilePath,
    /// Which version of that name.
    pub identity: Identity,
    /// The boundary that no merge of it crosses.
    pub partition: Partition,
    /// How far it has been compacted.
    pub level: Level,
    /// Rows, as its footer says.
    pub rows: u64,
    /// Bounds of its sort keys, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeyRange>,
    /// Bounds of its rows' times, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<TimeRange>,
    /// Digest of its rows, once they have been read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// XXH3-128 of its bytes, for files that Baler wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<Digest>,
    /// Who wrote it.
    #[serde(default)]
    pub origin: Origin,
    /// The entry that made it live, and in a plain table visible.
    #[serde(default)]
    pub added: Sequence,
    /// Set on the halves of a pair that failed only together: the job that failed. Files with the same mark
    /// never share a job again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<JobId>,
}

impl File {
    /// A file that somebody else wrote, as it is found: in the partition of its folder, with nothing known of it but its rows.
    pub fn found(path: FilePath, identity: Identity, rows: u64) -> Self {
        Self {
            partition: Partition::from(path.folder()),
            path,
            identity,
            level: Level(0),
            rows,
            keys: None,
            times: None,
            digest: None,
            checksum: None,
            origin: Origin::Foreign,
            added: Sequence(0),
            apart: None,
        }
    }

    /// Length of the object.
    pub fn bytes(&self) -> u64 {
        self.identity.bytes
    }
}

pub(crate) mod hex_bytes {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        serializer.serialize_str(&digits)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<[u8]>, D::Error> {
        let digits = std::borrow::Cow::<str>::deserialize(deserializer)?;
        if !digits.is_ascii() || digits.len() % 2 != 0 {
            return Err(D::Error::custom("expected an even number of hexadecimal digits"));
        }
        (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(D::Error::custom))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: &[u8], max: &[u8]) -> KeyRange {
        KeyRange {
            min: min.into(),
            max: max.into(),
        }
    }

    #[test]
    fn long_key_bounds_are_rounded_outwards() {
        let long = |last: u8| [vec![7; KEY_BOUND_BYTES_MAX - 1], vec![last, 1, 2, 3]].concat();
        let exact = range(&[1], &vec![0xff; KEY_BOUND_BYTES_MAX]);
        assert_eq!(exact.bounded(), Some(exact));
        for last in [0, 9, 0xfe, 0xff] {
            let keys = range(&long(last), &long(last));
            let bounded = keys.bounded().unwrap();
            assert!(bounded.is_bounded());
            assert!(bounded.min <= keys.min && keys.max <= bounded.max, "{last}");
        }
        let carried = range(&[], &long(0xff)).bounded().unwrap();
        assert_eq!(*carried.max, [vec![7; KEY_BOUND_BYTES_MAX - 2], vec![8]].concat());
    }

    #[test]
    fn an_upper_bound_that_cannot_be_rounded_up_is_not_known() {
        let endless = vec![0xff; KEY_BOUND_BYTES_MAX + 1];
        assert_eq!(range(&[1], &endless).bounded(), None);
    }
}
