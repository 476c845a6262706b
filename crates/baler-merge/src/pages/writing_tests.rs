//! What is written here is read back by the parquet crate, and says about itself what the crate's own writer would say.

use super::bounds::{Bounds, Order};
use super::chunk_writer::{ChunkWriter, PageFacts};
use super::{delta, levels, plain, rle};
use crate::group::{EncodedColumn, EncodedGroup};
use crate::spec::Codec;
use arrow::array::*;
use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Encoding;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use proptest::prelude::*;
use std::sync::Arc;

fn leaf_of(column: &str) -> ColumnDescPtr {
    let schema = parse_message_type(&format!("message m {{ {column}; }}")).unwrap();
    SchemaDescriptor::new(Arc::new(schema)).column(0)
}

fn file_of(column: EncodedColumn) -> Bytes {
    let leaf = column.close.metadata.column_descr_ptr();
    let schema = parquet::schema::types::Type::group_type_builder("m")
        .with_fields(vec![leaf.self_type_ptr()])
        .build()
        .unwrap();
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), properties).unwrap();
    let rows = column.close.rows_written;
    let group = EncodedGroup {
        rows,
        columns: vec![column],
    };
    let written: u64 = group.columns.iter().map(|column| column.bytes.len()).sum();
    let metadata = group.append_to(&mut file).unwrap();
    assert_eq!(metadata.compressed_size() as u64, written);
    file.close().unwrap();
    bytes.into()
}

fn read(file: &Bytes) -> ArrayRef {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let columns: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(0).as_ref()).collect();
    arrow::compute::concat(&columns).unwrap()
}

fn footer(file: &Bytes) -> ParquetMetaData {
    ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Required)
        .parse_and_finish(file)
        .unwrap()
}

/// Texts as indices into a dictionary, with nulls, in pages of 300 rows.
fn dictionary_chunk(codec: Codec, rows: &[Option<u32>], words: &[&str]) -> EncodedColumn {
    let leaf = leaf_of("optional binary w (UTF8)");
    let mut writer = ChunkWriter::new(leaf.clone(), codec).unwrap();
    let order = Order::of(&leaf).unwrap();
    for page in rows.chunks(300) {
        let validity: BooleanBuffer = page.iter().map(Option::is_some).collect();
        let codes: Vec<u32> = page.iter().flatten().copied().collect();
        let values = codes.iter().map(|code| words[*code as usize].as_bytes());
        let facts = PageFacts {
            rows: page.len(),
            nulls: page.len() - codes.len(),
            bounds: order.bounds_of(values.clone()),
            byte_array_bytes: Some(values.map(|value| value.len() as u64).sum()),
        };
        let indices = rle::encode_indices(&codes, words.len());
        let validity = levels::encode(&validity);
        writer
            .page(Encoding::RLE_DICTIONARY, Some(&validity), &indices, facts)
            .unwrap();
    }
    let mut values = Vec::new();
    words
        .iter()
        .for_each(|word| plain::push_bytes(&mut values, word.as_bytes()));
    writer.set_dictionary(&values, words.len()).unwrap();
    writer.finish().unwrap()
}

#[test]
fn dictionary_pages_with_nulls_are_read_back_with_every_codec() {
    let words = ["", "b", "a", "zzz"];
    let rows: Vec<Option<u32>> = (0..1000u32)
        .map(|row| (!(row % 7 == 0 || (300..600).contains(&row))).then_some(row / 50 % 4))
        .collect();
    let expected = StringArray::from_iter(rows.iter().map(|code| code.map(|code| words[code as usize])));
    for codec in [Codec::Zstd(1), Codec::Snappy, Codec::Lz4, Codec::None] {
        let file = file_of(dictionary_chunk(codec, &rows, &words));
        assert_eq!(read(&file).as_string::<i32>(), &expected, "{codec:?}");
    }
}

/// The crate's writer, told to cut pages at the same rows, is the measure for footer and page index.
#[test]
fn footer_and_page_index_are_those_of_the_crates_writer() {
    let words = ["", "b", "a", &"long ".repeat(40), &"ü".repeat(70)];
    let rows: Vec<Option<u32>> = (0..1200u32)
        .map(|row| (!(row % 5 == 0 || (300..600).contains(&row))).then_some(row * 7 % 5))
        .collect();
    let ours = footer(&file_of(dictionary_chunk(Codec::None, &rows, &words)));
    let array: ArrayRef = Arc::new(StringArray::from_iter(
        rows.iter().map(|code| code.map(|code| words[code as usize])),
    ));
    let batch = RecordBatch::try_from_iter_with_nullable([("w", array, true)]).unwrap();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(300)
        .build();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let theirs = footer(&bytes.into());
    let (a, b) = (ours.row_group(0).column(0), theirs.row_group(0).column(0));
    assert_eq!(a.statistics(), b.statistics());
    assert_eq!(a.num_values(), b.num_values());
    assert_eq!(
        a.unencoded_byte_array_data_bytes(),
        b.unencoded_byte_array_data_bytes()
    );
    assert_eq!(a.definition_level_histogram(), b.definition_level_histogram());
    assert_eq!(a.page_encoding_stats(), b.page_encoding_stats());
    assert_eq!(a.encodings_mask(), b.encodings_mask());
    let index = |footer: &ParquetMetaData| {
        let index = footer.page_index().unwrap();
        (
            index.column_index(0, 0).unwrap().clone(),
            index.offset_index(0, 0).unwrap().clone(),
        )
    };
    let ((columns_a, offsets_a), (columns_b, offsets_b)) = (index(&ours), index(&theirs));
    assert_eq!(columns_a, columns_b);
    let rows = |offsets: &parquet::file::page_index::offset_index::OffsetIndexMetaData| {
        let pages = offsets.page_locations().iter().map(|page| page.first_row_index);
        (
            pages.collect::<Vec<_>>(),
            offsets.unencoded_byte_array_data_bytes.clone(),
        )
    };
    assert_eq!(rows(&offsets_a), rows(&offsets_b));
}

#[test]
fn floats_with_nan_and_negative_zero_have_the_bounds_of_the_crates_writer() {
    let values = [0.0, -0.0, f64::NAN, 3.5, f64::NEG_INFINITY, f64::NAN];
    let leaf = leaf_of("required double d");
    let order = Order::of(&leaf).unwrap();
    let mut writer = ChunkWriter::new(leaf, Codec::Zstd(3)).unwrap();
    for page in values.chunks(3) {
        let bytes: Vec<u8> = page.iter().flat_map(|value| value.to_le_bytes()).collect();
        let facts = PageFacts {
            rows: page.len(),
            bounds: order.bounds_of(bytes.chunks(8)),
            ..PageFacts::default()
        };
        writer.page(Encoding::PLAIN, None, &bytes, facts).unwrap();
    }
    let file = file_of(writer.finish().unwrap());
    let read = read(&file);
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(
        bits(read.as_primitive::<arrow::datatypes::Float64Type>().values()),
        bits(&values)
    );
    let batch = RecordBatch::try_from_iter_with_nullable([("d", read, false)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let theirs = footer(&bytes.into());
    let ours = footer(&file);
    assert_eq!(
        format!("{:?}", ours.row_group(0).column(0).statistics()),
        format!("{:?}", theirs.row_group(0).column(0).statistics())
    );
    assert_eq!(
        ours.row_group(0).column(0).statistics().unwrap().nan_count_opt(),
        Some(2)
    );
}

#[test]
fn a_page_of_unknown_bounds_leaves_the_column_index_away_and_keeps_the_offset_index() {
    let mut writer = ChunkWriter::new(leaf_of("required int32 i"), Codec::None).unwrap();
    for bounds in [
        Some(Bounds::exact(1i32.to_le_bytes(), 1i32.to_le_bytes(), None)),
        None,
    ] {
        let facts = PageFacts {
            rows: 1,
            bounds,
            ..PageFacts::default()
        };
        writer
            .page(Encoding::PLAIN, None, &1i32.to_le_bytes(), facts)
            .unwrap();
    }
    let column = writer.finish().unwrap();
    assert!(column.close.column_index.is_none());
    assert_eq!(
        column.close.offset_index.as_ref().unwrap().page_locations.len(),
        2
    );
    assert_eq!(column.close.metadata.statistics().unwrap().min_bytes_opt(), None);
    assert_eq!(read(&file_of(column)).len(), 2);
}

proptest! {
    #[test]
    fn indices_come_back(width in 0u32..20, seed in proptest::collection::vec((any::<u32>(), 1usize..40), 0..40)) {
        let codes: Vec<u32> = seed
            .iter()
            .flat_map(|(code, times)| std::iter::repeat_n(code & ((1 << width) - 1), *times))
            .collect();
        let bytes = rle::encode_indices(&codes, 1 << width);
        let mut found = Vec::new();
        rle::decode_indices(&bytes, codes.len(), &mut found).unwrap();
        prop_assert_eq!(found, codes);
    }

    #[test]
    fn levels_come_back(runs in proptest::collection::vec((any::<bool>(), 1usize..90), 0..20), skipped in 0usize..9) {
        let bits: Vec<bool> = runs.iter().flat_map(|(bit, times)| std::iter::repeat_n(*bit, *times)).collect();
        let skipped = skipped.min(bits.len());
        let validity = BooleanBuffer::from(bits.clone()).slice(skipped, bits.len() - skipped);
        let found = levels::decode(&levels::encode(&validity), validity.len()).unwrap();
        let found: Vec<bool> = found.map_or_else(|| vec![true; validity.len()], |nulls| nulls.iter().collect());
        prop_assert_eq!(&found[..], &bits[skipped..]);
    }

    #[test]
    fn deltas_come_back(values in proptest::collection::vec(any::<i64>(), 0..300), close in any::<bool>()) {
        let values: Vec<i64> = values.iter().map(|value| if close { value % 100 } else { *value }).collect();
        let mut found = Vec::new();
        delta::decode(&delta::encode(&values), values.len(), |value| found.push(value)).unwrap();
        prop_assert_eq!(&found, &values);
        let short: Vec<i32> = values.iter().map(|value| *value as i32).collect();
        let mut found = Vec::new();
        delta::decode(&delta::encode(&short), short.len(), |value| found.push(value as i32)).unwrap();
        prop_assert_eq!(found, short);
    }

    #[test]
    fn delta_pages_are_read_by_the_crate(values in proptest::collection::vec(any::<i64>(), 1..300)) {
        let mut writer = ChunkWriter::new(leaf_of("required int64 i"), Codec::Snappy).unwrap();
        let facts = PageFacts { rows: values.len(), ..PageFacts::default() };
        writer.page(Encoding::DELTA_BINARY_PACKED, None, &delta::encode(&values), facts).unwrap();
        let found = read(&file_of(writer.finish().unwrap()));
        prop_assert_eq!(found.as_primitive::<arrow::datatypes::Int64Type>().values(), &values[..]);
    }
}
