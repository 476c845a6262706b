//! Row groups that are large enough are copied byte for byte.

use super::*;
use crate::error::MergeError;
use crate::group::{Rope, write_group};
use crate::stitch::copy::{can_copy, copy_leaf};

fn copied(files: &Files) -> Bytes {
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(&mut bytes, files.schema.root_schema_ptr(), properties).unwrap();
    for source in files.sources() {
        assert!(can_copy(&source, &files.schema, Codec::Zstd(7)));
        write_group(&mut file, |leaf| {
            Ok(copy_leaf(&source, leaf, &files.schema.column(leaf))?.proved()?.0)
        })
        .unwrap();
    }
    file.close().unwrap();
    bytes.into()
}

#[test]
fn chunks_come_out_as_they_went_in_with_all_that_was_known_of_them() {
    let batches = [flat(0, 5_000), flat(5_000, 4_000)];
    let sources = batches.each_ref().map(|rows| {
        written(
            rows,
            zstd()
                .set_data_page_row_count_limit(1_000)
                .set_write_batch_size(1_000)
                .build(),
        )
    });
    let file = copied(&Files::new(&sources));
    assert_same(&read(&file), &expected(&batches));
    let ours = footer(&file);
    assert_eq!(ours.num_row_groups(), 2);
    for (number, source) in sources.iter().enumerate() {
        let theirs = footer(source);
        for leaf in 0..theirs.row_group(0).num_columns() {
            let (a, b) = (
                ours.row_group(number).column(leaf),
                theirs.row_group(0).column(leaf),
            );
            let bytes = |file: &Bytes, (start, length): (u64, u64)| {
                file.slice(start as usize..(start + length) as usize)
            };
            assert_eq!(bytes(&file, a.byte_range()), bytes(source, b.byte_range()));
            assert_eq!(format!("{:?}", a.statistics()), format!("{:?}", b.statistics()));
            let (ours, theirs) = (ours.page_index().unwrap(), theirs.page_index().unwrap());
            let index = |index: Option<&parquet::file::page_index::column_index::ColumnIndexMetaData>| {
                format!("{index:?}")
            };
            assert_eq!(
                index(ours.column_index(number, leaf)),
                index(theirs.column_index(0, leaf))
            );
            let moved = a.data_page_offset() - b.data_page_offset();
            let pages = ours.offset_index(number, leaf).unwrap().page_locations().iter();
            for (ours, theirs) in pages.zip(theirs.offset_index(0, leaf).unwrap().page_locations()) {
                assert_eq!(ours.offset, theirs.offset + moved);
                assert_eq!(ours.first_row_index, theirs.first_row_index);
            }
        }
    }
}

#[test]
fn nested_columns_are_copied_too() {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in 0..3_000 {
        (0..row % 4).for_each(|item| lists.values().append_value(format!("{item}")));
        lists.append(row % 7 > 0);
    }
    let rows = batch(vec![("l", Arc::new(lists.finish()))]);
    for properties in [zstd(), zstd().set_writer_version(WriterVersion::PARQUET_2_0)] {
        let file = copied(&Files::new(&[written(&rows, properties.build())]));
        assert_same(&read(&file), &rows);
    }
}

#[test]
fn another_codec_or_a_missing_column_cannot_be_copied() {
    let (all, some) = (flat(0, 10), batch(vec![("ts", flat(0, 10).column(0).clone())]));
    let snappy = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let files = Files::new(&[
        written(&all, zstd().build()),
        written(&all, snappy),
        written(&some, zstd().build()),
    ]);
    let can: Vec<bool> = files
        .sources()
        .iter()
        .map(|source| can_copy(source, &files.schema, Codec::Zstd(1)))
        .collect();
    assert_eq!(can, [true, false, false]);
}

#[test]
fn a_byte_that_changed_on_the_way_is_refused() {
    let files = Files::new(&[written(&flat(0, 500), zstd().build())]);
    let mut copied = copy_leaf(&files.sources()[0], 1, &files.schema.column(1)).unwrap();
    let mut bytes = copied.column.bytes.to_bytes().to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    copied.column.bytes = Rope::from(Bytes::from(bytes));
    assert!(matches!(copied.proved(), Err(MergeError::Proof(_))));
}
