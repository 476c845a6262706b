//! The beginnings of the corpus: one sound input of each kind. `BALER_WRITE_CORPUS=1` writes them; what a fuzzer adds stays.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use baler_core::event::Batch;
use baler_core::ids::{JournalId, Sequence};
use baler_fuzz::words_about_a_job;
use baler_journal::checksum::Checksum;
use baler_journal::entry::Proposal;
use baler_journal::snapshot;
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::properties::{WriterProperties, WriterVersion};

#[test]
fn the_seeds_are_there() {
    for (folder, name, bytes) in seeds() {
        let path = crate::corpus::folder().join(folder).join(name);
        if std::env::var_os("BALER_WRITE_CORPUS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        assert!(path.is_file(), "{} is missing", path.display());
    }
}

fn seeds() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let (state, events) = words_about_a_job::beginning();
    let batch = Batch {
        sequence: Sequence(7),
        parent_time: None,
        events,
    };
    let entry = Proposal::of_batch(JournalId(0xb), Checksum(5), &batch).unwrap();
    let lines = zstd::decode_all(&entry.bytes[..]).unwrap();
    let snapshot = snapshot::write(&state, Checksum(5));
    let records = zstd::decode_all(&snapshot[..]).unwrap();
    let mut seeds = vec![
        ("journal", "entry.zst", entry.bytes.to_vec()),
        ("journal", "lines.json", without_seal(&lines)),
        ("snapshot", "snapshot.zst", snapshot.to_vec()),
        ("snapshot", "records", records),
        ("api", "poll.json", words_about_a_job::poll().into_bytes()),
        ("api", "renew.json", words_about_a_job::renewal().into_bytes()),
        ("api", "event.json", EVENT.into()),
        ("api", "named.json", br#"{"path":"day=1/a.parquet"}"#.to_vec()),
        ("names", "output", OUTPUT.into()),
        ("names", "bucket", b"s3://bucket/some/prefix".to_vec()),
        ("names", "folder", b"/data/day=1/part.parquet".to_vec()),
    ];
    seeds.extend(files());
    seeds
}

const OUTPUT: &str = "day=1/baler-00000000000000000000000000000abc-12-0-45.3-7.parquet";
const EVENT: &str = r#"{"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"day%3D1/a+b%2B.parquet","size":3}}}]}"#;

/// The last line is made anew for each input.
fn without_seal(lines: &[u8]) -> Vec<u8> {
    let seal = lines.strip_suffix(b"\n").unwrap();
    let start = seal.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    lines[..start].to_vec()
}

fn files() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let delta = |encoding: Encoding| {
        move || {
            WriterProperties::builder()
                .set_dictionary_enabled(false)
                .set_column_encoding("text".into(), encoding)
                .set_writer_version(WriterVersion::PARQUET_2_0)
        }
    };
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    vec![
        ("parquet", "plain.parquet", file(plain().build())),
        ("parquet", "dictionary.parquet", file(WriterProperties::default())),
        (
            "parquet",
            "lengths.parquet",
            file(delta(Encoding::DELTA_LENGTH_BYTE_ARRAY)().build()),
        ),
        (
            "parquet",
            "prefixes.parquet",
            file(delta(Encoding::DELTA_BYTE_ARRAY)().build()),
        ),
        (
            "parquet",
            "groups.parquet",
            file(plain().set_max_row_group_row_count(Some(8)).build()),
        ),
    ]
}

fn file(settings: WriterProperties) -> Vec<u8> {
    let rows = 20;
    let words: Vec<Option<String>> = (0..rows)
        .map(|row| (row % 5 != 0).then(|| format!("word {}", row / 3)))
        .collect();
    let lists = (0..rows).map(|row| Some((0..row % 3).map(Some).collect::<Vec<_>>()));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("key", Arc::new(Int64Array::from_iter_values(0..rows))),
        ("text", Arc::new(StringArray::from(words))),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(settings)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}
