//! Rows come back whatever the pages were, and whatever became of them.

use super::*;
use parquet::data_type::{Int96, Int96Type};

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
