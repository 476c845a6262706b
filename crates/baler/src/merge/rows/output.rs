//! Rows on their way out: outputs begin with their first row and are rolled at the table's target size.

use std::io::{self, Write};

use baler_core::file::{Digest, KeyRange};
use xxhash_rust::xxh3::Xxh3Default;

use super::{Row, RowFormat, RowWriter};
use crate::depot::Output;
use crate::merge::{MergeFault, Work, Written};

/// The outputs of one range.
pub(super) struct Outputs<'a> {
    work: &'a Work<'a>,
    format: &'a dyn RowFormat,
    open: Option<Open>,
    written: Vec<Written>,
}

struct Open {
    writer: Box<dyn RowWriter>,
    output: Summed,
    rows: u64,
    digest: Digest,
    first: Row,
    last: Row,
}

impl<'a> Outputs<'a> {
    pub(super) fn new(work: &'a Work<'a>, format: &'a dyn RowFormat) -> Self {
        Self {
            work,
            format,
            open: None,
            written: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, row: Row) -> Result<(), MergeFault> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin(&row).map_err(failed)?,
        };
        open.writer.push(&row, &mut open.output).map_err(failed)?;
        open.rows += 1;
        open.digest = open.digest.plus(row.digest());
        open.last = row;
        match open.output.bytes >= self.work.job.merge.target_bytes {
            true => self.end(open),
            false => {
                self.open = Some(open);
                Ok(())
            }
        }
    }

    pub(super) fn finish(mut self) -> Result<Vec<Written>, MergeFault> {
        if let Some(open) = self.open.take() {
            self.end(open)?;
        }
        Ok(self.written)
    }

    fn begin(&self, row: &Row) -> io::Result<Open> {
        let part = u32::try_from(self.written.len()).map_err(io::Error::other)?;
        Ok(Open {
            writer: self.format.write(),
            output: Summed {
                output: self.work.create(part)?,
                bytes: 0,
                hash: Xxh3Default::new(),
            },
            rows: 0,
            digest: Digest::default(),
            first: row.clone(),
            last: row.clone(),
        })
    }

    fn end(&mut self, mut open: Open) -> Result<(), MergeFault> {
        open.writer.end(&mut open.output).map_err(failed)?;
        let Summed { output, bytes, hash } = open.output;
        output.finish().map_err(failed)?;
        self.written.push(Written {
            part: self.written.len() as u32,
            bytes,
            rows: open.rows,
            copied: 0,
            digest: open.digest,
            checksum: Digest(hash.digest128()),
            keys: Some(KeyRange {
                min: open.first.key.to_vec().into(),
                max: open.last.key.to_vec().into(),
            }),
            times: None,
        });
        Ok(())
    }
}

/// An output that sums up what goes through it.
struct Summed {
    output: Box<dyn Output>,
    bytes: u64,
    hash: Xxh3Default,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.bytes += written as u64;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

fn failed(source: io::Error) -> MergeFault {
    MergeFault::Node {
        doing: "writing an output",
        source,
    }
}
