//! What happened, in order: always as a hash, and as lines where somebody wants to read them.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::time::Duration;

use xxhash_rust::xxh3::Xxh3Default;

/// The trace of a run.
pub(crate) struct Trace {
    hash: Xxh3Default,
    lines: Option<Vec<String>>,
}

/// Text that is hashed as it is written.
struct Hashed<'a>(&'a mut Xxh3Default);

impl Write for Hashed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
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
            lines: readable.then(Vec::new),
        }
    }

    pub(crate) fn note(&mut self, at: Duration, what: fmt::Arguments<'_>) {
        let timeless = what.to_string();
        let what = timeless_words(&timeless);
        let _never_fails = writeln!(Hashed(&mut self.hash), "{} {what}", at.as_nanos());
        if let Some(lines) = &mut self.lines {
            let seconds = at.as_secs();
            let (minutes, seconds) = (seconds / 60, seconds % 60);
            lines.push(format!(
                "{minutes:4}:{seconds:02}.{:03}  {what}",
                at.subsec_millis()
            ));
        }
    }

    pub(crate) fn end(self) -> (u64, Vec<String>) {
        (self.hash.digest(), self.lines.unwrap_or_default())
    }
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
