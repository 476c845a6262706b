//! Runs: sorted rows that were spilled to disk, with their ordinals, as compressed Arrow streams.
//!
//! A run's file is deleted when the run is dropped. Its rows are counted on the way out and on the way in, so that a
//! disk that loses some is told apart from a defect of Baler, which the proof at the end would call it.

use crate::batch::{Batch, Chunk, Ordinals};
use crate::error::MergeError;
use crate::sort_key::SortKey;
use crate::source::Source;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes runs in one directory and adds up what they cost.
pub(crate) struct Spill<'a> {
    directory: &'a Path,
    schema: SchemaRef,
    /// Bytes written to disk so far.
    pub(crate) bytes: u64,
}

/// Sorted rows on disk.
pub(crate) struct Run {
    path: PathBuf,
    schema: SchemaRef,
    rows: u64,
    /// The key of its first row.
    pub(crate) first_key: Vec<u8>,
}

impl Drop for Run {
    fn drop(&mut self) {
        // What cannot be deleted here goes with the directory, which is the caller's.
        let _ = fs::remove_file(&self.path);
    }
}

/// A run being written.
pub(crate) struct RunWriter {
    writer: StreamWriter<BufWriter<File>>,
    run: Run,
}

/// Merges that share a directory never share a name.
static SPILLS: AtomicU64 = AtomicU64::new(0);

impl<'a> Spill<'a> {
    /// `schema` is the common schema of the rows.
    pub(crate) fn new(directory: &'a Path, schema: &Schema) -> Self {
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new("ordinal", DataType::UInt64, false)));
        Self {
            directory,
            schema: Arc::new(Schema::new(fields)),
            bytes: 0,
        }
    }

    /// Begins a run.
    pub(crate) fn begin(&self) -> Result<RunWriter, MergeError> {
        let number = SPILLS.fetch_add(1, Ordering::Relaxed);
        let path = self
            .directory
            .join(format!("run-{}-{number}.arrow", std::process::id()));
        let file = File::create_new(&path).map_err(spilling)?;
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME));
        let options = options.map_err(broken)?;
        let writer = StreamWriter::try_new_with_options(BufWriter::new(file), &self.schema, options)
            .map_err(broken)?;
        let run = Run {
            path,
            schema: Arc::clone(&self.schema),
            rows: 0,
            first_key: Vec::new(),
        };
        Ok(RunWriter { writer, run })
    }

    /// Ends a run.
    pub(crate) fn end(&mut self, mut run: RunWriter) -> Result<Run, MergeError> {
        run.writer.finish().map_err(broken)?;
        let file = run.writer.get_ref().get_ref();
        self.bytes += file.metadata().map_err(spilling)?.len();
        Ok(run.run)
    }
}

impl RunWriter {
    /// Appends a chunk, which must follow what is there in order.
    pub(crate) fn write(&mut self, chunk: &Chunk) -> Result<(), MergeError> {
        let Some(rows) = chunk.gather().map_err(broken)? else {
            return Ok(());
        };
        if self.run.rows == 0 {
            let first = chunk.stretches[0];
            self.run.first_key = chunk.batches[first.batch].keys.row(first.start).data().to_vec();
        }
        self.run.rows += rows.num_rows() as u64;
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        columns.push(Arc::new(chunk.ordinals()));
        let rows = RecordBatch::try_new(Arc::clone(&self.run.schema), columns).map_err(broken)?;
        self.writer.write(&rows).map_err(broken)
    }
}

/// Reads a run back; the file is opened when the first batch is asked for.
pub(crate) struct RunRows<'a> {
    run: Run,
    key: &'a SortKey,
    schema: SchemaRef,
    reader: Option<StreamReader<BufReader<File>>>,
    rows_read: u64,
}

/// Small, because many runs are open at once.
const READ_BUFFER_BYTES: usize = 16 << 10;

impl<'a> RunRows<'a> {
    /// `schema` is the common schema of the rows, without ordinals.
    pub(crate) fn new(run: Run, key: &'a SortKey, schema: SchemaRef) -> Self {
        Self {
            run,
            key,
            schema,
            reader: None,
            rows_read: 0,
        }
    }

    fn reader(&mut self) -> Result<&mut StreamReader<BufReader<File>>, MergeError> {
        match &mut self.reader {
            Some(reader) => Ok(reader),
            none => {
                let file = File::open(&self.run.path).map_err(spilling)?;
                let file = BufReader::with_capacity(READ_BUFFER_BYTES, file);
                Ok(none.insert(StreamReader::try_new(file, None).map_err(broken)?))
            }
        }
    }
}

impl Source for RunRows<'_> {
    fn next(&mut self) -> Result<Option<Batch>, MergeError> {
        let Some(rows) = self.reader()?.next().transpose().map_err(broken)? else {
            self.reader = None;
            return match self.rows_read == self.run.rows {
                true => Ok(None),
                false => Err(spilling(io::ErrorKind::UnexpectedEof.into())),
            };
        };
        self.rows_read += rows.num_rows() as u64;
        let mut columns = rows.columns().to_vec();
        let ordinals = columns
            .pop()
            .filter(|column| column.data_type() == &DataType::UInt64);
        let Some(ordinals) = ordinals else {
            return Err(spilling(io::ErrorKind::InvalidData.into()));
        };
        let ordinals = Ordinals::Listed(ordinals.as_primitive::<UInt64Type>().clone());
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(broken)?;
        self.key.batch(rows, ordinals).map(Some).map_err(broken)
    }
}

fn spilling(source: io::Error) -> MergeError {
    MergeError::Node {
        doing: "spilling sorted rows to disk",
        source,
    }
}

/// What Arrow makes of a failed write, as the failed write that it was.
fn broken(why: ArrowError) -> MergeError {
    spilling(match why {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    })
}
