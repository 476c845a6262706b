//! How simulated workers read and write the tiny format, and merge it: in pieces where a seed says so, and with a rest after each
//! where a worker is slow.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use baler::depot::Input;
use baler::merge::rows::{
    CompactionFilter, Judgement, MergeOperator, Row, RowError, RowFormat, RowMerge, RowWriter, Rows,
};
use baler_core::job::{Dropped, Job, Span};
use baler_journal::host;
use bytes::Bytes;
use tokio::runtime::Handle;
use xxhash_rust::xxh3::Xxh3Default;

use crate::faults::Fault;
use crate::rows::{self, Known, NEWEST, TOMBSTONE};
use crate::world::World;

/// The manner of one process.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    /// What the format is called.
    pub(crate) format: &'static str,
    /// So many bytes of a file are read at once; all of them, if none.
    pub(crate) piece: Option<usize>,
    /// How long it takes over each piece.
    pub(crate) rest: Duration,
    /// Where outputs are read back before they count, what writes them may write what it was not told to. Nothing else would
    /// notice: every figure is taken before.
    pub(crate) bad_encoder: Option<Arc<World>>,
}

/// How a simulated worker of this manner merges.
pub(crate) fn merge(manner: Manner) -> RowMerge {
    RowMerge::new(TinyRows(manner))
        .with_operator(Newest)
        .with_filter(LetGo)
}

#[derive(Clone, Debug)]
struct TinyRows(Manner);

impl TinyRows {
    fn read_all(&self, input: &Arc<dyn Input>) -> Result<Vec<Known>, RowError> {
        let length = usize::try_from(input.len()).map_err(io::Error::other)?;
        let piece = self.0.piece.unwrap_or(length).max(1);
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let some = piece.min(length - bytes.len());
            bytes.extend_from_slice(&input.read_at(bytes.len() as u64, some)?);
            if !self.0.rest.is_zero() {
                host::block_on(&Handle::current(), tokio::time::sleep(self.0.rest));
            }
        }
        let damaged = || RowError::Damaged("its last line does not fit the others".to_owned());
        rows::parse(&bytes).ok_or_else(damaged)
    }

    fn slip(&self) -> Option<Slip> {
        let world = self.0.bad_encoder.as_ref()?;
        let slips = world.strikes_often(Fault::BadEncoder);
        slips.then(|| [Slip::Lost, Slip::Twice, Slip::Changed][world.below(3) as usize])
    }
}

/// What goes wrong with the first row of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    Lost,
    Twice,
    Changed,
}

impl RowFormat for TinyRows {
    fn name(&self) -> &str {
        self.0.format
    }

    fn read<'a>(&'a self, input: &'a Arc<dyn Input>, span: &'a Span) -> Result<Rows<'a>, RowError> {
        let rows = self.read_all(input)?.into_iter().enumerate();
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
            columns: 0,
            sum: Xxh3Default::new(),
            slip: self.slip(),
        })
    }

    fn edges(&self, inputs: &[Arc<dyn Input>], ranges: usize) -> Result<Vec<Vec<u8>>, RowError> {
        let mut keys = Vec::new();
        for input in inputs {
            keys.extend(
                self.read_all(input)?
                    .into_iter()
                    .map(|(key, _, _)| key.into_bytes()),
            );
        }
        keys.sort();
        keys.dedup();
        let every = keys.len().div_ceil(ranges.max(1)).max(1);
        Ok(keys.into_iter().step_by(every).skip(1).collect())
    }
}

struct TinyWriter {
    rows: u64,
    columns: usize,
    sum: Xxh3Default,
    slip: Option<Slip>,
}

impl TinyWriter {
    fn write(&mut self, row: &Row, mark: &str, output: &mut dyn Write) -> io::Result<()> {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let value = text(&row.value) + mark;
        let line = format!("{}\t{}\t{value}\n", text(&row.key), row.version);
        self.columns = self.columns.max(rows::columns_of(&value));
        self.sum.update(line.as_bytes());
        self.rows += 1;
        output.write_all(line.as_bytes())
    }
}

impl RowWriter for TinyWriter {
    fn push(&mut self, row: &Row, output: &mut dyn Write) -> io::Result<()> {
        match self.slip.take() {
            None => self.write(row, "", output),
            Some(Slip::Lost) => Ok(()),
            Some(Slip::Changed) => self.write(row, "?", output),
            Some(Slip::Twice) => {
                self.write(row, "", output)?;
                self.write(row, "", output)
            }
        }
    }

    fn end(self: Box<Self>, output: &mut dyn Write) -> io::Result<()> {
        let end = rows::last_line(self.rows, self.columns, self.sum.digest());
        output.write_all(end.as_bytes())
    }
}

/// Of each key the newest row stays.
#[derive(Clone, Copy, Debug)]
struct Newest;

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
        let written_ms = rows::written_ms(row.version) as i64;
        let goes = row.value.starts_with(&[TOMBSTONE as u8])
            && cut.is_some_and(|cut| written_ms < cut.before.unix_ms);
        match goes {
            true => Judgement::Drop,
            false => Judgement::Keep,
        }
    }
}
