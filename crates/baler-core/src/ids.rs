//! Names of things. Each id is a type of its own, so that a job is never taken for a sequence.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The number of an entry in the journal. The first entry is 1; 0 means "before the first".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sequence(pub u64);

impl Sequence {
    /// The entry after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The fencing token of a lease: where in the journal it was granted. Unique in a journal, and compared for
/// equality only: an ordering would make the largest number a master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The entry that granted the lease.
    pub sequence: Sequence,
    /// Which event of that entry it was.
    pub index: u32,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.sequence, self.index)
    }
}

/// A reader's promise, named by where in the journal it was made: one entry may hold several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PinId {
    /// The entry that made the promise. Its lifetime begins there.
    #[serde(rename = "version")]
    pub entry: Sequence,
    /// Which event of that entry it was.
    pub index: u32,
}

impl fmt::Display for PinId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.entry, self.index)
    }
}

/// A job's number, counted up within a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A part of a job that is leased, finished and resumed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RangeId {
    /// A stretch of the job's key space, counted from its low end. A small job has only number 0.
    Keys(u32),
    /// Bringing the outputs of a plain table to their final names.
    Publish,
}

impl fmt::Display for RangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys(index) => index.fmt(f),
            Self::Publish => f.write_str("publish"),
        }
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub Arc<str>);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// The name of a table under a root.
    TableName
);
text_id!(
    /// A worker, as it names itself. For people and logs: ownership is proved by token alone.
    WorkerId
);
text_id!(
    /// The boundary that a merge never crosses; for plain tables the folder, empty at the root.
    Partition
);

impl Partition {
    /// The value of a `key=value` part: `acme` for `tenant` in `tenant=acme/hour=3`.
    pub fn value_of(&self, key: &str) -> Option<&str> {
        self.0.split('/').find_map(|part| value(part, key))
    }

    /// The partition without its parts of that key: `hour=3` for `shard` in `shard=7/hour=3`.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        if self.value_of(key).is_none() {
            return self.clone();
        }
        let parts = self.0.split('/').filter(|part| value(part, key).is_none());
        Self(parts.collect::<Vec<_>>().join("/").into())
    }
}

fn value<'p>(part: &'p str, key: &str) -> Option<&'p str> {
    part.strip_prefix(key)?.strip_prefix('=')
}

macro_rules! random_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(pub u128);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:032x}", self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;
            fn try_from(text: String) -> Result<Self, NotAnId> {
                text.parse()
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                parse_hex_128(text).map(Self).ok_or(NotAnId)
            }
        }
    };
}

random_id!(
    /// Made at random with the journal's first entry; new after a restore or a repair.
    JournalId
);
random_id!(
    /// A process with a replica that answers for leases. New at each start.
    WatcherId
);

/// The text is not a 32-digit lower-case hexadecimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 32 lower-case hexadecimal digits")]
pub struct NotAnId;

/// Exactly 32 digits, so that one number has one spelling.
pub(crate) fn parse_hex_128(text: &str) -> Option<u128> {
    let spelled_once = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    spelled_once.then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::Partition;

    #[test]
    fn a_partition_is_read_part_by_part() {
        let partition = Partition::from("region=eu/tenant=acme/shard=07/hour=3");
        assert_eq!(partition.value_of("tenant"), Some("acme"));
        assert_eq!(partition.value_of("shard"), Some("07"));
        for unknown in ["ten", "tenants", "acme", "", "hour=3"] {
            assert_eq!(partition.value_of(unknown), None, "{unknown}");
        }
        assert_eq!(
            partition.without("shard").as_str(),
            "region=eu/tenant=acme/hour=3"
        );
        assert_eq!(partition.without("unknown"), partition);
        assert_eq!(Partition::from("shard=1").without("shard").as_str(), "");
        assert_eq!(Partition::from("").value_of("shard"), None);
    }

    #[test]
    fn a_value_may_be_empty_or_hold_the_sign_itself() {
        assert_eq!(Partition::from("tenant=/x").value_of("tenant"), Some(""));
        assert_eq!(Partition::from("tenant=a=b").value_of("tenant"), Some("a=b"));
    }
}
