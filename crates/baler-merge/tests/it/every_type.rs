//! Every type that Parquet has, merged from files that overlap and from files that follow each other: the values, the
//! types and every claim about them are as they were. Readers outside Rust agree.

use crate::claims::{Silence, check_claims};
use crate::columns;
use crate::support::*;
use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::*;
use baler_merge::*;
use bytes::Bytes;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const ROWS: usize = 300;

/// Two files with the columns given, of which the first holds every second row, or the first half.
fn two_files(columns: Vec<(&'static str, ArrayRef)>, overlapping: bool) -> [RecordBatch; 2] {
    let rows = columns[0].1.len() as i64;
    let mut all = vec![("k", ints(0..rows))];
    all.extend(columns);
    let all = batch(all);
    [true, false].map(|first| {
        let of_first = |row: i64| if overlapping { row % 2 == 0 } else { row < rows / 2 };
        let mask: BooleanArray = (0..rows).map(|row| Some(of_first(row) == first)).collect();
        arrow::compute::filter_record_batch(&all, &mask).unwrap()
    })
}

/// The plain layout of a column that is a dictionary or views.
fn plain(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values).unwrap(),
        DataType::Utf8View => cast(column, &DataType::Utf8).unwrap(),
        DataType::BinaryView => cast(column, &DataType::Binary).unwrap(),
        _ => column.clone(),
    }
}

fn assert_same_columns(found: &RecordBatch, expected: &RecordBatch, of: &str) {
    assert_eq!(found.num_columns(), expected.num_columns());
    for (field, column) in expected.schema().fields().iter().zip(expected.columns()) {
        let found = found.column_by_name(field.name()).unwrap();
        assert_eq!(found, &plain(column), "{} {of}", field.name());
    }
}

#[test]
fn overlapping_and_disjoint_files_give_back_every_value() {
    let columns = || [columns::all(ROWS), columns::intervals(ROWS)].concat();
    for overlapping in [true, false] {
        let files = two_files(columns(), overlapping);
        let expected = sort_naively(&files, &sorted_by(&["k"]).sort);
        for (memory_bytes, threads) in [(0, 1), (256 << 20, 2)] {
            let budget = Budget {
                memory_bytes,
                threads,
            };
            let merged = try_merge_within(&inputs(&files), &sorted_by(&["k"]), budget).unwrap();
            assert_same_columns(&merged.rows(), &expected, &format!("overlapping: {overlapping}"));
            for file in &merged.files {
                assert_eq!(check_claims(file), Silence::NONE);
            }
        }
    }
}

/// Trap: parquet 60.1 calls a page of lists a null page if it has as many nulls as rows, and readers pass over it.
#[test]
fn a_page_of_lists_with_as_many_nulls_as_rows_is_no_null_page() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
    let rows = batch(vec![("k", ints([1])), ("list", Arc::new(list))]);
    let merged = merged(&[rows], &sorted_by(&["k"]));
    assert_eq!(check_claims(&merged.files[0]), Silence::NONE);
}

#[test]
fn every_key_sorts_in_every_direction_from_overlapping_and_disjoint_files() {
    for (name, column) in columns::orderable(60) {
        for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let sort = vec![SortColumn {
                name: name.into(),
                descending,
                nulls_first,
            }];
            let spec = MergeSpec {
                sort: sort.clone(),
                ..MergeSpec::default()
            };
            let all = batch(vec![(name, plain(&column)), ("id", ints(0..60))]);
            let sorted = sort_naively(std::slice::from_ref(&all), &sort);
            let disjoint = [sorted.slice(25, 35), sorted.slice(0, 25)];
            let overlapping = two_files(vec![(name, column.clone()), ("id", ints(0..60))], true)
                .map(|file| file.project(&[1, 2]).unwrap());
            let presorted = overlapping.clone().map(|file| {
                let file = RecordBatch::try_from_iter([
                    (name, plain(file.column(0))),
                    ("id", file.column(1).clone()),
                ]);
                sort_naively(&[file.unwrap()], &sort)
            });
            let of = format!("{name} descending {descending} nulls first {nulls_first}");
            for (files, kind) in [
                (&disjoint, "disjoint"),
                (&presorted, "sorted"),
                (&overlapping, "unsorted"),
            ] {
                let merged = merged(files, &spec);
                let plain_files = files.clone().map(|file| {
                    let columns = [(name, plain(file.column(0))), ("id", file.column(1).clone())];
                    batch(columns.to_vec())
                });
                let expected = sort_naively(&plain_files, &sort);
                assert_eq!(merged.rows().columns(), expected.columns(), "{of} {kind}");
                assert_eq!(check_claims(&merged.files[0]), Silence::NONE, "{of} {kind}");
            }
        }
    }
}

/// Times as twelve bytes: nanoseconds in the day, then the Julian day.
fn int96_file(days: &[(i64, u32)]) -> Bytes {
    use parquet::data_type::{Int64Type, Int96, Int96Type};
    use parquet::file::writer::SerializedFileWriter;
    let schema = "message schema { REQUIRED INT64 k; OPTIONAL INT96 t; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let keys: Vec<i64> = days.iter().map(|(key, _)| *key).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int64Type>()
        .write_batch(&keys, None, None)
        .unwrap();
    column.close().unwrap();
    let times: Vec<Int96> = days
        .iter()
        .filter(|(key, _)| key % 5 != 0)
        .map(|(_, day)| Int96::from(vec![1_000_000 * day, 0, 2_440_588 + day]))
        .collect();
    let levels: Vec<i16> = keys.iter().map(|key| i16::from(key % 5 != 0)).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int96Type>()
        .write_batch(&times, Some(&levels), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.into_inner().unwrap().into()
}

#[test]
fn times_of_twelve_bytes_are_read() {
    let overlapping = [
        int96_file(&[(1, 10), (3, 30), (5, 50)]),
        int96_file(&[(2, 20), (4, 0)]),
    ];
    let disjoint = [
        int96_file(&[(1, 10), (2, 20)]),
        int96_file(&[(3, 30), (4, 0), (5, 50)]),
    ];
    for files in [overlapping, disjoint] {
        let merged = try_merge(&files.map(input), &sorted_by(&["k"]), 0).unwrap();
        let expected = [Some(10), Some(20), Some(30), Some(0), None]
            .map(|day| day.map(|day: i64| day * (86_400_000_000_000 + 1_000_000)));
        let column = merged.column("t");
        let nanos = cast(&column, &DataType::Timestamp(TimeUnit::Nanosecond, None)).unwrap();
        assert_eq!(
            nanos.as_primitive::<TimestampNanosecondType>(),
            &expected.to_vec().into()
        );
    }
}

/// Runs the script beside this file on a folder; it fails with what differs.
fn ask_readers(folder: &Path) {
    let python = std::env::var("BALER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let answer = Command::new(python)
        .args(["-c", include_str!("readers.py")])
        .arg(folder)
        .output()
        .expect("python3 reads the outputs: install it, or run `cargo xtask test`");
    let said =
        String::from_utf8_lossy(&answer.stdout).into_owned() + &String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "{said}");
    println!("{said}");
}

#[test]
fn readers_outside_rust_read_of_the_outputs_what_they_read_of_the_inputs() {
    if std::env::var_os("BALER_PYTHON").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, column) in columns::all(ROWS) {
        for (kind, overlapping) in [("overlapping", true), ("disjoint", false)] {
            let place = folder.path().join(format!("{name}.{kind}"));
            std::fs::create_dir(&place).unwrap();
            let files = two_files(vec![(name, column.clone())], overlapping);
            let merged = merged(&files, &sorted_by(&["k"]));
            for (at, file) in inputs(&files).iter().enumerate() {
                let bytes = file.read_at(0, file.len() as usize).unwrap();
                std::fs::write(place.join(format!("in{at}.parquet")), bytes).unwrap();
            }
            std::fs::write(place.join("out.parquet"), &merged.files[0]).unwrap();
        }
    }
    ask_readers(folder.path());
}
