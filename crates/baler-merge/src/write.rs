//! Encodes rows into outputs: digests what the encoder is handed, checks the order that will be claimed, rolls at the target size.

use crate::batch::memory_of;
use crate::digest::Digest;
use crate::error::MergeError;
use crate::hand_over::Handed;
use crate::io::{Output, OutputSink};
use crate::key_range::{KeyRange, encode_row};
use crate::limits::PAGE_ROWS;
use crate::report::OutputReport;
use crate::roll::{Standing, is_full};
use crate::row_hash::digest_of_batch;
use crate::row_time::{Span, Times};
use crate::sort_key::SortKey;
use crate::spec::{Codec, MergeSpec};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::io::{self, Write};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// An output is looked at this often before it is full.
const PIECES_PER_OUTPUT: usize = 16;

/// Smaller pieces would cost more than they gain.
const PIECE_ROWS_MIN: usize = 256;

/// Writes rows to as many outputs as they need.
pub(crate) struct Writer<'a> {
    sink: &'a mut dyn OutputSink,
    schema: SchemaRef,
    properties: WriterProperties,
    target_bytes: u64,
    memory_bytes: usize,
    /// The order to claim, if any.
    key: Option<&'a SortKey>,
    last: LastPlace,
    /// Where row times are, if they are asked for and there are any.
    times: Option<Times>,
    rows_due: u64,
    /// What a row took in the last output, or in the inputs. Pages in work are not compressed yet, and would be
    /// taken for too much.
    row_bytes_expected: f64,
    part: Option<Part>,
    done: Vec<OutputReport>,
}

/// What is to be written at most: rows, and the bytes that they took in the inputs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// Keys of the row written last.
#[derive(Default)]
struct LastPlace {
    key: Option<Vec<u8>>,
    rule_key: Option<Vec<u8>>,
}

/// An output being written.
struct Part {
    writer: ArrowWriter<Sealed>,
    rows: u64,
    digest: Digest,
    first: Option<Vec<u8>>,
    last: Option<Vec<u8>>,
    span: Span,
}

impl<'a> Writer<'a> {
    /// `due` is what will be written at most; the row group in work stays under `memory_bytes`.
    pub(crate) fn new(
        sink: &'a mut dyn OutputSink,
        schema: &SchemaRef,
        spec: &MergeSpec,
        key: Option<&'a SortKey>,
        due: Due,
        memory_bytes: usize,
    ) -> Result<Self, MergeError> {
        let times = spec.row_time.as_ref().map(|column| Times::of(schema, column));
        Ok(Self {
            sink,
            times: times.transpose().map_err(MergeError::Spec)?.flatten(),
            properties: properties(schema, spec, key)?,
            schema: Arc::clone(schema),
            target_bytes: spec.target_file_bytes.max(1),
            memory_bytes,
            key,
            last: LastPlace::default(),
            rows_due: due.rows,
            row_bytes_expected: due.bytes as f64 / due.rows.max(1) as f64,
            part: None,
            done: Vec::new(),
        })
    }

    /// Takes what was made.
    pub(crate) fn take(&mut self, handed: Handed) -> Result<(), MergeError> {
        match handed {
            Handed::Rows(rows) => self.write(&rows),
            Handed::NotDue(rows) => {
                self.rows_due = self.rows_due.saturating_sub(rows);
                Ok(())
            }
        }
    }

    /// Writes rows that follow those before in order. Outputs are closed between pieces, so a piece is a small part
    /// of one.
    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<(), MergeError> {
        let row_bytes = (memory_of(rows) / rows.num_rows().max(1)).max(1);
        let piece_rows = (self.target_bytes as usize / PIECES_PER_OUTPUT / row_bytes).max(PIECE_ROWS_MIN);
        for first in (0..rows.num_rows()).step_by(piece_rows) {
            self.write_piece(&rows.slice(first, piece_rows.min(rows.num_rows() - first)))?;
        }
        Ok(())
    }

    fn write_piece(&mut self, rows: &RecordBatch) -> Result<(), MergeError> {
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), rows.columns().to_vec())
            .map_err(|why| MergeError::Proof(format!("rows do not fit the common schema: {why}")))?;
        if let Some(key) = self.key {
            self.last.check(key, &rows)?;
        }
        let first = match (&self.part, self.key) {
            (None, Some(key)) => {
                Some(encode_row(&key_columns(key, &rows), 0, key.bounds()).map(|bound| bound.min()))
            }
            _ => None,
        };
        let part = match &mut self.part {
            Some(part) => part,
            none => {
                let output = self.sink.create(self.done.len() as u32).map_err(writing)?;
                let sealed = Sealed {
                    output,
                    bytes: 0,
                    hasher: Box::default(),
                };
                let writer =
                    ArrowWriter::try_new(sealed, Arc::clone(&self.schema), Some(self.properties.clone()));
                let writer = writer.map_err(|why| broken(&why))?;
                none.insert(Part {
                    writer,
                    rows: 0,
                    digest: Digest::EMPTY,
                    first: first.flatten(),
                    last: None,
                    span: Span::default(),
                })
            }
        };
        part.digest += digest_of_batch(&rows).map_err(|why| MergeError::Proof(why.to_string()))?;
        part.rows += rows.num_rows() as u64;
        if let Some(times) = &self.times {
            let added = part.span.add(rows.column(times.column));
            added.map_err(|why| MergeError::Proof(why.to_string()))?;
        }
        part.writer.write(&rows).map_err(|why| broken(&why))?;
        if part.writer.memory_size() > self.memory_bytes {
            part.writer.flush().map_err(|why| broken(&why))?;
        }
        self.rows_due = self.rows_due.saturating_sub(rows.num_rows() as u64);
        let in_work = (part.writer.in_progress_rows() as f64 * self.row_bytes_expected) as usize;
        let bytes = (part.writer.bytes_written() + part.writer.in_progress_size().min(in_work)) as u64;
        let full = is_full(
            Standing {
                bytes,
                rows: part.rows,
                rows_due: self.rows_due,
            },
            self.target_bytes,
        );
        if let Some(key) = self.key {
            part.last = encode_row(&key_columns(key, &rows), rows.num_rows() - 1, key.bounds())
                .map(|bound| bound.max());
        }
        if full { self.close() } else { Ok(()) }
    }

    /// Closes the last output.
    pub(crate) fn finish(mut self) -> Result<Vec<OutputReport>, MergeError> {
        self.close()?;
        Ok(self.done)
    }

    fn close(&mut self) -> Result<(), MergeError> {
        let Some(mut part) = self.part.take() else {
            return Ok(());
        };
        part.writer.flush().map_err(|why| broken(&why))?;
        let groups = part.writer.flushed_row_groups();
        let uncompressed: i64 = groups.iter().map(|group| group.total_byte_size()).sum();
        let row_groups = groups.len() as u32;
        let sealed = part.writer.into_inner().map_err(|why| broken(&why))?;
        let (bytes, checksum) = (sealed.bytes, sealed.hasher.digest128());
        sealed.output.finish().map_err(writing)?;
        self.row_bytes_expected = bytes as f64 / part.rows.max(1) as f64;
        self.done.push(OutputReport {
            part: self.done.len() as u32,
            bytes,
            rows: part.rows,
            digest: part.digest,
            checksum,
            keys: part.first.zip(part.last).map(|(min, max)| KeyRange { min, max }),
            times: self.times.as_ref().and_then(|times| part.span.times(times)),
            row_groups,
            uncompressed_bytes: uncompressed.unsigned_abs(),
        });
        Ok(())
    }
}

impl LastPlace {
    /// The order that will be claimed is looked at here, in what is written, not taken from the merge's word.
    fn check(&mut self, key: &SortKey, rows: &RecordBatch) -> Result<(), MergeError> {
        let odd = |why: arrow::error::ArrowError| MergeError::Proof(why.to_string());
        let keys = key.keys(rows).map_err(odd)?;
        let mut last = self.key.as_deref();
        for row in &keys {
            if last.is_some_and(|last| last > row.data()) {
                return Err(MergeError::Proof(
                    "rows came out of the merge in the wrong order".into(),
                ));
            }
            last = Some(row.data());
        }
        self.key = last.map(<[u8]>::to_vec);
        let Some(rule_keys) = key.rule_keys(rows).map_err(odd)? else {
            return Ok(());
        };
        let mut last = self.rule_key.as_deref();
        for row in &rule_keys {
            if last.is_some_and(|last| last == row.data()) {
                return Err(MergeError::Proof(
                    "two rows of one key came out of the rule".into(),
                ));
            }
            last = Some(row.data());
        }
        self.rule_key = last.map(<[u8]>::to_vec);
        Ok(())
    }
}

fn key_columns(key: &SortKey, rows: &RecordBatch) -> Vec<ArrayRef> {
    key.columns()
        .iter()
        .map(|column| Arc::clone(rows.column(*column)))
        .collect()
}

fn properties(
    schema: &SchemaRef,
    spec: &MergeSpec,
    key: Option<&SortKey>,
) -> Result<WriterProperties, MergeError> {
    let codec = match spec.codec {
        Codec::Zstd(level) => Compression::ZSTD(
            ZstdLevel::try_new(level)
                .map_err(|_| MergeError::Spec(format!("zstd has levels 1 to 22, not {level}")))?,
        ),
        Codec::Snappy => Compression::SNAPPY,
        Codec::Lz4 => Compression::LZ4_RAW,
        Codec::None => Compression::UNCOMPRESSED,
    };
    // It is in the embedded Arrow schema too; some readers look there, some here.
    let metadata: Vec<KeyValue> = schema
        .metadata()
        .iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("baler ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(codec)
        .set_max_row_group_row_count(Some(spec.row_group_rows.max(1)))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata((!metadata.is_empty()).then_some(metadata));
    if let Some(key) = key {
        builder = builder.set_sorting_columns(Some(sorting_columns(schema, key)?));
        // A leading key of many distinct values is sorted: its differences pack far better than a dictionary.
        let field = schema.field(key.columns()[0]);
        if matches!(
            field.data_type(),
            DataType::Int64 | DataType::UInt64 | DataType::Timestamp(_, _)
        ) {
            let path = ColumnPath::new(vec![field.name().clone()]);
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(builder.build())
}

/// The sort key by leaf columns of the Parquet schema.
fn sorting_columns(schema: &SchemaRef, key: &SortKey) -> Result<Vec<SortingColumn>, MergeError> {
    let parquet = ArrowSchemaConverter::new()
        .convert(schema)
        .map_err(|why| MergeError::Spec(format!("Parquet cannot hold this schema: {why}")))?;
    let leaf = |name: &str| {
        parquet
            .columns()
            .iter()
            .position(|column| matches!(column.path().parts(), [only] if only == name))
    };
    let columns = key.sort().iter().map(|column| {
        Some(SortingColumn {
            column_idx: i32::try_from(leaf(&column.name)?).ok()?,
            descending: column.descending,
            nulls_first: column.nulls_first,
        })
    });
    columns
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| MergeError::Proof("a sort column is no leaf".into()))
}

/// Counts and hashes the bytes of an output on their way.
struct Sealed {
    output: Box<dyn Output>,
    bytes: u64,
    hasher: Box<Xxh3>,
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

fn writing(source: io::Error) -> MergeError {
    MergeError::Node {
        doing: "writing an output",
        source,
    }
}

/// The encoder fails only where the sink does, or through a defect; either way this machine is not the place to go on.
fn broken(why: &ParquetError) -> MergeError {
    writing(io::Error::other(why.to_string()))
}
