//! What lies in the store, and lay there: every version of every data object, and what became of it at others' hands.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::{Content, Live, Model, job_of, path_of, token_of};
use crate::rows::{self, Known};
use crate::store::Version;
use crate::work::INBOX;

/// How the names of Baler's own files begin.
const OWN_NAMES: &str = "baler-";

impl Model {
    /// Where an attempt that finished a range left its outputs before they are published.
    pub(super) fn staged_by(&self, body: &Value) -> Vec<String> {
        let range = body["range"]["Keys"].as_u64().unwrap_or(0);
        let (job, token) = (job_of(body).unwrap_or(0), token_of(&body["finished"]["token"]));
        let outputs = body["finished"]["outputs"].as_array().into_iter().flatten();
        let parts = outputs.map(|output| output["part"].as_u64().unwrap_or(0));
        let folder = format!("_baler/staging/{job}-{range}-{}.{}", token.0, token.1);
        parts.map(|part| format!("{folder}/{part}.staged")).collect()
    }

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

    /// Whether files with a column more come while a job is at work on files without it.
    pub(crate) fn grows_a_column(&self, added: &Value) -> bool {
        let columns = |path: &str, tag: Option<&str>| rows::columns(self.content(path, tag)?);
        let mut new = added["files"].as_array().into_iter().flatten();
        let widest =
            new.any(|file| columns(&path_of(&file["path"]), file["identity"]["tag"].as_str()) == Some(2));
        let mut inputs = self
            .jobs
            .values()
            .flat_map(|job| job.inputs.iter().zip(&job.planned));
        widest
            && inputs.any(|(path, planned)| {
                let tag = planned.as_ref().and_then(|file| file.tag.as_deref());
                columns(path, tag) == Some(1)
            })
    }

    /// Which process wrote something under a name first.
    pub(crate) fn author(&self, path: &str) -> Option<&str> {
        self.contents.get(path)?.first()?.by.as_deref()
    }

    pub(crate) fn wrote(&mut self, at: Duration, by: Option<&str>, path: &str, version: &Version) {
        let versions = self.contents.entry(path.to_owned()).or_default();
        if let Some(last) = versions.last_mut() {
            last.gone.get_or_insert(at);
        }
        versions.push(Content {
            tag: version.tag.clone(),
            bytes: version.bytes.clone(),
            at,
            gone: None,
            by: by.map(str::to_owned),
        });
    }

    /// A version was removed.
    pub(crate) fn is_gone(&mut self, at: Duration, path: &str, tag: &str) {
        let mut versions = self.contents.get_mut(path).into_iter().flatten();
        if let Some(version) = versions.rfind(|version| version.tag == tag) {
            version.gone.get_or_insert(at);
        }
    }

    /// Whether nothing lies under a name.
    pub(crate) fn is_missing(&self, path: &str) -> bool {
        let last = self.contents.get(path).and_then(|versions| versions.last());
        last.is_none_or(|version| version.gone.is_some())
    }

    /// Since when a version has not been in the store, if it has ever been there.
    pub(crate) fn gone_since(&self, path: &str, tag: &str) -> Option<Duration> {
        let versions = self.contents.get(path)?.iter().rev();
        versions.into_iter().find(|version| version.tag == tag)?.gone
    }

    /// When what the journal knows as this file was overwritten or removed, if it was. Of outputs the journal knows no tag.
    pub(crate) fn went_at(&self, path: &str, file: Option<&Live>) -> Option<Duration> {
        match file.and_then(|file| file.tag.as_deref()) {
            Some(tag) => self.gone_since(path, tag),
            None => self.contents.get(path)?.last()?.gone,
        }
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

    /// The rows of all versions that somebody outside overwrote or removed.
    pub(crate) fn taken_outside(&self) -> impl Iterator<Item = Known> {
        let versions = self.meddled.keys();
        versions.flat_map(|(path, tag)| self.rows(path, Some(tag)).unwrap_or_default())
    }

    /// Whether a writer named it, not Baler.
    pub(crate) fn is_input(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        path.starts_with(INBOX) && !name.starts_with(OWN_NAMES)
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
