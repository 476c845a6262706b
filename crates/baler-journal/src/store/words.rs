//! What a client says of a failure, without how long it took. Such words are written down: the reason of a released range is
//! part of an entry. Two equal failures should read the same, and what a machine's clock measured says nothing about the
//! table.

use std::borrow::Cow;

/// An `object_store` error in its own words, without the time that its request took.
pub fn words_of(error: &object_store::Error) -> String {
    timeless(&error.to_string()).into_owned()
}

/// Leaves out each "in 71.3µs" that a client puts behind the request that it speaks of.
fn timeless(words: &str) -> Cow<'_, str> {
    let Some((before, after)) = words.split_once(" in ") else {
        return Cow::Borrowed(words);
    };
    let rest = without_time(after);
    let joint = if rest.is_some() { "" } else { " in " };
    Cow::Owned(format!("{before}{joint}{}", timeless(rest.unwrap_or(after))))
}

/// What follows a length of time at the beginning of this, if one is there.
fn without_time(words: &str) -> Option<&str> {
    let unit = words.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let has_number = unit.len() < words.len();
    let units = ["ns", "µs", "ms", "s"];
    let rest = units.iter().find_map(|name| unit.strip_prefix(name))?;
    let ends = rest.starts_with(" - ") || rest.starts_with(", after ");
    (has_number && ends).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(words: &str) -> object_store::Error {
        object_store::Error::Generic {
            store: "S3",
            source: words.into(),
        }
    }

    #[test]
    fn two_equal_failures_read_the_same_however_long_they_took() {
        let quick = failed("Error performing PUT http://host/k in 71.313µs - HTTP error: gone");
        let slow = failed("Error performing PUT http://host/k in 12.5s - HTTP error: gone");
        assert_eq!(words_of(&quick), words_of(&slow));
        assert_eq!(
            words_of(&quick),
            "Generic S3 error: Error performing PUT http://host/k - HTTP error: gone"
        );
    }

    #[test]
    fn how_often_it_was_tried_stays() {
        let tried = failed("GET k in 2.5ms, after 3 retries, max_retries: 9, retry_timeout: 180s  - busy");
        assert_eq!(
            words_of(&tried),
            "Generic S3 error: GET k, after 3 retries, max_retries: 9, retry_timeout: 180s  - busy"
        );
    }

    #[test]
    fn each_request_that_is_spoken_of_loses_its_time_and_nothing_else_is_lost() {
        let both = failed("GET k in 1ns - while in doubt in 3 steps, GET l in 2s - gone in 5s");
        assert_eq!(
            words_of(&both),
            "Generic S3 error: GET k - while in doubt in 3 steps, GET l - gone in 5s"
        );
    }
}
