//! Row groups in, one row group out: read back by the parquet crate, described as its writer would describe it, and refused when
//! anything was tampered with.

mod copies;
mod decodes;
mod described;
mod figures;
mod other_readers;
mod passes;
mod refuses;
mod rows;
mod surveys;

use super::group::GroupMaker;
use super::source::{Leaf, SourceGroup, find_leaves};
use super::stitch_leaf;
use super::write::{Origin, Written};
use crate::decode::OpenFile;
use crate::group::{EncodedColumn, EncodedGroup};
use crate::io::{Input, MemoryFile};
use crate::spec::Codec;
use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::*;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescPtr;
use std::sync::Arc;

pub(super) fn zstd() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()))
}

pub(super) fn written(rows: &RecordBatch, properties: WriterProperties) -> Bytes {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    bytes.into()
}

pub(super) fn footer(file: &Bytes) -> ParquetMetaData {
    ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Optional)
        .parse_and_finish(file)
        .unwrap()
}

pub(super) fn read(file: &Bytes) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// Files with their footers, and how their leaves map to those of the first.
pub(super) struct Files {
    files: Vec<OpenFile>,
    leaves: Vec<Vec<Option<Leaf>>>,
    pub(super) schema: SchemaDescPtr,
}

impl Files {
    pub(super) fn new(files: &[Bytes]) -> Self {
        let open = |file: &Bytes| {
            let file: Arc<dyn Input> = Arc::new(MemoryFile::new("f", file.clone()));
            OpenFile::open_with_statistics(&file).unwrap()
        };
        let files: Vec<OpenFile> = files.iter().map(open).collect();
        let schema = files[0].footer().file_metadata().schema_descr_ptr();
        Self::with_schema(files, schema)
    }

    pub(super) fn with_schema(files: Vec<OpenFile>, schema: SchemaDescPtr) -> Self {
        let leaves = files
            .iter()
            .map(|file| find_leaves(&schema, file.footer().file_metadata().schema_descr()));
        Self {
            leaves: leaves.collect(),
            files,
            schema,
        }
    }

    pub(super) fn sources(&self) -> Vec<SourceGroup<'_>> {
        let mut sources = Vec::new();
        for (input, file) in self.files.iter().enumerate() {
            for group in 0..file.footer().num_row_groups() {
                sources.push(SourceGroup {
                    input,
                    file,
                    group,
                    leaves: &self.leaves[input],
                    kept: None,
                });
            }
        }
        sources
    }

    pub(super) fn stitch(&self, leaf: usize, codec: Codec) -> Result<Written, String> {
        stitch_leaf(&self.sources(), leaf, &self.schema.column(leaf), codec).unwrap()
    }

    /// All leaves, proved, as a file of one row group; and where the pages of each came from.
    pub(super) fn stitched(&self, codec: Codec) -> (Bytes, Vec<Vec<Origin>>) {
        let (mut columns, mut origins) = (Vec::new(), Vec::new());
        for leaf in 0..self.schema.num_columns() {
            let stitched = self.stitch(leaf, codec).unwrap();
            origins.push(stitched.origins.clone());
            let (column, seals) = stitched.proved().unwrap();
            assert_eq!(seals.read, seals.written);
            columns.push(column);
        }
        let rows = columns[0].close.rows_written;
        (file_of(EncodedGroup { rows, columns }, &self.schema), origins)
    }
}

/// All leaves of a row group, and which columns had to be decoded.
pub(super) fn made(
    sources: Vec<SourceGroup<'_>>,
    leaves: &SchemaDescPtr,
    schema: &SchemaRef,
) -> (Vec<EncodedColumn>, Vec<(String, String)>) {
    let maker = GroupMaker {
        sources,
        leaves: leaves.clone(),
        schema: schema.clone(),
        codec: Codec::Zstd(1),
        is_copy: false,
    };
    let (mut columns, mut decoded) = (Vec::new(), Vec::new());
    for root in 0..schema.fields().len() {
        let made = maker.column(root).unwrap();
        columns.extend(made.leaves);
        decoded.extend(made.decoded);
    }
    (columns, decoded)
}

pub(super) fn file_of(group: EncodedGroup, schema: &SchemaDescPtr) -> Bytes {
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(&mut bytes, schema.root_schema_ptr(), properties).unwrap();
    group.append_to(&mut file).unwrap();
    file.close().unwrap();
    bytes.into()
}

/// Rows of every flat kind, `count` of them from `first` on; few distinct values, many, and none.
fn flat(first: usize, count: usize) -> RecordBatch {
    let rows = first..first + count;
    let some = |row: usize| !row.is_multiple_of(7) && row / 100 % 5 != 2;
    let longs = |value: fn(usize) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter(
            rows.clone().map(|row| some(row).then(|| value(row))),
        ))
    };
    let strings = |value: fn(usize) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter(
            rows.clone().map(|row| some(row).then(|| value(row))),
        ))
    };
    let double = |row: usize| match row % 11 {
        0 => f64::NAN,
        1 => -0.0,
        2 => 0.0,
        _ => (row % 13) as f64 - 6.5,
    };
    batch(vec![
        (
            "ts",
            Arc::new(TimestampMillisecondArray::from_iter_values(
                rows.clone().map(|row| row as i64 * 10),
            )),
        ),
        ("few", longs(|row| (row * 7 % 50) as i64 - 25)),
        (
            "many",
            longs(|row| (row as i64).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)),
        ),
        (
            "word",
            strings(|row| ["", "a", "longer than the others", "ü"][row % 4].to_owned()),
        ),
        ("id", strings(|row| format!("id-{row}"))),
        (
            "bool",
            Arc::new(BooleanArray::from_iter(
                rows.clone().map(|row| some(row).then_some(row % 3 == 0)),
            )),
        ),
        (
            "double",
            Arc::new(Float64Array::from_iter(
                rows.clone().map(|row| some(row).then(|| double(row))),
            )),
        ),
        ("fixed", {
            let values = rows
                .clone()
                .map(|row| some(row).then_some([(row % 9) as u8, 1, 2]));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 3).unwrap())
        }),
        ("decimal", {
            let values = rows.clone().map(|row| some(row).then(|| (row % 21) as i128 - 10));
            let values = Decimal128Array::from_iter(values)
                .with_precision_and_scale(30, 2)
                .unwrap();
            Arc::new(values)
        }),
        (
            "unsigned",
            Arc::new(UInt32Array::from_iter_values(
                rows.clone().map(|row| row as u32 ^ 0x8000_0000),
            )),
        ),
        ("nothing", new_null_array(&DataType::Int32, count)),
        ("half", {
            let half = |row: usize| <Float16Type as ArrowPrimitiveType>::Native::from_f64(double(row));
            Arc::new(Float16Array::from_iter(
                rows.clone().map(|row| some(row).then(|| half(row))),
            ))
        }),
    ])
}

fn expected(batches: &[RecordBatch]) -> RecordBatch {
    concat_batches(&batches[0].schema(), batches).unwrap()
}

/// Equal to the bit, NaN included.
fn assert_same(found: &RecordBatch, expected: &RecordBatch) {
    for (field, column) in expected.schema().fields().iter().zip(expected.columns()) {
        let other = found.column_by_name(field.name()).unwrap();
        assert_eq!(other.to_data(), column.to_data(), "{}", field.name());
    }
}
