//! The files of the store: rows in key order, then an index of some of them, then where the index begins.
//!
//! ```text
//!  ┌─ rows ────────────────────────────────┐┌─ index ─────────────────────┐┌─ end ──────────────┐
//!  │ key, version, value │ key, version, … ││ key, offset, position │ …   ││ offset, rows, "KV1" │
//!  └───────────────────────────────────────┘└─────────────────────────────┘└─────────────────────┘
//! ```

use std::io::{self, Write};
use std::sync::Arc;

use baler::depot::Input;
use baler::merge::rows::{
    CompactionFilter, Judgement, MergeOperator, Row, RowError, RowFormat, RowMerge, RowWriter, Rows,
};
use baler_core::job::{Edge, Job, Span};
use bytes::Bytes;

/// Every so many rows one is in the index.
const INDEX_EVERY: u64 = 32;

const MAGIC: &[u8] = b"KV1\0";

const END_BYTES: usize = 8 + 8 + MAGIC.len();

/// How this store is compacted: counters are added up, and what was meant for a while goes.
pub(crate) fn merge() -> RowMerge {
    RowMerge::new(Kv).with_operator(Counters).with_filter(ForAWhile)
}

/// The format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kv;

impl RowFormat for Kv {
    fn name(&self) -> &str {
        "kv"
    }

    fn read<'a>(&'a self, input: &'a Arc<dyn Input>, span: &'a Span) -> Result<Rows<'a>, RowError> {
        let end = End::read(&**input)?;
        let index = end.index(&**input)?;
        // From the last indexed row on that lies before all that are asked for.
        let from = span.from.as_ref();
        let before = |from: &Edge| index.iter().rev().find(|entry| *entry.key < *from.0);
        let begin = from.and_then(before);
        let (offset, position) = begin.map_or((0, 0), |entry| (entry.offset, entry.position));
        let length = usize::try_from(end.index_at - offset).map_err(|_| damaged())?;
        let rows = RowsFrom {
            bytes: input.read_at(offset, length)?,
            position,
        };
        let before = move |row: &Row| from.is_some_and(|from| *row.key < *from.0);
        let behind = move |row: &Row| span.until.as_ref().is_some_and(|until| *row.key >= *until.0);
        let is = |row: &Result<(u64, Row), RowError>, test: &dyn Fn(&Row) -> bool| {
            row.as_ref().is_ok_and(|(_, row)| test(row))
        };
        let rows = rows.skip_while(move |row| is(row, &before));
        Ok(Box::new(rows.take_while(move |row| !is(row, &behind))))
    }

    fn write(&self) -> Box<dyn RowWriter> {
        Box::new(Writer::default())
    }

    /// Indexed keys, evenly chosen: about as many rows lie between any two of them.
    fn edges(&self, inputs: &[Arc<dyn Input>], ranges: usize) -> Result<Vec<Vec<u8>>, RowError> {
        let mut keys = Vec::new();
        for input in inputs {
            let index = End::read(&**input)?.index(&**input)?;
            keys.extend(index.into_iter().map(|entry| entry.key.to_vec()));
        }
        keys.sort();
        keys.dedup();
        let every = keys.len().div_ceil(ranges.max(1)).max(1);
        Ok(keys.into_iter().step_by(every).skip(1).collect())
    }
}

/// Values that begin with `=` are texts or numbers, and those with `+` are added to what was there before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters;

impl MergeOperator for Counters {
    fn rule(&self) -> &str {
        "counters added up"
    }

    fn fold(&self, rows: &[Row]) -> Vec<Row> {
        let folded = rows.iter().cloned().reduce(|older, newer| Row {
            value: added(&older.value, &newer.value),
            ..newer
        });
        folded.into_iter().collect()
    }
}

/// What two values of a key come to, of which the second is the newer one.
fn added(older: &Bytes, newer: &Bytes) -> Bytes {
    let number = |value: &Bytes| -> i64 {
        let text = std::str::from_utf8(&value[1..]).unwrap_or_default();
        text.parse().unwrap_or(0)
    };
    match newer.first() {
        // What was there before may lie in an older file: a sum stays a sum.
        Some(b'+') => {
            let kind = char::from(older[0]);
            format!("{kind}{}", number(older) + number(newer)).into()
        }
        _ => newer.clone(),
    }
}

/// Keys below `tmp/` are forgotten when they are compacted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForAWhile;

impl CompactionFilter for ForAWhile {
    fn rule(&self) -> &str {
        "meant for a while"
    }

    fn judge(&self, _job: &Job, row: &Row) -> Judgement {
        match row.key.starts_with(b"tmp/") {
            true => Judgement::Drop,
            false => Judgement::Keep,
        }
    }
}

#[derive(Default)]
struct Writer {
    index: Vec<u8>,
    written: u64,
    rows: u64,
}

impl RowWriter for Writer {
    fn push(&mut self, row: &Row, output: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_multiple_of(INDEX_EVERY) {
            put_bytes(&mut self.index, &row.key);
            self.index.extend(self.written.to_le_bytes());
            self.index.extend(self.rows.to_le_bytes());
        }
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, &row.key);
        bytes.extend(row.version.to_le_bytes());
        put_bytes(&mut bytes, &row.value);
        self.written += bytes.len() as u64;
        self.rows += 1;
        output.write_all(&bytes)
    }

    fn end(self: Box<Self>, output: &mut dyn Write) -> io::Result<()> {
        output.write_all(&self.index)?;
        output.write_all(&self.written.to_le_bytes())?;
        output.write_all(&self.rows.to_le_bytes())?;
        output.write_all(MAGIC)
    }
}

/// The end of a file.
struct End {
    index_at: u64,
    index_bytes: usize,
}

struct Indexed {
    key: Bytes,
    offset: u64,
    position: u64,
}

impl End {
    fn read(input: &dyn Input) -> Result<Self, RowError> {
        let at = input.len().checked_sub(END_BYTES as u64).ok_or_else(damaged)?;
        let mut bytes = input.read_at(at, END_BYTES)?;
        let index_at = number(&mut bytes)?;
        let _rows = number(&mut bytes)?;
        let index_bytes = at.checked_sub(index_at).ok_or_else(damaged)?;
        match *bytes == *MAGIC {
            true => Ok(Self {
                index_at,
                index_bytes: usize::try_from(index_bytes).map_err(|_| damaged())?,
            }),
            false => Err(damaged()),
        }
    }

    fn index(&self, input: &dyn Input) -> Result<Vec<Indexed>, RowError> {
        let mut bytes = input.read_at(self.index_at, self.index_bytes)?;
        let mut index = Vec::new();
        while !bytes.is_empty() {
            index.push(Indexed {
                key: take_bytes(&mut bytes)?,
                offset: number(&mut bytes)?,
                position: number(&mut bytes)?,
            });
        }
        Ok(index)
    }
}

/// The rows from one place on.
struct RowsFrom {
    bytes: Bytes,
    position: u64,
}

impl Iterator for RowsFrom {
    type Item = Result<(u64, Row), RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let position = self.position;
        self.position += 1;
        let mut row = || {
            Ok(Row {
                key: take_bytes(&mut self.bytes)?,
                version: number(&mut self.bytes)?,
                value: take_bytes(&mut self.bytes)?,
            })
        };
        Some(row().map(|row| (position, row)))
    }
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend((bytes.len() as u64).to_le_bytes());
    to.extend(bytes);
}

fn take_bytes(from: &mut Bytes) -> Result<Bytes, RowError> {
    let length = usize::try_from(number(from)?).map_err(|_| damaged())?;
    match length <= from.len() {
        true => Ok(from.split_to(length)),
        false => Err(damaged()),
    }
}

fn number(from: &mut Bytes) -> Result<u64, RowError> {
    if from.len() < 8 {
        return Err(damaged());
    }
    let bytes = from.split_to(8);
    Ok(u64::from_le_bytes(bytes[..].try_into().map_err(|_| damaged())?))
}

fn damaged() -> RowError {
    RowError::Damaged("this is no whole file of the format kv".to_owned())
}
