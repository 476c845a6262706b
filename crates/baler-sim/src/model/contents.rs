//! What lies in the store, and lay there: every version of every data object, and what became of it at others' hands.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;

use super::{Content, Live, Model};
use crate::rows::{self, Known};
use crate::store::Version;
use crate::work::INBOX;

impl Model {
    /// The newest version that was ever written under a name, or the one with that tag.
    pub(crate) fn content(&self, path: &str, tag: Option<&str>) -> Option<&Bytes> {
        let versions = self.contents.get(path)?;
        let found = versions
            .iter()
            .rev()
            .find(|known| tag.is_none_or(|tag| tag == known.tag));
        found.map(|content| &content.bytes)
    }

    /// When something was first written under a name.
    pub(crate) fn written_at(&self, path: &str) -> Option<Duration> {
        self.contents.get(path)?.first().map(|content| content.at)
    }

    /// The rows of a file, as they were written.
    pub(crate) fn rows(&self, path: &str, tag: Option<&str>) -> Option<Vec<Known>> {
        rows::parse(self.content(path, tag)?)
    }

    pub(crate) fn wrote(&mut self, at: Duration, path: &str, version: &Version) {
        let versions = self.contents.entry(path.to_owned()).or_default();
        versions.push(Content {
            tag: version.tag.clone(),
            bytes: version.bytes.clone(),
            at,
        });
    }

    /// Somebody outside overwrites or removes the version of this tag.
    pub(crate) fn meddles(&mut self, at: Duration, path: &str, tag: &str, now: Option<&str>) {
        self.meddled.insert((path.to_owned(), tag.to_owned()), at);
        if let Some(now) = now {
            self.foreign.insert((path.to_owned(), now.to_owned()));
        }
    }

    /// When somebody outside overwrote or removed what the journal knows as this file, if it happened.
    pub(crate) fn meddled_at(&self, path: &str, file: Option<&Live>) -> Option<Duration> {
        let tag = file?.tag.clone()?;
        self.meddled.get(&(path.to_owned(), tag)).copied()
    }

    /// Whether a writer named it, not Baler.
    pub(crate) fn is_input(&self, path: &str) -> bool {
        path.starts_with(INBOX)
    }

    /// What somebody outside can reach: files that were handed over, and lie there still.
    pub(crate) fn handed_over(&self) -> BTreeSet<&str> {
        self.added.iter().map(|(path, _)| path.as_str()).collect()
    }

    /// Whether somebody outside put this version where another was.
    pub(crate) fn is_foreign(&self, path: &str, tag: &str) -> bool {
        self.foreign.contains(&(path.to_owned(), tag.to_owned()))
    }
}
