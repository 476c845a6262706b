//! Columns that cannot be stitched are decoded; the others are not.

use super::*;
use crate::group::write_group;
use arrow::datatypes::Int32Type;
use parquet::arrow::ArrowSchemaConverter;

fn rows(first: i64, count: i64) -> RecordBatch {
    let lists =
        (first..first + count).map(|row| (row % 5 > 0).then(|| (0..row % 4).map(|item| Some(item as i32))));
    batch(vec![
        ("a", Arc::new(Int64Array::from_iter_values(first..first + count))),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
        ),
        (
            "b",
            Arc::new(StringArray::from_iter_values(
                (first..first + count).map(|row| format!("{}", row % 9)),
            )),
        ),
    ])
}

fn stitched(files: &[Bytes], schema: &SchemaRef) -> (Bytes, Vec<(String, String)>) {
    let leaves = Arc::new(ArrowSchemaConverter::new().convert(schema).unwrap());
    let open = |file: &Bytes| {
        let file: Arc<dyn Input> = Arc::new(MemoryFile::new("f", file.clone()));
        OpenFile::open_with_statistics(&file).unwrap()
    };
    let files = Files::with_schema(files.iter().map(open).collect(), leaves.clone());
    let rows: u64 = files.sources().iter().map(SourceGroup::rows).sum();
    let (mut columns, decoded) = made(files.sources(), &leaves, schema);
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(&mut bytes, leaves.root_schema_ptr(), properties).unwrap();
    let written = write_group(&mut file, |_| Ok(columns.remove(0))).unwrap();
    assert_eq!(written.num_rows() as u64, rows);
    file.close().unwrap();
    (bytes.into(), decoded)
}

#[test]
fn lists_are_decoded_and_their_neighbours_are_not() {
    let batches = [rows(0, 500), rows(500, 700)];
    let files = batches.each_ref().map(|rows| written(rows, zstd().build()));
    let (file, decoded) = stitched(&files, &batches[0].schema());
    assert_eq!(decoded, [("list".to_owned(), "it is nested".to_owned())]);
    assert_same(&read(&file), &expected(&batches));
}

#[test]
fn a_codec_that_is_left_to_the_decoder_and_a_promoted_type_are_decoded() {
    let gzip = WriterProperties::builder().set_compression(Compression::GZIP(Default::default()));
    let wide = rows(0, 100);
    let narrow = batch(vec![
        ("a", Arc::new(Int32Array::from_iter_values(100..200))),
        (
            "b",
            Arc::new(StringArray::from_iter_values(
                (0..100).map(|row| format!("{}", row % 3)),
            )),
        ),
    ]);
    let files = [written(&wide, zstd().build()), written(&narrow, zstd().build())];
    let (file, decoded) = stitched(&files, &wide.schema());
    let columns: Vec<&str> = decoded.iter().map(|(column, _)| column.as_str()).collect();
    assert_eq!(columns, ["a", "list"], "{decoded:?}");
    let found = read(&file);
    assert_eq!(
        found.column(0).as_primitive::<Int64Type>().values(),
        &(0..200).collect::<Vec<i64>>()[..]
    );
    assert_eq!(found.column(1).slice(100, 100).null_count(), 100);
    let (file, decoded) = stitched(&[written(&wide, gzip.build())], &wide.schema());
    assert_eq!(decoded.len(), 3);
    assert_same(&read(&file), &wide);
}
