//! Which way the rows of a range got into its outputs, stretch by stretch, and how each stretch is proved. For the receipt: a commit
//! rests on the sums over the whole range.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::file::Digest;
use crate::limits::STRETCHES_MAX;

/// Which way rows got into an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// In row groups that were copied whole.
    Copied,
    /// In row groups that were made of copied pages.
    Stitched,
    /// Row by row.
    Merged,
}

impl Way {
    /// What the sums of such a stretch are taken of.
    pub fn proof(self) -> Proof {
        match self {
            Self::Copied | Self::Stitched => Proof::Bytes,
            Self::Merged => Proof::Rows,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Copied => "copied",
            Self::Stitched => "stitched",
            Self::Merged => "merged",
        })
    }
}

/// How a stretch is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// By digests of its rows.
    Rows,
    /// By checksums of its pages; where these were written anew, by what they hold.
    Bytes,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows => "rows",
            Self::Bytes => "bytes",
        })
    }
}

/// Rows that follow one another in the outputs, all of which went one way for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stretch {
    /// Which way.
    pub way: Way,
    /// Why, in the words of the merge.
    pub why: Arc<str>,
    /// How many stretches these are the sums of. More than one where there are too many to tell them apart.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub stretches: u64,
    /// Rows that were read.
    pub rows: u64,
    /// The sum that was taken from the inputs.
    pub read: Digest,
    /// The sum that was taken from what the outputs were handed.
    pub written: Digest,
    /// Digest of the rows that rules let go.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dropped: Digest,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_one(stretches: &u64) -> bool {
    *stretches == 1
}

fn is_empty(digest: &Digest) -> bool {
    *digest == Digest::default()
}

impl Stretch {
    /// What was read is what was written or let go.
    pub fn balances(&self) -> bool {
        self.read == self.written.plus(self.dropped)
    }

    fn with(self, more: &Self) -> Self {
        Self {
            way: self.way,
            why: match self.why == more.why {
                true => self.why,
                false => "for several reasons".into(),
            },
            stretches: self.stretches.saturating_add(more.stretches),
            rows: self.rows.saturating_add(more.rows),
            read: self.read.plus(more.read),
            written: self.written.plus(more.written),
            dropped: self.dropped.plus(more.dropped),
        }
    }
}

/// The same stretches if they are few enough to be kept, else a sum for each way.
pub fn bounded(stretches: Vec<Stretch>) -> Vec<Stretch> {
    if stretches.len() <= STRETCHES_MAX {
        return stretches;
    }
    let mut sums: BTreeMap<Way, Stretch> = BTreeMap::new();
    for stretch in stretches {
        let sum = match sums.remove(&stretch.way) {
            Some(sum) => sum.with(&stretch),
            None => stretch,
        };
        sums.insert(sum.way, sum);
    }
    sums.into_values().collect()
}
