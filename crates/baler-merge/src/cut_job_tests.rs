//! What the parts of a file weigh.

use super::*;
use crate::io::MemoryFile;
use crate::key_range::{KeyRange, encode_row};
use arrow::array::*;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

fn bounds(columns: &[ArrayRef], rows: std::ops::Range<usize>, sort: &[SortColumn]) -> Option<KeyRange> {
    let bound = |row| encode_row(columns, row, sort).unwrap();
    Some(KeyRange {
        min: rows.clone().map(|row| bound(row).min()).min()?,
        max: rows.map(|row| bound(row).max()).max()?,
    })
}

#[test]
fn the_row_groups_of_a_file_weigh_what_their_statistics_say() {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter((0..300).map(|n| (n < 299).then_some(n))));
    let batch = RecordBatch::try_from_iter_with_nullable([("a", keys, true)]).unwrap();
    let groups = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(groups)).unwrap();
    writer.write(&batch).unwrap();
    let file: Arc<dyn Input> = Arc::new(MemoryFile::new("three", writer.into_inner().unwrap()));
    let file = OpenFile::open_with_statistics(&file).unwrap();
    let sort = [SortColumn {
        nulls_first: false,
        ..SortColumn::ascending("a")
    }];
    let weights = weights(&file, &sort);
    assert_eq!(weights.len(), 3);
    assert!(weights.iter().all(|weight| weight.bytes > 0));
    for (number, weight) in weights.iter().enumerate() {
        let rows = number * 100..number * 100 + 100;
        assert_eq!(weight.range, bounds(batch.columns(), rows, &sort), "{number}");
    }
}
