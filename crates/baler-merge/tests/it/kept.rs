//! What outputs keep of their inputs and claim about themselves: field ids, metadata, order, statistics, page index,
//! bloom filters, the program that wrote them.

use crate::claims::{Silence, check_claims, footer};
use crate::support::*;
use arrow::array::*;
use arrow::datatypes::*;
use baler_merge::*;
use bytes::Bytes;
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{ReaderProperties, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::schema::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// `rows` rows from `start` on, with field ids at each level.
fn with_ids(start: i64, rows: i64) -> RecordBatch {
    let id = |field: Field, id: &str| {
        field.with_metadata(HashMap::from([(
            PARQUET_FIELD_ID_META_KEY.to_owned(),
            id.to_owned(),
        )]))
    };
    let inside = Arc::new(id(Field::new("x", DataType::Int64, true), "31"));
    let item = Arc::new(id(Field::new("item", DataType::Int32, true), "41"));
    let numbers = || ints(start..start + rows);
    let words: Vec<String> = (start..start + rows)
        .map(|row| format!("word {}", row % 90))
        .collect();
    let structure = StructArray::new(vec![inside].into(), vec![numbers()], None);
    let lists = FixedSizeListArray::new(
        item.clone(),
        1,
        Arc::new(Int32Array::from(vec![7; rows as usize])),
        None,
    );
    let lists = arrow::compute::cast(&lists, &DataType::List(item.clone())).unwrap();
    let schema = Schema::new(vec![
        id(Field::new("k", DataType::Int64, false), "10"),
        id(Field::new("word", DataType::Utf8, true), "20"),
        id(Field::new("s", structure.data_type().clone(), true), "30"),
        id(Field::new("l", DataType::List(item), true), "40"),
    ]);
    let columns: Vec<ArrayRef> = vec![
        numbers(),
        strings(words.iter().map(String::as_str)),
        Arc::new(structure),
        lists,
    ];
    RecordBatch::try_new(schema.into(), columns).unwrap()
}

/// Files that overlap and files that follow each other, written with the same properties.
fn both_layouts(properties: &WriterProperties) -> [Vec<Arc<dyn Input>>; 2] {
    let write = |rows: RecordBatch| input(parquet_with(&rows, properties.clone()));
    [
        vec![write(with_ids(0, 3_000)), write(with_ids(1_500, 3_000))],
        vec![write(with_ids(3_000, 3_000)), write(with_ids(0, 3_000))],
    ]
}

fn ids(file: &Bytes) -> Vec<(String, i32)> {
    fn walk(node: &Type, into: &mut Vec<(String, i32)>) {
        let info = node.get_basic_info();
        if info.has_id() {
            into.push((info.name().to_owned(), info.id()));
        }
        if node.is_group() {
            node.get_fields().iter().for_each(|child| walk(child, into));
        }
    }
    let mut found = Vec::new();
    walk(footer(file).file_metadata().schema(), &mut found);
    found
}

fn metadata(file: &Bytes) -> Vec<(String, Option<String>)> {
    let footer = footer(file);
    let pairs = footer
        .file_metadata()
        .key_value_metadata()
        .cloned()
        .unwrap_or_default();
    let pairs = pairs.into_iter().filter(|pair| pair.key != "ARROW:schema");
    pairs.map(|pair| (pair.key, pair.value)).collect()
}

#[test]
fn field_ids_metadata_order_and_writer_are_in_every_output() {
    let pair = KeyValue::new("owner".into(), "me".to_owned());
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![pair]))
        .build();
    for files in both_layouts(&properties) {
        let before = files[0].read_at(0, files[0].len() as usize).unwrap();
        let spec = MergeSpec {
            target_file_bytes: 15_000,
            row_group_rows: 1_000,
            ..sorted_by(&["k", "word"])
        };
        let merged = try_merge(&files, &spec, 0).unwrap();
        assert!(merged.files.len() > 1);
        for file in &merged.files {
            assert_eq!(ids(file), ids(&before));
            assert_eq!(ids(file).len(), 6);
            assert_eq!(metadata(file), [("owner".to_owned(), Some("me".to_owned()))]);
            let footer = footer(file);
            let created_by = footer.file_metadata().created_by().unwrap();
            assert_eq!(created_by, concat!("baler ", env!("CARGO_PKG_VERSION")));
            for group in footer.row_groups() {
                let sorting = group.sorting_columns().unwrap();
                let sorting: Vec<_> = sorting
                    .iter()
                    .map(|c| (c.column_idx, c.descending, c.nulls_first))
                    .collect();
                assert_eq!(sorting, [(0, false, true), (1, false, true)]);
            }
        }
    }
}

#[test]
fn statistics_and_page_index_are_there_and_right_whatever_pages_came_in() {
    let tiny_pages = WriterProperties::builder()
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100)
        .set_max_row_group_row_count(Some(700))
        .build();
    for properties in [WriterProperties::default(), tiny_pages] {
        for files in both_layouts(&properties) {
            let merged = try_merge(&files, &sorted_by(&["k"]), 0).unwrap();
            let footer = footer(&merged.files[0]);
            assert_eq!(footer.num_row_groups(), 1, "tiny row groups become one");
            for chunk in footer.row_group(0).columns() {
                let said = chunk.statistics().unwrap();
                assert!(said.null_count_opt().is_some());
                assert!(
                    said.min_is_exact() && said.max_is_exact(),
                    "{}",
                    chunk.column_path()
                );
            }
            assert_eq!(check_claims(&merged.files[0]), Silence::NONE);
        }
    }
}

#[test]
fn pages_of_many_rows_have_bounds_of_their_own() {
    let scrambled = |row: i64| row * 7_919 % 50_000;
    let nulls = |rows: std::ops::Range<i64>| {
        let values = rows.map(|row| (row % 25_000 > 3 && row < 90_000).then_some(scrambled(row) as i32));
        Arc::new(values.collect::<Int32Array>()) as ArrayRef
    };
    let words: Vec<String> = (0..130_000).map(|row| format!("{:05}", scrambled(row))).collect();
    let file = |start: i64, step: i64| {
        let rows = (start..130_000).step_by(step as usize);
        let at: Vec<i64> = rows.collect();
        let all = batch(vec![
            ("k", ints(0..130_000)),
            ("n", nulls(0..130_000)),
            ("w", strings(words.iter().map(String::as_str))),
        ]);
        let at = UInt64Array::from_iter_values(at.into_iter().map(|row| row as u64));
        arrow::compute::take_record_batch(&all, &at).unwrap()
    };
    let merged = merged(&[file(0, 2), file(1, 2)], &sorted_by(&["k"]));
    assert_eq!(check_claims(&merged.files[0]), Silence::NONE);
    let footer = footer(&merged.files[0]);
    let index = footer.page_index().unwrap();
    for leaf in 0..3 {
        assert!(
            index.column_index(0, leaf).unwrap().num_pages() >= 4,
            "column {leaf}"
        );
    }
    assert!(
        index
            .column_index(0, 1)
            .unwrap()
            .is_null_page(index.column_index(0, 1).unwrap().num_pages() as usize - 1)
    );
}

fn with_filters(file: &Bytes) -> SerializedFileReader<Bytes> {
    let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
    let options = ReadOptionsBuilder::new()
        .with_reader_properties(properties)
        .build();
    SerializedFileReader::new_with_options(file.clone(), options).unwrap()
}

#[test]
fn bloom_filters_stay_where_all_inputs_have_them() {
    let column = |name: &str| parquet::schema::types::ColumnPath::new(vec![name.into()]);
    let both = WriterProperties::builder()
        .set_column_bloom_filter_enabled(column("k"), true)
        .set_column_bloom_filter_enabled(column("word"), true)
        .build();
    let words_only = WriterProperties::builder()
        .set_column_bloom_filter_enabled(column("word"), true)
        .build();
    for second in [(1_500, 3_000), (3_000, 3_000)] {
        let files = [
            input(parquet_with(&with_ids(0, 3_000), both.clone())),
            input(parquet_with(&with_ids(second.0, second.1), words_only.clone())),
        ];
        let merged = try_merge(&files, &sorted_by(&["k"]), 0).unwrap();
        let reader = with_filters(&merged.files[0]);
        let group = reader.get_row_group(0).unwrap();
        assert!(
            group.get_column_bloom_filter(0).is_none(),
            "one input has none for k"
        );
        let filter = group.get_column_bloom_filter(1).expect("both have one for word");
        assert!((0..90).all(|word| filter.check(&format!("word {word}").as_str())));
        let hits = (1_000..2_000)
            .filter(|word| filter.check(&format!("word {word}").as_str()))
            .count();
        assert!(hits < 100, "{hits} of 1000 words that are not there");
    }
}

/// Ten files of the same five thousand keys, merged into row groups of five hundred; nine of ten rows go.
fn row_groups_of_what_is_left(spec: MergeSpec) -> usize {
    let rows = |version: i64| {
        batch(vec![
            ("k", ints(0..5_000)),
            ("version", ints(vec![version; 5_000])),
            ("t", ints((0..5_000).map(|row| row % 10))),
        ])
    };
    let spec = MergeSpec {
        row_group_rows: 500,
        ..spec
    };
    let merged = merged(&(0..10).map(rows).collect::<Vec<_>>(), &spec);
    let footer = footer(&merged.files[0]);
    assert_eq!(footer.file_metadata().num_rows(), 5_000);
    footer.num_row_groups()
}

#[test]
fn row_groups_are_filled_with_the_newest_versions() {
    assert_eq!(row_groups_of_what_is_left(last_write_wins(&["k"], "version")), 10);
}

#[test]
fn row_groups_are_filled_with_the_rows_that_do_not_expire() {
    let column = TimeColumn {
        name: "t".into(),
        integer_unit: Some(EpochUnit::Milliseconds),
    };
    let expiring = MergeSpec {
        expire: Some(Expire {
            column,
            before: RowTime(9),
        }),
        ..sorted_by(&["k"])
    };
    assert_eq!(row_groups_of_what_is_left(expiring), 10);
}
