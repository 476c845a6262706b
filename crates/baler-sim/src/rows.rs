//! The tiny format of the simulated tables: lines of text, and a last line that counts and sums them.
//!
//! ```text
//! key<TAB>version<TAB>value
//! # rows checksum
//! ```

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use baler::depot::Input;
use baler::merge::rows::{
    CompactionFilter, Judgement, MergeOperator, Row, RowError, RowFormat, RowMerge, RowWriter, Rows,
};
use baler_core::job::{Dropped, Job, Span};
use bytes::Bytes;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::world::EPOCH_MS;

/// The format's name in a catalog. In a folder there are only files that are called Parquet, and these are called so too.
pub(crate) const FORMAT: &str = "rows";

/// How the simulated workers merge it.
pub(crate) fn merge(format: &'static str) -> RowMerge {
    RowMerge::new(TinyRows(format))
        .with_operator(Newest)
        .with_filter(LetGo)
}

/// A row as the oracle knows it.
pub(crate) type Known = (String, u64, String);

/// How the value of a row begins that takes its key away.
const TOMBSTONE: char = '!';

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
    let (rows, sum) = text[body.len()..]
        .strip_prefix("# ")?
        .strip_suffix('\n')?
        .split_once(' ')?;
    let lines: Vec<Known> = body.lines().map(line).collect::<Option<_>>()?;
    let whole = rows.parse() == Ok(lines.len()) && sum == format!("{:016x}", xxh3_64(body.as_bytes()));
    whole.then_some(lines)
}

fn line(line: &str) -> Option<Known> {
    let mut parts = line.split('\t');
    let row = (
        parts.next()?.to_owned(),
        parts.next()?.parse().ok()?,
        parts.next()?.to_owned(),
    );
    parts.next().is_none().then_some(row)
}

/// A file of these rows, which are sorted by their keys.
pub(crate) fn file(rows: &[Known]) -> Bytes {
    let mut body = String::new();
    for (key, version, value) in rows {
        body.push_str(&format!("{key}\t{version}\t{value}\n"));
    }
    let end = format!("# {} {:016x}\n", rows.len(), xxh3_64(body.as_bytes()));
    (body + &end).into()
}

#[derive(Clone, Copy, Debug)]
struct TinyRows(&'static str);

fn read_all(input: &Arc<dyn Input>) -> Result<Vec<Known>, RowError> {
    let length = usize::try_from(input.len()).map_err(io::Error::other)?;
    let bytes = input.read_at(0, length)?;
    parse(&bytes).ok_or_else(|| RowError::Damaged("its last line does not fit the others".to_owned()))
}

impl RowFormat for TinyRows {
    fn name(&self) -> &str {
        self.0
    }

    fn read<'a>(&'a self, input: &'a Arc<dyn Input>, span: &'a Span) -> Result<Rows<'a>, RowError> {
        let rows = read_all(input)?.into_iter().enumerate();
        let inside = move |key: &str| {
            let from = span.from.as_ref().is_none_or(|from| key.as_bytes() >= &*from.0);
            from && span.until.as_ref().is_none_or(|until| key.as_bytes() < &*until.0)
        };
        let rows = rows.filter(move |(_, (key, _, _))| inside(key));
        Ok(Box::new(rows.map(|(position, (key, version, value))| {
            let (key, value) = (key.into(), value.into());
            Ok((position as u64, Row { key, version, value }))
        })))
    }

    fn write(&self) -> Box<dyn RowWriter> {
        Box::new(TinyWriter {
            rows: 0,
            sum: Xxh3Default::new(),
        })
    }

    fn edges(&self, inputs: &[Arc<dyn Input>], ranges: usize) -> Result<Vec<Vec<u8>>, RowError> {
        let mut keys = Vec::new();
        for input in inputs {
            keys.extend(read_all(input)?.into_iter().map(|(key, _, _)| key.into_bytes()));
        }
        keys.sort();
        keys.dedup();
        let every = keys.len().div_ceil(ranges.max(1)).max(1);
        Ok(keys.into_iter().step_by(every).skip(1).collect())
    }
}

struct TinyWriter {
    rows: u64,
    sum: Xxh3Default,
}

impl RowWriter for TinyWriter {
    fn push(&mut self, row: &Row, output: &mut dyn Write) -> io::Result<()> {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let line = format!("{}\t{}\t{}\n", text(&row.key), row.version, text(&row.value));
        self.sum.update(line.as_bytes());
        self.rows += 1;
        output.write_all(line.as_bytes())
    }

    fn end(self: Box<Self>, output: &mut dyn Write) -> io::Result<()> {
        writeln!(output, "# {} {:016x}", self.rows, self.sum.digest())
    }
}

/// Of each key the newest row stays.
#[derive(Clone, Copy, Debug)]
struct Newest;

/// The rule's name.
pub(crate) const NEWEST: &str = "the newest stays";

impl MergeOperator for Newest {
    fn rule(&self) -> &str {
        NEWEST
    }

    fn fold(&self, rows: &[Row]) -> Vec<Row> {
        rows.last().cloned().into_iter().collect()
    }
}

/// A tombstone goes when the job may let it go: that is for the table's state to know, not for whoever merges.
#[derive(Clone, Copy, Debug)]
struct LetGo;

impl CompactionFilter for LetGo {
    fn rule(&self) -> &str {
        Dropped::DELETED
    }

    fn judge(&self, job: &Job, row: &Row) -> Judgement {
        let cut = job.drops.as_ref().and_then(|drops| drops.deleted.as_ref());
        let written_ms = written_ms(row.version) as i64;
        let goes = row.value.starts_with(&[TOMBSTONE as u8])
            && cut.is_some_and(|cut| written_ms < cut.before.unix_ms);
        match goes {
            true => Judgement::Drop,
            false => Judgement::Keep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_and_damage_is_seen() {
        let rows = vec![
            ("a".to_owned(), 1, "x".to_owned()),
            ("b".to_owned(), 2, "y".to_owned()),
        ];
        let bytes = file(&rows);
        assert_eq!(parse(&bytes), Some(rows));
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1;
            assert_eq!(parse(&damaged), None, "byte {at}");
        }
        assert_eq!(parse(&bytes[..bytes.len() - 3]), None);
    }
}
