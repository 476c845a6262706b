//! Row groups in, one row group out: read back by the parquet crate, described as its writer would describe it, and refused when
//! anything was tampered with.

mod copies;
mod decodes;
mod figures;
mod other_readers;
mod passes;
mod refuses;
mod surveys;

use super::source::{Leaf, SourceGroup, find_leaves};
use super::write::Origin;
use super::{Stitched, stitch_leaf};
use crate::decode::OpenFile;
use crate::group::EncodedGroup;
use crate::io::{Input, MemoryFile};
use crate::spec::Codec;
use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::*;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{Int96, Int96Type};
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
            let (column, seals) = stitched.proved().unwrap();
            assert_eq!(seals.read, seals.written);
            columns.push(column);
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

#[test]
fn pages_are_copied_retyped_repacked_or_written_as_it_is_cheapest() {
    let batches: Vec<RecordBatch> = (0..2).map(|file| flat(file * 30_000, 30_000)).collect();
    let origins = |properties: WriterPropertiesBuilder, column: &str| {
        let files: Vec<Bytes> = batches
            .iter()
            .map(|rows| written(rows, properties.clone().build()))
            .collect();
        let files = Files::new(&files);
        let leaf = batches[0].schema().index_of(column).unwrap();
        let stitched = files.stitch(leaf, Codec::Zstd(1)).unwrap();
        let encodings: Vec<Encoding> = stitched.column.close.metadata.encodings().collect();
        (stitched.origins, encodings)
    };
    let of = |origins: &[Origin], like: fn(&Origin) -> bool| !origins.is_empty() && origins.iter().all(like);
    let (found, encodings) = origins(zstd(), "few");
    assert!(of(&found, |origin| *origin == Origin::Written) && encodings.contains(&Encoding::RLE_DICTIONARY));
    let (found, encodings) = origins(zstd(), "id");
    assert!(of(&found, |origin| *origin == Origin::Retyped), "{found:?}");
    assert!(!encodings.contains(&Encoding::RLE_DICTIONARY));
    let (found, encodings) = origins(zstd(), "ts");
    assert!(of(&found, |origin| *origin == Origin::Written));
    assert!(
        encodings.contains(&Encoding::DELTA_BINARY_PACKED),
        "times that ascend"
    );
    let plain = zstd().set_dictionary_enabled(false);
    let (found, _) = origins(plain, "many");
    assert!(
        of(&found, |origin| matches!(origin, Origin::Copied { .. })),
        "{found:?}"
    );
    let snappy = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false);
    let (found, _) = origins(snappy, "many");
    assert!(of(&found, |origin| matches!(origin, Origin::Repacked { .. })));
}

/// The measure is one file that the crate's writer made of all rows, with pages of the same rows.
#[test]
fn statistics_and_page_index_are_those_of_a_rewrite() {
    let batches: Vec<RecordBatch> = (0..50).map(|file| flat(file * 901, 901)).collect();
    for properties in [zstd(), zstd().set_dictionary_enabled(false)] {
        let files: Vec<Bytes> = batches
            .iter()
            .map(|rows| written(rows, properties.clone().build()))
            .collect();
        let ours = footer(&Files::new(&files).stitched(Codec::Zstd(1)).0);
        let rewritten = properties.clone().set_write_batch_size(20_000).build();
        let theirs = footer(&written(&expected(&batches), rewritten));
        for leaf in 0..ours.row_group(0).num_columns() {
            let (a, b) = (ours.row_group(0).column(leaf), theirs.row_group(0).column(leaf));
            let name = a.column_path().string();
            assert_eq!(
                format!("{:?}", a.statistics()),
                format!("{:?}", b.statistics()),
                "{name}"
            );
            assert_eq!(
                a.definition_level_histogram(),
                b.definition_level_histogram(),
                "{name}"
            );
            assert_eq!(
                a.unencoded_byte_array_data_bytes(),
                b.unencoded_byte_array_data_bytes(),
                "{name}"
            );
            let index = |footer: &ParquetMetaData| {
                let index = footer.page_index().unwrap();
                let rows = index.offset_index(0, leaf).unwrap().page_locations().iter();
                let rows: Vec<i64> = rows.map(|page| page.first_row_index).collect();
                (format!("{:?}", index.column_index(0, leaf).unwrap()), rows)
            };
            assert_eq!(index(&ours), index(&theirs), "{name}");
        }
    }
}

#[test]
fn a_column_that_a_file_lacks_is_null_there_and_one_that_could_not_be_null_may_be_now() {
    let with = flat(0, 3000);
    let required = RecordBatch::try_from_iter_with_nullable(vec![
        ("ts", with.column(0).clone(), false),
        ("unsigned", with.column(9).clone(), false),
    ])
    .unwrap();
    for properties in [
        zstd(),
        zstd().set_dictionary_enabled(false),
        zstd().set_writer_version(WriterVersion::PARQUET_2_0),
    ] {
        let files = [
            written(&with, properties.clone().build()),
            written(&required, properties.build()),
        ];
        let (file, _) = Files::new(&files).stitched(Codec::Zstd(1));
        let found = read(&file);
        assert_same(&found.slice(0, 3000), &with);
        for (field, column) in with.schema().fields().iter().zip(found.columns()) {
            let second = column.slice(3000, 3000);
            match required.column_by_name(field.name()) {
                Some(there) => assert_eq!(second.to_data(), there.to_data(), "{}", field.name()),
                None => assert_eq!(second.null_count(), 3000, "{}", field.name()),
            }
        }
    }
}

#[test]
fn times_of_96_bits_are_stitched_as_they_are() {
    let schema =
        Arc::new(parquet::schema::parser::parse_message_type("message m { optional int96 t; }").unwrap());
    let file = |days: std::ops::Range<u32>, properties: WriterProperties| {
        let mut bytes = Vec::new();
        let mut file = SerializedFileWriter::new(&mut bytes, schema.clone(), Arc::new(properties)).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<Int96> = days
            .map(|day| Int96::from(vec![7, 0, 2_440_588 + day % 10]))
            .collect();
        let levels: Vec<i16> = (0..values.len() * 2).map(|row| (row % 2) as i16).collect();
        column
            .typed::<Int96Type>()
            .write_batch(&values, Some(&levels), None)
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
        file.close().unwrap();
        Bytes::from(bytes)
    };
    for properties in [zstd(), zstd().set_dictionary_enabled(false)] {
        let files = [
            file(0..100, properties.clone().build()),
            file(5..4000, properties.build()),
        ];
        let (stitched, _) = Files::new(&files).stitched(Codec::Snappy);
        let batches = [read(&files[0]), read(&files[1])];
        assert_same(&read(&stitched), &expected(&batches));
    }
}

/// Pages of both kinds, retyped and rewritten ones, are sources like any other.
#[test]
fn what_was_stitched_can_be_stitched_again() {
    let batches: Vec<RecordBatch> = (0..4).map(|file| flat(file * 5_000, 5_000)).collect();
    let once = |batches: &[RecordBatch]| {
        let files: Vec<Bytes> = batches.iter().map(|rows| written(rows, zstd().build())).collect();
        Files::new(&files).stitched(Codec::Zstd(1)).0
    };
    let (file, _) = Files::new(&[once(&batches[..2]), once(&batches[2..])]).stitched(Codec::Zstd(1));
    assert_same(&read(&file), &expected(&batches));
}

#[test]
fn columns_that_cannot_be_null_are_repacked_and_copied() {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..9_000).map(|row| row * row % 7919),
    ));
    let rows = RecordBatch::try_from_iter_with_nullable(vec![("n", values, false)]).unwrap();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for dictionary in [false, true] {
            let snappy = WriterProperties::builder().set_compression(Compression::SNAPPY);
            let properties = snappy
                .set_writer_version(version)
                .set_dictionary_enabled(dictionary)
                .build();
            let files = Files::new(&[written(&rows, properties.clone()), written(&rows, properties)]);
            for codec in [Codec::Snappy, Codec::Lz4, Codec::None] {
                assert_same(
                    &read(&files.stitched(codec).0),
                    &expected(&[rows.clone(), rows.clone()]),
                );
            }
        }
    }
}
