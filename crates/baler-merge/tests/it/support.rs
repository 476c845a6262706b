//! Files in memory, a sink in memory, and the naive way to do what a merge does.

use arrow::array::*;
use arrow::compute::{concat_batches, interleave_record_batch};
use arrow::row::{RowConverter, SortField};
use baler_merge::*;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

pub(crate) fn ints(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

pub(crate) fn strings<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

pub(crate) fn parquet(rows: &RecordBatch) -> Bytes {
    parquet_with(rows, WriterProperties::builder().build())
}

pub(crate) fn parquet_with(rows: &RecordBatch, properties: WriterProperties) -> Bytes {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    bytes.into()
}

pub(crate) fn input(bytes: impl Into<Bytes>) -> Arc<dyn Input> {
    Arc::new(MemoryFile::new("file.parquet", bytes))
}

pub(crate) fn inputs(batches: &[RecordBatch]) -> Vec<Arc<dyn Input>> {
    batches.iter().map(|rows| input(parquet(rows))).collect()
}

/// Outputs in memory; one that was not finished is empty.
#[derive(Default, Clone)]
pub(crate) struct MemorySink(pub(crate) Arc<Mutex<Vec<Bytes>>>);

struct MemoryOutput(MemorySink, usize, Vec<u8>);

impl OutputSink for MemorySink {
    fn create(&mut self, part: u32) -> io::Result<Box<dyn Output>> {
        let mut outputs = self.0.lock().unwrap();
        assert_eq!(outputs.len(), part as usize, "parts come in order");
        outputs.push(Bytes::new());
        Ok(Box::new(MemoryOutput(self.clone(), part as usize, Vec::new())))
    }
}

impl Write for MemoryOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.2.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for MemoryOutput {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.0.lock().unwrap()[self.1] = self.2.into();
        Ok(())
    }
}

pub(crate) struct Merged {
    pub(crate) report: Report,
    pub(crate) files: Vec<Bytes>,
}

impl Merged {
    /// The rows of all outputs, one after another.
    pub(crate) fn rows(&self) -> RecordBatch {
        let batches: Vec<RecordBatch> = self.files.iter().flat_map(read).collect();
        concat_batches(&batches[0].schema(), &batches).unwrap()
    }

    pub(crate) fn column(&self, name: &str) -> ArrayRef {
        self.rows().column_by_name(name).unwrap().clone()
    }
}

pub(crate) fn read(file: &Bytes) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone())
        .unwrap()
        .build()
        .unwrap();
    reader.collect::<Result<_, _>>().unwrap()
}

/// A merge on one thread with a budget of `memory_bytes`, at least what the engine insists on.
pub(crate) fn try_merge(
    inputs: &[Arc<dyn Input>],
    spec: &MergeSpec,
    memory_bytes: u64,
) -> Result<Merged, MergeError> {
    let budget = Budget {
        memory_bytes,
        threads: 1,
    };
    try_merge_within(inputs, spec, budget)
}

pub(crate) fn try_merge_within(
    inputs: &[Arc<dyn Input>],
    spec: &MergeSpec,
    budget: Budget,
) -> Result<Merged, MergeError> {
    try_merge_range(inputs, spec, &KeySpan::ALL, budget)
}

/// One range of a job.
pub(crate) fn try_merge_range(
    inputs: &[Arc<dyn Input>],
    spec: &MergeSpec,
    range: &KeySpan,
    budget: Budget,
) -> Result<Merged, MergeError> {
    let mut sink = MemorySink::default();
    let spill = tempfile::tempdir().unwrap();
    let report = merge_range(inputs, spec, range, budget, spill.path(), &mut sink, &Unwatched);
    assert_eq!(
        std::fs::read_dir(spill.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
    let files = std::mem::take(&mut *sink.0.lock().unwrap());
    let report = report?;
    assert_eq!(report.outputs.len(), files.len());
    for (output, file) in report.outputs.iter().zip(&files) {
        check_output(output, file);
    }
    Ok(Merged { report, files })
}

/// What the report says of an output is true of its bytes.
fn check_output(output: &OutputReport, file: &Bytes) {
    assert_eq!(output.bytes, file.len() as u64);
    assert_eq!(output.checksum, xxhash_rust::xxh3::xxh3_128(file));
    let (rows, digest) = digest_of(
        &input(file.clone()),
        RowHash::default(),
        Budget::default(),
        &Unwatched,
    )
    .unwrap();
    assert_eq!(output.rows, rows, "what was written can be read back");
    if output.rows_copied == 0 {
        assert_eq!(output.digest, digest, "what was written can be read back");
    }
}

pub(crate) fn merged(batches: &[RecordBatch], spec: &MergeSpec) -> Merged {
    try_merge(&inputs(batches), spec, 64 << 20).unwrap()
}

pub(crate) fn sorted_by(names: &[&str]) -> MergeSpec {
    MergeSpec {
        sort: names.iter().map(|name| SortColumn::ascending(*name)).collect(),
        ..MergeSpec::default()
    }
}

pub(crate) fn last_write_wins(key: &[&str], version: &str) -> MergeSpec {
    let key = key.iter().map(|name| (*name).to_owned()).collect();
    MergeSpec {
        rule: Rule::LastWriteWins {
            key,
            version: version.into(),
        },
        ..MergeSpec::default()
    }
}

/// Asks for bounds of a key.
pub(crate) fn by(sort: &[SortColumn]) -> Asked<'_> {
    Asked {
        sort,
        ..Asked::default()
    }
}

/// The digest of a batch, by way of a file.
pub(crate) fn digest(rows: &RecordBatch) -> Digest {
    digest_by(RowHash::default(), rows)
}

/// The same by another hash.
pub(crate) fn digest_by(hash: RowHash, rows: &RecordBatch) -> Digest {
    digest_of(&input(parquet(rows)), hash, Budget::default(), &Unwatched)
        .unwrap()
        .1
}

/// The naive way: all rows in memory, stably sorted; every NaN is one value.
pub(crate) fn sort_naively(batches: &[RecordBatch], sort: &[SortColumn]) -> RecordBatch {
    let all = concat_batches(&batches[0].schema(), batches).unwrap();
    let fields = sort.iter().map(|column| {
        let field = all.schema_ref().field_with_name(&column.name).unwrap();
        let options = arrow::compute::SortOptions {
            descending: column.descending,
            nulls_first: column.nulls_first,
        };
        SortField::new_with_options(field.data_type().clone(), options)
    });
    let converter = RowConverter::new(fields.collect()).unwrap();
    let columns: Vec<ArrayRef> = sort
        .iter()
        .map(|column| one_nan(all.column_by_name(&column.name).unwrap()))
        .collect();
    let keys = converter.convert_columns(&columns).unwrap();
    let mut order: Vec<(usize, usize)> = (0..all.num_rows()).map(|row| (0, row)).collect();
    order.sort_by(|a, b| keys.row(a.1).cmp(&keys.row(b.1)));
    if order.is_empty() {
        return all;
    }
    interleave_record_batch(&[&all], &order).unwrap()
}

fn one_nan(column: &ArrayRef) -> ArrayRef {
    use arrow::datatypes::*;
    macro_rules! floats {
        ($type:ty) => {{
            let nan = <$type as ArrowPrimitiveType>::Native::NAN;
            let column = column.as_primitive::<$type>();
            Arc::new(column.unary::<_, $type>(|value| if value.is_nan() { nan } else { value }))
        }};
    }
    match column.data_type() {
        DataType::Float16 => floats!(Float16Type),
        DataType::Float32 => floats!(Float32Type),
        DataType::Float64 => floats!(Float64Type),
        _ => column.clone(),
    }
}

/// Passes reads through, and fails or cancels when told to.
pub(crate) struct Flaky {
    pub(crate) bytes: Bytes,
    pub(crate) reads_left: Mutex<usize>,
}

impl Input for Flaky {
    fn name(&self) -> &str {
        "flaky.parquet"
    }
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let mut left = self.reads_left.lock().unwrap();
        *left = left
            .checked_sub(1)
            .ok_or_else(|| io::Error::other("503 slow down"))?;
        Ok(self.bytes.slice(offset as usize..offset as usize + length))
    }
}
