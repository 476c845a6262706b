//! What happened, in order: always as a hash, and as lines where somebody wants to read them.

use std::fmt::{self, Write};
use std::time::Duration;

use xxhash_rust::xxh3::Xxh3Default;

/// The trace of a run.
pub(crate) struct Trace {
    hash: Xxh3Default,
    /// What is noted, in memory that is used again: most of it is only hashed.
    text: String,
    lines: Option<Vec<String>>,
}

impl Trace {
    pub(crate) fn new(readable: bool) -> Self {
        Self {
            hash: Xxh3Default::new(),
            text: String::new(),
            lines: readable.then(Vec::new),
        }
    }

    pub(crate) fn note(&mut self, at: Duration, what: fmt::Arguments<'_>) {
        self.text.clear();
        let _never_fails = self.text.write_fmt(what);
        self.hash.update(&at.as_nanos().to_le_bytes());
        self.hash.update(self.text.as_bytes());
        if let Some(lines) = &mut self.lines {
            lines.push(line(at, &self.text));
        }
    }

    /// What follows from what was noted already: only for those who read.
    pub(crate) fn explain(&mut self, at: Duration, what: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line(at, &what()));
        }
    }

    pub(crate) fn end(self) -> (u64, Vec<String>) {
        (self.hash.digest(), self.lines.unwrap_or_default())
    }
}

fn line(at: Duration, what: &str) -> String {
    let (minutes, seconds) = (at.as_secs() / 60, at.as_secs() % 60);
    format!("{minutes:4}:{seconds:02}.{:03}  {what}", at.subsec_millis())
}
