//! The commit of a job in an external catalog. The catalog is the truth: what landed there landed, whoever heard of it.
//!
//! Each try is written down before it is made, with the version that it builds on, and can land on that version only. So
//! once the catalog is past a version, a try on it has landed or never will; and its history tells which.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A version of an external catalog. Its commits follow one another, each with a greater version than the one it builds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CatalogVersion(pub u64);

impl fmt::Display for CatalogVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How often a job's commit was tried, and on what.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tries {
    /// The version that the first try built on.
    pub oldest: CatalogVersion,
    /// That of the last one. They never go back.
    pub newest: CatalogVersion,
    /// How many.
    pub count: u32,
    /// Why nobody but an operator can say whether one of them landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Arc<str>>,
}

impl Tries {
    /// With one more.
    #[must_use]
    pub(crate) fn with(tries: Option<&Self>, base: CatalogVersion) -> Self {
        Self {
            oldest: tries.map_or(base, |tries| tries.oldest),
            newest: base,
            count: tries.map_or(0, |tries| tries.count).saturating_add(1),
            stuck: None,
        }
    }

    /// Whether this history, in which the job does not appear, proves that no try landed or ever will.
    pub fn are_disproved_by(&self, history: &History) -> Result<(), String> {
        match () {
            () if history.after > self.oldest => Err(format!(
                "the history begins after version {}, but a try built on {}: it may have landed before",
                history.after, self.oldest
            )),
            () if history.until <= self.newest => Err(format!(
                "the catalog is at version {}, and a try that builds on {} may still land",
                history.until, self.newest
            )),
            () => Ok(()),
        }
    }
}

/// The commits of a catalog after one version, up to and with another: all of them were read, and none is the job's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// The version before the first that was read.
    pub after: CatalogVersion,
    /// The last, and the catalog's present one.
    pub until: CatalogVersion,
}

/// What became of the tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The catalog holds the job's commit.
    Committed,
    /// The catalog does not take it, now or later; and none of the tries landed.
    Refused {
        /// Why, in words.
        reason: Arc<str>,
        /// The proof.
        history: History,
    },
    /// That cannot be told now. Somebody looks again later.
    Unknown {
        /// Why, in words.
        reason: Arc<str>,
    },
    /// That can never be told: the catalog has forgotten what it would have to show.
    HistoryCut {
        /// Why, in words.
        reason: Arc<str>,
    },
}
