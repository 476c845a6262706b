//! Puts row groups into outputs, in order, and rolls to the next output at the target size.

use crate::columns::{Chunk, Done, Ends};
use crate::digest::Digest;
use crate::error::MergeError;
use crate::io::{Output, OutputSink};
use crate::key_range::KeyRange;
use crate::report::{Dropped, OutputReport};
use crate::roll::{Standing, is_full, rows_left};
use crate::row_time::{RowTimes, Span, Times};
use crate::stitch::pass::Passed;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::TypePtr;
use std::io::{self, BufWriter, Write};
use xxhash_rust::xxh3::Xxh3;

/// Writes row groups to as many outputs as they need.
pub(crate) struct Outputs<'a> {
    sink: &'a mut dyn OutputSink,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    target_bytes: u64,
    group_rows: usize,
    /// Where row times are, if they are asked for and there are any.
    times: Option<Times>,
    rows_due: u64,
    /// What a row took in the outputs so far, or in the inputs.
    row_bytes: f64,
    measured: bool,
    /// Where the last row group ended.
    last: Option<Ends>,
    part: Option<Part>,
    done: Vec<OutputReport>,
    drops: Vec<Dropped>,
    sums: Sums,
}

/// Digests of merged rows since somebody last asked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    /// As the encoder was handed them.
    pub(crate) written: Digest,
    /// Of those that rules took away.
    pub(crate) dropped: Digest,
}

/// What is to be written at most: rows, and the bytes that they took in the inputs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl Due {
    /// The same for so many of the rows.
    pub(crate) fn of_rows(self, rows: u64) -> Self {
        let bytes = u128::from(self.bytes) * u128::from(rows) / u128::from(self.rows.max(1));
        Self {
            rows,
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        }
    }
}

/// How outputs are to be.
pub(crate) struct Shape {
    pub(crate) schema: TypePtr,
    pub(crate) properties: WriterPropertiesPtr,
    pub(crate) target_bytes: u64,
    /// Rows in a row group, at most.
    pub(crate) group_rows: usize,
    pub(crate) times: Option<Times>,
}

/// An output being written.
struct Part {
    file: SerializedFileWriter<Sealed>,
    rows: u64,
    rows_copied: u64,
    digest: Digest,
    first: Option<Vec<u8>>,
    last: Option<Vec<u8>>,
    span: Span,
    passed_times: PassedTimes,
}

/// Bounds of the row times of what went past the merge.
#[derive(Default)]
enum PassedTimes {
    #[default]
    Nothing,
    Unknown,
    Known(RowTimes),
}

impl PassedTimes {
    fn join(&mut self, more: Option<RowTimes>) {
        *self = match (&*self, more) {
            (Self::Unknown, _) | (_, None) => Self::Unknown,
            (Self::Nothing, Some(more)) => Self::Known(more),
            (Self::Known(held), Some(more)) => Self::Known(held.with(more)),
        };
    }

    /// Bounds of these and of what was merged, if any was.
    fn beside(&self, merged: Option<RowTimes>, any_merged: bool) -> Option<RowTimes> {
        match (self, merged) {
            (Self::Unknown, _) => None,
            (Self::Nothing, merged) => merged,
            (Self::Known(held), None) => (!any_merged).then_some(*held),
            (Self::Known(held), Some(merged)) => Some(held.with(merged)),
        }
    }
}

/// Bytes that an output is handed at once.
const WRITE_BYTES: usize = 256 << 10;
/// Fewer rows in a row group would cost more than they gain.
const GROUP_ROWS_MIN: u64 = 256;

impl<'a> Outputs<'a> {
    /// `due` is what will be written at most.
    pub(crate) fn new(sink: &'a mut dyn OutputSink, shape: Shape, due: Due) -> Self {
        Self {
            sink,
            schema: shape.schema,
            properties: shape.properties,
            target_bytes: shape.target_bytes.max(1),
            group_rows: shape.group_rows.max(1),
            times: shape.times,
            rows_due: due.rows,
            row_bytes: due.bytes as f64 / due.rows.max(1) as f64,
            measured: false,
            last: None,
            part: None,
            done: Vec::new(),
            drops: Vec::new(),
            sums: Sums::default(),
        }
    }

    /// How many rows the next row group shall have while so many rows are on their way; none: wait for these first.
    pub(crate) fn room(&self, on_their_way: usize) -> usize {
        let on_their_way = on_their_way as u64;
        let ahead = (on_their_way as f64 * self.row_bytes) as u64;
        let standing = Standing {
            bytes: self.part.as_ref().map_or(0, Part::bytes) + ahead,
            rows: self.part.as_ref().map_or(0, |part| part.rows) + on_their_way,
            rows_due: self.rows_due.saturating_sub(on_their_way),
        };
        let Some(left) = rows_left(standing, self.row_bytes, self.target_bytes) else {
            return self.group_rows;
        };
        if left == 0 && on_their_way > 0 {
            return 0;
        }
        // Before anything was measured, a guess must not fill an output.
        let left = if self.measured { left } else { left / 4 };
        self.group_rows.min(left.max(GROUP_ROWS_MIN) as usize)
    }

    /// Appends a row group. It must follow those before in order.
    pub(crate) fn append(&mut self, group: Done) -> Result<(), MergeError> {
        for dropped in group.drops {
            self.rows_due = self.rows_due.saturating_sub(dropped.rows);
            self.sums.dropped += dropped.digest;
            self.count(dropped);
        }
        if group.rows == 0 {
            return Ok(());
        }
        if let (Some(last), Some(ends)) = (&self.last, &group.ends) {
            last.precedes(ends)?;
        }
        self.sums.written += group.digest;
        let part = self.part()?;
        let mut row_group = part.file.next_row_group().map_err(|why| broken(&why))?;
        for column in group.columns {
            if let Some(times) = column.times {
                part.span.join(times);
            }
            for chunk in column.chunks {
                let appended = match chunk {
                    Chunk::Own(chunk) => row_group.append_column(&chunk.bytes, chunk.close),
                    Chunk::Crate(chunk) => chunk.append_to_row_group(&mut row_group),
                };
                appended.map_err(|why| broken(&why))?;
            }
        }
        row_group.close().map_err(|why| broken(&why))?;
        part.rows += group.rows as u64;
        part.digest += group.digest;
        if let Some(ends) = group.ends {
            if part.first.is_none() {
                part.first = ends.min.clone();
            }
            part.last = ends.max.clone();
            self.last = Some(ends);
        }
        self.wrote(group.rows as u64)
    }

    /// Appends a row group that goes past the merge. It must follow those before in order.
    pub(crate) fn pass(
        &mut self,
        write: impl FnOnce(&mut SerializedFileWriter<Sealed>) -> Result<Passed, MergeError>,
    ) -> Result<Passed, MergeError> {
        let part = self.part()?;
        let passed = write(&mut part.file)?;
        part.rows += passed.rows;
        part.rows_copied += passed.rows;
        part.passed_times.join(passed.times);
        if let Some(keys) = &passed.keys {
            part.first.get_or_insert_with(|| keys.min.clone());
            part.last = Some(keys.max.clone());
        }
        self.wrote(passed.rows)?;
        Ok(passed)
    }

    /// What follows compares its keys in another way. Gives the digests of what was merged since the last stretch.
    pub(crate) fn end_stretch(&mut self) -> Sums {
        self.last = None;
        std::mem::take(&mut self.sums)
    }

    /// So many of the rows that were due do not come.
    pub(crate) fn expect_fewer(&mut self, rows: u64) {
        self.rows_due = self.rows_due.saturating_sub(rows);
    }

    fn part(&mut self) -> Result<&mut Part, MergeError> {
        match &mut self.part {
            Some(part) => Ok(part),
            none => {
                let output = self.sink.create(self.done.len() as u32).map_err(writing)?;
                let (schema, properties) = (self.schema.clone(), self.properties.clone());
                let file = SerializedFileWriter::new(Sealed::new(output), schema, properties);
                Ok(none.insert(Part::new(file.map_err(|why| broken(&why))?)))
            }
        }
    }

    /// Counts rows that are in the current output now, and closes it if it is full.
    fn wrote(&mut self, rows: u64) -> Result<(), MergeError> {
        let Some(part) = &self.part else { return Ok(()) };
        self.rows_due = self.rows_due.saturating_sub(rows);
        self.row_bytes = part.bytes() as f64 / part.rows as f64;
        self.measured = true;
        let standing = Standing {
            bytes: part.bytes(),
            rows: part.rows,
            rows_due: self.rows_due,
        };
        match is_full(standing, self.target_bytes) {
            true => self.close(),
            false => Ok(()),
        }
    }

    fn count(&mut self, dropped: Dropped) {
        match self.drops.iter_mut().find(|known| known.rule == dropped.rule) {
            Some(known) => {
                known.rows += dropped.rows;
                known.digest += dropped.digest;
            }
            None => self.drops.push(dropped),
        }
    }

    /// Closes the last output; gives what was written, and what was dropped by rule.
    pub(crate) fn finish(mut self) -> Result<(Vec<OutputReport>, Vec<Dropped>), MergeError> {
        self.close()?;
        self.drops.sort_by_key(|dropped| dropped.rule);
        Ok((self.done, self.drops))
    }

    fn close(&mut self) -> Result<(), MergeError> {
        let Some(part) = self.part.take() else {
            return Ok(());
        };
        let groups = part.file.flushed_row_groups();
        let uncompressed: i64 = groups.iter().map(|group| group.total_byte_size()).sum();
        let row_groups = groups.len() as u32;
        let sealed = part.file.into_inner().map_err(|why| broken(&why))?;
        let (bytes, checksum) = (sealed.bytes, sealed.hasher.digest128());
        let output = sealed
            .output
            .into_inner()
            .map_err(|why| writing(why.into_error()))?;
        output.finish().map_err(writing)?;
        self.done.push(OutputReport {
            part: self.done.len() as u32,
            bytes,
            rows: part.rows,
            rows_copied: part.rows_copied,
            digest: part.digest,
            checksum,
            keys: part.first.zip(part.last).map(|(min, max)| KeyRange { min, max }),
            times: self.times.as_ref().and_then(|times| {
                let merged = part.span.times(times);
                part.passed_times.beside(merged, part.rows > part.rows_copied)
            }),
            row_groups,
            uncompressed_bytes: uncompressed.unsigned_abs(),
        });
        Ok(())
    }
}

impl Part {
    fn new(file: SerializedFileWriter<Sealed>) -> Self {
        Self {
            file,
            rows: 0,
            rows_copied: 0,
            digest: Digest::EMPTY,
            first: None,
            last: None,
            span: Span::default(),
            passed_times: PassedTimes::default(),
        }
    }

    fn bytes(&self) -> u64 {
        self.file.bytes_written() as u64
    }
}

/// Counts and hashes the bytes of an output on their way. They come in small pieces, and go in large ones.
pub(crate) struct Sealed {
    output: BufWriter<Box<dyn Output>>,
    bytes: u64,
    hasher: Box<Xxh3>,
}

impl Sealed {
    fn new(output: Box<dyn Output>) -> Self {
        Self {
            output: BufWriter::with_capacity(WRITE_BYTES, output),
            bytes: 0,
            hasher: Box::default(),
        }
    }
}

impl Write for Sealed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

pub(crate) fn writing(source: io::Error) -> MergeError {
    MergeError::Node {
        doing: "writing an output",
        source,
    }
}

/// The encoder fails only where the sink does, or through a defect; either way this machine is not the place to go on.
pub(crate) fn broken(why: &ParquetError) -> MergeError {
    writing(io::Error::other(why.to_string()))
}
