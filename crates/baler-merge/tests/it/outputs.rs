//! The outputs: few, of the size asked for, with true statistics and claims; and what inspection says of them.

use crate::support::*;
use arrow::array::*;
use baler_merge::*;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use std::sync::Arc;

/// Rows that do not compress to nothing.
fn noisy(rows: i64, step: i64, start: i64) -> RecordBatch {
    let keys = (0..rows).map(|row| row * step + start);
    let noise = (0..rows).map(|row| {
        (row + start * 31)
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .rotate_left(29)
    });
    batch(vec![
        ("k", ints(keys)),
        ("noise", ints(noise.map(|n| n.wrapping_mul(n | 1)))),
    ])
}

fn footer(file: &bytes::Bytes) -> Arc<ParquetMetaData> {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    ParquetRecordBatchReaderBuilder::try_new_with_options(file.clone(), options)
        .unwrap()
        .metadata()
        .clone()
}

#[test]
fn outputs_are_rolled_at_the_target_and_no_tiny_one_is_left() {
    let files = [noisy(200_000, 2, 0), noisy(200_000, 2, 1)];
    let whole = merged(&files, &sorted_by(&["k"])).report.outputs[0].bytes;
    let target = whole * 10 / 21;
    let rolled = try_merge(
        &inputs(&files),
        &MergeSpec {
            target_file_bytes: target,
            ..sorted_by(&["k"])
        },
        0,
    )
    .unwrap();
    let sizes: Vec<u64> = rolled.report.outputs.iter().map(|output| output.bytes).collect();
    assert!(sizes.len() == 2 || sizes.len() == 3, "{sizes:?} for {target}");
    assert!(
        sizes.iter().all(|bytes| *bytes <= target * 11 / 10),
        "{sizes:?} for {target}"
    );
    assert!(
        sizes.iter().all(|bytes| *bytes >= target / 2),
        "{sizes:?} for {target}"
    );
    for pair in rolled.report.outputs.windows(2) {
        let (left, right) = (pair[0].keys.as_ref().unwrap(), pair[1].keys.as_ref().unwrap());
        assert!(left.min < left.max && left.max < right.min && !left.overlaps(right));
    }
}

#[test]
fn row_groups_keep_their_limit_and_say_how_they_are_sorted() {
    let spec = MergeSpec {
        row_group_rows: 30_000,
        ..sorted_by(&["k"])
    };
    let merged = merged(&[noisy(50_000, 2, 0), noisy(50_000, 2, 1)], &spec);
    let footer = footer(&merged.files[0]);
    assert_eq!(footer.num_row_groups(), 4);
    assert_eq!(merged.report.outputs[0].row_groups, 4);
    for group in footer.row_groups() {
        assert!(group.num_rows() <= 30_000);
        let sorting = group.sorting_columns().unwrap();
        assert_eq!(
            (
                sorting[0].column_idx,
                sorting[0].descending,
                sorting[0].nulls_first
            ),
            (0, false, true)
        );
        assert!(
            group
                .columns()
                .iter()
                .all(|chunk| chunk.statistics().is_some_and(|s| s.min_bytes_opt().is_some()))
        );
        assert!(
            group
                .columns()
                .iter()
                .all(|chunk| chunk.offset_index_range().is_some())
        );
    }
    let first = footer.row_group(0).column(0).statistics().unwrap();
    assert_eq!(first.min_bytes_opt().unwrap(), 0i64.to_le_bytes());
    assert_eq!(first.max_bytes_opt().unwrap(), 29_999i64.to_le_bytes());
}

#[test]
fn inspection_bounds_what_the_merge_found_exactly() {
    let sort = sorted_by(&["k"]);
    let merged = merged(&[noisy(1_000, 2, 0), noisy(1_000, 2, 1)], &sort);
    let facts = inspect(&input(merged.files[0].clone()), &by(&sort.sort)).unwrap();
    assert_eq!(
        facts.keys, merged.report.outputs[0].keys,
        "for whole integers the statistics are exact"
    );
    assert_eq!(
        (facts.rows, facts.row_groups, facts.declared_sort),
        (2_000, 1, sort.sort)
    );
    assert_eq!(facts.columns[0].name, "k");
}

fn range(columns: Vec<(&str, ArrayRef)>, sort: &[SortColumn]) -> Option<KeyRange> {
    inspect(&input(parquet(&batch(columns))), &by(sort)).unwrap().keys
}

#[test]
fn key_ranges_of_different_widths_compare() {
    let sort = sorted_by(&["k"]).sort;
    let narrow = range(vec![("k", Arc::new(Int8Array::from(vec![-5, 100])))], &sort).unwrap();
    let wide = range(vec![("k", ints([50, 1 << 40]))], &sort).unwrap();
    let beyond = range(
        vec![("k", Arc::new(UInt64Array::from(vec![101, u64::MAX])))],
        &sort,
    )
    .unwrap();
    assert!(narrow.overlaps(&wide) && wide.overlaps(&beyond) && !narrow.overlaps(&beyond));
}

#[test]
fn key_ranges_know_direction_and_nulls() {
    let sort = [SortColumn {
        name: "k".into(),
        descending: true,
        nulls_first: false,
    }];
    let high = range(vec![("k", ints([90, 100]))], &sort).unwrap();
    let low = range(vec![("k", ints([10, 20]))], &sort).unwrap();
    assert!(high.max < low.min, "descending: high comes first");
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(90), None]));
    let with_nulls = range(vec![("k", nulls)], &sort).unwrap();
    assert!(
        with_nulls.overlaps(&low),
        "nulls come last, so the range reaches past everything"
    );
    let absent = range(vec![("x", ints([1]))], &sort).unwrap();
    assert!(absent.overlaps(&with_nulls) && !absent.overlaps(&low));
}

#[test]
fn long_strings_are_cut_but_bound() {
    let sort = sorted_by(&["s"]).sort;
    let (a, b) = ("m".repeat(100) + "a", "m".repeat(100) + "b");
    let merged = merged(
        &[batch(vec![("s", strings([a.as_str(), b.as_str()]))])],
        &sorted_by(&["s"]),
    );
    let cut = merged.report.outputs[0].keys.clone().unwrap();
    assert!(cut.min < cut.max && cut.max.len() < 80);
    for text in [a, b] {
        let exact = range(vec![("s", strings([text.as_str()]))], &sort);
        assert!(exact.is_some_and(|exact| exact.overlaps(&cut)));
    }
    let after = range(vec![("s", strings(["n"]))], &sort).unwrap();
    assert!(!cut.overlaps(&after));
}

#[test]
fn a_float_range_allows_for_nan_that_statistics_hide() {
    let sort = sorted_by(&["f"]).sort;
    let floats = |values: Vec<f64>| vec![("f", Arc::new(Float64Array::from(values)) as ArrayRef)];
    let hidden = range(floats(vec![1.0, f64::NAN]), &sort).unwrap();
    let large = merged(&[batch(floats(vec![1e300]))], &sorted_by(&["f"]))
        .report
        .outputs[0]
        .keys
        .clone()
        .unwrap();
    assert!(hidden.overlaps(&large));
}

#[test]
fn bloom_filters_stay_where_all_inputs_have_them() {
    use parquet::file::properties::WriterProperties;
    use parquet::schema::types::ColumnPath;
    let rows = noisy(1_000, 1, 0);
    let with_filters = |columns: &[&str]| {
        let mut properties = WriterProperties::builder();
        for column in columns {
            properties = properties.set_column_bloom_filter_enabled(ColumnPath::from(*column), true);
        }
        input(parquet_with(&rows, properties.build()))
    };
    let files = [with_filters(&["k", "noise"]), with_filters(&["noise"])];
    let merged = try_merge(&files, &sorted_by(&["k"]), 0).unwrap();
    let footer = footer(&merged.files[0]);
    let has_filter = |column: usize| footer.row_group(0).column(column).bloom_filter_offset().is_some();
    assert_eq!((has_filter(0), has_filter(1)), (false, true));
}

#[test]
fn columns_are_encoded_as_their_values_suggest() {
    use parquet::basic::Encoding;
    let rows = 60_000;
    let words = ["red", "green", "blue"];
    let noise = |row: i64| {
        let mut mixed = (row as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) as i64
    };
    let files: Vec<RecordBatch> = (0..2)
        .map(|file| {
            batch(vec![
                (
                    "time",
                    ints((0..rows).map(|row| 1_760_000_000_000 + row * 20 + file)),
                ),
                (
                    "code",
                    ints((0..rows).map(|row| 200 + noise(row * 2 + file).rem_euclid(301))),
                ),
                ("noise", ints((0..rows).map(|row| noise(row * 2 + file)))),
                (
                    "word",
                    strings((0..rows).map(|row| words[(row * 31 % 3) as usize])),
                ),
            ])
        })
        .collect();
    let merged = merged(&files, &sorted_by(&["time"]));
    let footer = footer(&merged.files[0]);
    let encoding = |column: usize, encoding: Encoding| {
        let chunk = footer.row_group(0).column(column);
        let pages = chunk.page_encoding_stats_mask().unwrap();
        assert!(pages.is_only(encoding), "{column}: {pages:?}");
    };
    encoding(0, Encoding::DELTA_BINARY_PACKED);
    encoding(1, Encoding::RLE_DICTIONARY);
    encoding(2, Encoding::PLAIN);
    encoding(3, Encoding::RLE_DICTIONARY);
    assert_eq!(merged.rows(), sort_naively(&files, &sorted_by(&["time"]).sort));
}

#[test]
fn long_strings_are_cut_into_pages_that_a_reader_can_hold() {
    let long: Vec<String> = (0..300).map(|row| format!("{row:020000}")).collect();
    let rows = batch(vec![
        ("k", ints(0..300)),
        ("text", strings(long.iter().map(String::as_str))),
    ]);
    // Among the others, so that it is not copied.
    let between = batch(vec![("k", ints([150])), ("text", strings(["short"]))]);
    let files = [rows, between];
    let merged = merged(&files, &sorted_by(&["k"]));
    assert_eq!(merged.rows(), sort_naively(&files, &sorted_by(&["k"]).sort));
    let footer = footer(&merged.files[0]);
    let index = footer.page_index().unwrap().offset_index(0, 1).unwrap().clone();
    let pages = index.page_locations().len();
    assert!(pages >= 5, "{pages} pages for 6 MB");
}
