//! A range of a job: the stretch of key space between two edges.
//!
//! An edge is a byte string that is compared with encoded keys, in the encoding that `key_range` writes down. It begins with the version
//! of that encoding, and need not be a key: any string parts the keys into those before it and those that are not. So each key lies on
//! one side of each edge, nulls and NaN too, and whatever width its column has in one file or another.

use crate::error::MergeError;
use crate::key_range::{KeyRange, VERSION};

/// A stretch of key space, from an edge until before another. Under a keyed rule it is one of the key alone, else of the sort key.
///
/// Both edges are plain bytes, to be kept and compared as they are: a job that was cut by one version of Baler is merged in the same
/// ranges by every later one. The first byte of an edge is the version of the encoding; one that is not known is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeySpan {
    /// No key in it is less; none: there is no lower edge.
    pub from: Option<Vec<u8>>,
    /// All keys in it are less; none: there is no upper edge.
    pub until: Option<Vec<u8>>,
}

impl KeySpan {
    /// All keys.
    pub const ALL: KeySpan = KeySpan {
        from: None,
        until: None,
    };

    /// Whether it has no edges.
    pub fn is_all(&self) -> bool {
        *self == Self::ALL
    }

    /// Whether some key of `range` may lie in it.
    pub fn meets(&self, range: &KeyRange) -> bool {
        let begins = self.from.as_ref().is_none_or(|from| *from <= range.max);
        begins && self.until.as_ref().is_none_or(|until| range.min < *until)
    }

    /// Whether every key of `range` lies in it.
    pub(crate) fn holds(&self, range: &KeyRange) -> bool {
        self.contains(&range.min) && self.contains(&range.max)
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let begun = self.from.as_ref().is_none_or(|from| from[..] <= *key);
        begun && self.until.as_ref().is_none_or(|until| *key < until[..])
    }

    /// Refuses edges that cannot be compared with keys.
    pub(crate) fn check(&self) -> Result<(), MergeError> {
        let refuse = |why: &str| Err(MergeError::Spec(format!("the range {why}")));
        let edges = || self.from.iter().chain(&self.until);
        if edges().any(|edge| edge.first() != Some(&VERSION)) {
            return refuse(
                "has an edge in an encoding that this version does not know: upgrade, or cut the job again",
            );
        }
        match (&self.from, &self.until) {
            (Some(from), Some(until)) if from > until => refuse("ends before it begins: cut the job again"),
            _ => Ok(()),
        }
    }
}
