//! The tiny format of the simulated tables: lines of text, and a last line that counts and sums them.
//!
//! ```text
//! key<TAB>version<TAB>value
//! # rows columns checksum
//! ```
//!
//! A value has one column, or two: where a table grows a column, older rows go without.

use std::time::Duration;

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::world::EPOCH_MS;

/// The format's name in a catalog. In a folder there are only files that are called Parquet, and these are called so too.
pub(crate) const FORMAT: &str = "rows";

/// The rule by which of each key the newest row stays.
pub(crate) const NEWEST: &str = "the newest stays";

/// A row as the oracle knows it.
pub(crate) type Known = (String, u64, String);

/// How the value of a row begins that takes its key away.
pub(crate) const TOMBSTONE: char = '!';

/// What a tombstone holds, told apart from all others by this.
pub(crate) fn tombstone(unique: &str) -> String {
    format!("{TOMBSTONE}{unique}")
}

/// Whether a row with this value takes its key away.
pub(crate) fn is_tombstone(value: &str) -> bool {
    value.starts_with(TOMBSTONE)
}

/// Versions count the store's time in this many parts of a nanosecond: rows of one file differ in them.
const VERSIONS_PER_NANO: u64 = 64;

/// The version of row number `row` of a file that is written so long after the beginning.
pub(crate) fn version(elapsed: Duration, row: u64) -> u64 {
    elapsed.as_nanos() as u64 * VERSIONS_PER_NANO + row
}

/// When a row of this version was written, in Unix milliseconds.
pub(crate) fn written_ms(version: u64) -> u64 {
    EPOCH_MS + version / VERSIONS_PER_NANO / 1_000_000
}

/// The rows of a file, if it is whole.
pub(crate) fn parse(bytes: &[u8]) -> Option<Vec<Known>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let body = &text[..text.rfind("# ")?];
    let lines: Vec<Known> = body.lines().map(line).collect::<Option<_>>()?;
    let widest = lines.iter().map(|(_, _, value)| columns_of(value)).max();
    let end = last_line(lines.len() as u64, widest.unwrap_or(0), xxh3_64(body.as_bytes()));
    (text[body.len()..] == end).then_some(lines)
}

/// The value is all that follows, however many columns it has.
fn line(line: &str) -> Option<Known> {
    let mut parts = line.splitn(3, '\t');
    Some((
        parts.next()?.to_owned(),
        parts.next()?.parse().ok()?,
        parts.next()?.to_owned(),
    ))
}

/// How many columns a value has.
pub(crate) fn columns_of(value: &str) -> usize {
    value.split('\t').count()
}

/// How many columns the widest value of a file has, as its last line says.
pub(crate) fn columns(bytes: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(bytes).ok()?;
    let end = &text[text.rfind("# ")?..];
    end.split(' ').nth(2)?.parse().ok()
}

/// A value with one column more.
pub(crate) fn widened(value: &str, more: u64) -> String {
    format!("{value}\t{more}")
}

/// The line that counts and sums the others.
pub(crate) fn last_line(rows: u64, columns: usize, sum: u64) -> String {
    format!("# {rows} {columns} {sum:016x}\n")
}

/// A file of these rows, which are sorted by their keys.
pub(crate) fn file(rows: &[Known]) -> Bytes {
    let mut body = String::new();
    for (key, version, value) in rows {
        body.push_str(&format!("{key}\t{version}\t{value}\n"));
    }
    let widest = rows.iter().map(|(_, _, value)| columns_of(value)).max();
    let end = last_line(rows.len() as u64, widest.unwrap_or(0), xxh3_64(body.as_bytes()));
    (body + &end).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_and_damage_is_seen() {
        let rows = vec![
            ("a".to_owned(), 1, "x".to_owned()),
            ("b".to_owned(), 2, widened("y", 7)),
        ];
        let bytes = file(&rows);
        assert_eq!((columns(&bytes), columns(&file(&rows[..1]))), (Some(2), Some(1)));
        assert_eq!(parse(&bytes), Some(rows));
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1;
            assert_eq!(parse(&damaged), None, "byte {at}");
        }
        assert_eq!(parse(&bytes[..bytes.len() - 3]), None);
    }
}
