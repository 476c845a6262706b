//! Row groups in, one row group out: read back by the parquet crate, described as its writer would describe it, and refused when
//! anything was tampered with.

use super::source::{Leaf, SourceGroup, find_leaves};
use super::write::Origin;
use super::{Stitched, stitch_leaf};
use crate::group::EncodedGroup;
use crate::io::MemoryFile;
use crate::spec::Codec;
use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::*;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
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
    files: Vec<MemoryFile>,
    footers: Vec<ParquetMetaData>,
    leaves: Vec<Vec<Option<Leaf>>>,
    pub(super) schema: SchemaDescPtr,
}

impl Files {
    pub(super) fn new(files: &[Bytes]) -> Self {
        let footers: Vec<ParquetMetaData> = files.iter().map(footer).collect();
        let schema = footers[0].file_metadata().schema_descr_ptr();
        Self {
            files: files
                .iter()
                .map(|file| MemoryFile::new("f", file.clone()))
                .collect(),
            leaves: footers
                .iter()
                .map(|footer| find_leaves(&schema, footer.file_metadata().schema_descr()))
                .collect(),
            footers,
            schema,
        }
    }

    pub(super) fn sources(&self) -> Vec<SourceGroup<'_>> {
        let mut sources = Vec::new();
        for (input, footer) in self.footers.iter().enumerate() {
            for group in 0..footer.num_row_groups() {
                sources.push(SourceGroup {
                    input,
                    bytes: &self.files[input],
                    footer,
                    group,
                    leaves: &self.leaves[input],
                });
            }
        }
        sources
    }

    pub(super) fn stitch(&self, leaf: usize, codec: Codec) -> Result<Stitched, String> {
        stitch_leaf(&self.sources(), leaf, &self.schema.column(leaf), codec).unwrap()
    }

    /// All leaves, proved, as a file of one row group; and where the pages of each came from.
    pub(super) fn stitched(&self, codec: Codec) -> (Bytes, Vec<Vec<Origin>>) {
        let (mut columns, mut origins) = (Vec::new(), Vec::new());
        for leaf in 0..self.schema.num_columns() {
            let stitched = self.stitch(leaf, codec).unwrap();
            origins.push(stitched.origins.clone());
            columns.push(stitched.proved().unwrap());
        }
        let rows = columns[0].close.rows_written;
        (file_of(EncodedGroup { rows, columns }, &self.schema), origins)
    }
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
            let values = rows.clone().map(|row| some(row).then(|| [(row % 9) as u8, 1, 2]));
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

fn stitched_in_all_ways(batches: &[RecordBatch]) {
    let rows = batches.iter().map(|rows| rows.num_rows()).max().unwrap();
    let ways: Vec<(&str, WriterPropertiesBuilder)> = vec![
        ("plain settings", zstd()),
        (
            "second kind of pages",
            zstd().set_writer_version(WriterVersion::PARQUET_2_0),
        ),
        ("without dictionaries", zstd().set_dictionary_enabled(false)),
        (
            "dictionaries that fall back",
            zstd().set_dictionary_page_size_limit(64).set_write_batch_size(50),
        ),
        (
            "many pages",
            zstd()
                .set_data_page_row_count_limit(rows / 3 + 1)
                .set_write_batch_size(rows / 3 + 1),
        ),
        (
            "another codec",
            WriterProperties::builder().set_compression(Compression::SNAPPY),
        ),
        (
            "another codec, second kind",
            WriterProperties::builder()
                .set_compression(Compression::LZ4_RAW)
                .set_dictionary_enabled(false)
                .set_writer_version(WriterVersion::PARQUET_2_0),
        ),
    ];
    let all = expected(batches);
    for (way, properties) in ways {
        let files: Vec<Bytes> = batches
            .iter()
            .map(|rows| written(rows, properties.clone().build()))
            .collect();
        for codec in [Codec::Zstd(1), Codec::None] {
            let (file, _) = Files::new(&files).stitched(codec);
            let metadata = footer(&file);
            assert_eq!(metadata.num_row_groups(), 1);
            assert_eq!(metadata.row_group(0).num_rows() as usize, all.num_rows());
            assert_same(&read(&file), &all);
            println!("{way} {codec:?}: {} bytes", file.len());
        }
    }
}

#[test]
fn rows_come_back_whatever_the_pages_were() {
    let batches: Vec<RecordBatch> = (0..4).map(|file| flat(file * 900, 900)).collect();
    stitched_in_all_ways(&batches);
}

#[test]
fn large_pages_are_copied_or_retyped_and_come_back() {
    let batches: Vec<RecordBatch> = (0..2).map(|file| flat(file * 30_000, 30_000)).collect();
    stitched_in_all_ways(&batches);
}

#[test]
fn three_hundred_tiny_row_groups_become_one_with_pages_of_even_size() {
    let batches: Vec<RecordBatch> = (0..300).map(|file| flat(file * 101, 101)).collect();
    let files: Vec<Bytes> = batches.iter().map(|rows| written(rows, zstd().build())).collect();
    let (file, _) = Files::new(&files).stitched(Codec::Zstd(1));
    assert_same(&read(&file), &expected(&batches));
    let metadata = footer(&file);
    assert_eq!(metadata.num_row_groups(), 1);
    let index = metadata.page_index().unwrap();
    for leaf in 0..metadata.row_group(0).num_columns() {
        let pages = index.offset_index(0, leaf).unwrap().page_locations();
        let starts: Vec<i64> = pages.iter().map(|page| page.first_row_index).collect();
        assert_eq!(starts, [0, 20_000], "leaf {leaf}");
    }
}
