//! What happened, in order: always as a hash, and as lines where somebody wants to read them.

use std::borrow::Cow;
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

/// The client tells in its errors how long a request took by the machine's clock; that is no part of the simulated world.
fn timeless_words(text: &str) -> Cow<'_, str> {
    let Some((before, after)) = text.split_once(" in ") else {
        return Cow::Borrowed(text);
    };
    let took = after
        .split_once(" - ")
        .filter(|(took, _)| took.ends_with('s') && took.starts_with(|c: char| c.is_ascii_digit()));
    match took {
        Some((took, rest)) if took.len() < 16 => Cow::Owned(format!("{before} - {}", timeless_words(rest))),
        _ => Cow::Owned(format!("{before} in {}", timeless_words(after))),
    }
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
        let what = timeless_words(&self.text);
        self.hash.update(&at.as_nanos().to_le_bytes());
        self.hash.update(what.as_bytes());
        if let Some(lines) = &mut self.lines {
            lines.push(line(at, &what));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_request_took_is_no_part_of_a_trace() {
        let said = "error GET k in 71.313µs - HTTP error in it, and GET l in 2.5ms - gone";
        assert_eq!(
            timeless_words(said),
            "error GET k - HTTP error in it, and GET l - gone"
        );
        assert_eq!(timeless_words("nothing of the kind"), "nothing of the kind");
    }
}
