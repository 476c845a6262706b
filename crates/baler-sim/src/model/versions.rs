//! What the table showed after each entry, and when that was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Live;

/// Live files, by path.
pub(crate) type Shown = Arc<BTreeMap<String, Live>>;

/// Every version that there ever was.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// By the entry that brought it about: those that changed nothing are left out.
    shown: BTreeMap<u64, Shown>,
    /// When each entry was written.
    written_ms: BTreeMap<u64, u64>,
    /// The entry that made the table, and how long a version can be read after another took its place.
    pub(super) made: Option<(u64, u64)>,
}

impl Versions {
    /// An entry ends, and this is live.
    pub(super) fn note(&mut self, number: u64, now_ms: u64, live: &BTreeMap<String, Live>) {
        self.written_ms.insert(number, now_ms);
        let last = self.shown.last_key_value();
        if last.is_none_or(|(_, last)| **last != *live) {
            self.shown.insert(number, Arc::new(live.clone()));
        }
    }

    /// What was live after this entry.
    pub(crate) fn at(&self, number: u64) -> Shown {
        let known = self.shown.range(..=number).next_back();
        known.map(|(_, shown)| shown.clone()).unwrap_or_default()
    }

    /// Whether a version can be read at this time of the store, whatever else happens: it was written, and no other that
    /// took its place is older than a grace period.
    pub(crate) fn is_kept(&self, number: u64, now_ms: u64) -> bool {
        let Some((first, grace_ms)) = self.made.filter(|_| self.written_ms.contains_key(&number)) else {
            return false;
        };
        let followed = self.written_ms.get(&(number + 1));
        number >= first && followed.is_none_or(|followed| now_ms < followed + grace_ms)
    }
}
