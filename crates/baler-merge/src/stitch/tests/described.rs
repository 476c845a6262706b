//! Which way pages go, and what is said about them in the end.

use super::*;
use parquet::basic::Encoding;

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
    assert!(
        of(&found, |origin| matches!(origin, Origin::Written { .. }))
            && encodings.contains(&Encoding::RLE_DICTIONARY)
    );
    let (found, encodings) = origins(zstd(), "id");
    assert!(of(&found, |origin| *origin == Origin::Retyped), "{found:?}");
    assert!(!encodings.contains(&Encoding::RLE_DICTIONARY));
    let (found, encodings) = origins(zstd(), "ts");
    assert!(of(&found, |origin| matches!(origin, Origin::Written { .. })));
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
