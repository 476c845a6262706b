//! Files that are damaged, cut off, or made to do harm: refused with a reason, never a panic, never rows skipped in silence.

use crate::support::*;
use arrow::array::*;
use baler_merge::*;
use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::sync::{Arc, Mutex};

fn sound() -> Bytes {
    let text: Vec<String> = (0..3_000)
        .map(|row| format!("row {row} {}", row * 7919 % 1013))
        .collect();
    let rows = batch(vec![
        ("k", ints(0..3_000)),
        ("text", strings(text.iter().map(String::as_str))),
    ]);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    parquet_with(
        &rows,
        WriterProperties::builder()
            .set_compression(zstd)
            .set_max_row_group_row_count(Some(1_000))
            .build(),
    )
}

fn refusal(bytes: impl Into<Bytes>) -> String {
    match inspect(&input(bytes), &Asked::default()) {
        Err(FileError::Refused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

/// A file with this footer and nothing else.
fn with_footer(footer: &[u8]) -> Vec<u8> {
    let mut file = b"PAR1".to_vec();
    file.extend(footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(b"PAR1");
    file
}

fn varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// A footer whose schema is a list of groups with these numbers of children.
fn schema_of(children: &[i64]) -> Vec<u8> {
    let mut footer = vec![0x15, 2, 0x19, 0xFC]; // version 1; schema: a list of structures
    varint(children.len() as u64, &mut footer);
    for children in children {
        footer.extend([0x48, 1, b'g', 0x15]); // name "g"; number of children
        varint((children << 1) as u64, &mut footer);
        footer.push(0);
    }
    footer.extend([0x16, 0, 0x19, 0x0C, 0]); // no rows, no row groups
    footer
}

#[test]
fn what_is_no_parquet_file_is_said_to_be_none() {
    assert!(refusal(Bytes::new()).contains("empty"));
    assert!(refusal(&b"PAR1"[..]).contains("too few"));
    assert!(
        refusal(&b"id,name\n1,this is text that was named .parquet\n"[..]).contains("not a Parquet file")
    );
    assert!(refusal(sound().slice(..5_000)).contains("cut off"));
    assert!(
        refusal(sound().slice(1..)).contains("begin with PAR1") || !refusal(sound().slice(1..)).is_empty()
    );
}

#[test]
fn an_encrypted_file_is_called_encrypted_and_not_damaged() {
    let mut whole = sound().to_vec();
    let end = whole.len();
    whole[..4].copy_from_slice(b"PARE");
    whole[end - 4..].copy_from_slice(b"PARE");
    assert!(refusal(whole).starts_with("encrypted: Baler has no keys"));
    // A footer in the clear, as with encrypted columns: version, schema of a group and a column, rows, groups, algorithm,
    // and behind it the signature.
    let mut footer = schema_of(&[1, 0]);
    footer.pop();
    footer.extend([0x4C, 0x1C, 0, 0, 0]);
    footer.extend([0xAB; 28]);
    assert!(refusal(with_footer(&footer)).starts_with("encrypted: Baler has no keys"));
}

#[test]
fn a_footer_longer_than_the_file_is_refused() {
    let mut file = sound().to_vec();
    let end = file.len();
    file[end - 8..end - 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(refusal(file).contains("footer claims"));
}

#[test]
fn a_schema_thousands_of_groups_deep_is_refused_and_overflows_nothing() {
    let mut children = vec![1; 50_000];
    children.push(0);
    assert!(refusal(with_footer(&schema_of(&children))).contains("deep"));
}

#[test]
fn a_group_of_two_billion_children_is_refused_and_allocates_nothing() {
    assert!(refusal(with_footer(&schema_of(&[1 << 31, 0]))).contains("children"));
    assert!(refusal(with_footer(&schema_of(&[-1, 0]))).contains("children"));
}

#[test]
fn a_list_longer_than_the_footer_is_refused() {
    let mut footer = vec![0x15, 2, 0x19, 0xFC];
    varint(1 << 40, &mut footer);
    assert!(refusal(with_footer(&footer)).contains("claims"));
}

#[test]
fn a_file_without_columns_is_refused() {
    assert!(!refusal(with_footer(&schema_of(&[0]))).is_empty());
}

#[test]
fn a_page_that_claims_to_unpack_to_gigabytes_is_refused_before_it_is_unpacked() {
    let text: Vec<String> = (0..100).map(|row| format!("{row}")).collect();
    let zstd = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false);
    let file = parquet_with(
        &batch(vec![("t", strings(text.iter().map(String::as_str)))]),
        zstd.build(),
    )
    .to_vec();
    // The first page header: type, then the unpacked size as a varint; it is made five bytes long, and the page shorter.
    assert_eq!(&file[4..7], &[0x15, 0x00, 0x15]);
    let mut end = 7;
    while file[end] & 0x80 != 0 {
        end += 1;
    }
    let mut hostile = file[..7].to_vec();
    varint(0xFFFF_FFFE, &mut hostile);
    hostile.extend(&file[end + 1..]);
    let grown = hostile.len() - file.len();
    hostile.drain(60..60 + grown);
    let reason = match digest_of(&input(hostile), RowHash::default(), Budget::default(), &Unwatched) {
        Err(FileError::Refused(reason)) => reason,
        other => panic!("{other:?}"),
    };
    assert!(reason.contains("unpack"), "{reason}");
}

#[test]
fn every_cut_is_refused() {
    let file = sound();
    for length in (0..file.len()).step_by(97) {
        assert!(
            inspect(&input(file.slice(..length)), &Asked::default()).is_err(),
            "{length}"
        );
    }
}

#[test]
fn flipped_bits_never_panic_and_never_lose_rows_in_silence() {
    let file = sound();
    let (rows, digest) = digest_of(
        &input(file.clone()),
        RowHash::default(),
        Budget::default(),
        &Unwatched,
    )
    .unwrap();
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut refused = 0;
    for at in (0..file.len()).step_by(61) {
        let mut flipped = file.to_vec();
        flipped[at] ^= 1 << (at % 8);
        match digest_of(&input(flipped), RowHash::default(), Budget::default(), &Unwatched) {
            Ok((found, _)) => assert_eq!(found, rows, "byte {at}"),
            Err(FileError::Refused(_)) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    std::panic::set_hook(quiet);
    assert!(refused > 0);
    assert_eq!(
        digest_of(&input(file), RowHash::default(), Budget::default(), &Unwatched).unwrap(),
        (rows, digest)
    );
}

#[test]
fn a_damaged_row_group_is_not_skipped_but_names_its_file() {
    let mut damaged = sound().to_vec();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 400].fill(0xAA);
    let files = [input(sound()), input(damaged), input(sound())];
    for spec in [sorted_by(&["k"]), MergeSpec::default()] {
        match try_merge(&files, &spec, 0).err() {
            Some(MergeError::Input { culprits, reason }) => {
                assert_eq!(culprits, [1]);
                assert!(reason.contains("damaged"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn all_bad_footers_are_named_at_once() {
    let files = [
        input(Bytes::new()),
        input(sound()),
        input(&b"this is not a Parquet file"[..]),
    ];
    match try_merge(&files, &MergeSpec::default(), 0).err() {
        Some(MergeError::Input { culprits, .. }) => assert_eq!(culprits, [0, 2]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_column_that_occurs_twice_is_refused() {
    use arrow::datatypes::{DataType, Field, Schema};
    let schema = Schema::new(vec![
        Field::new("c", DataType::Int64, true),
        Field::new("c", DataType::Int64, true),
    ]);
    let rows = RecordBatch::try_new(Arc::new(schema), vec![ints([1]), ints([2])]).unwrap();
    assert!(refusal(parquet(&rows)).contains("twice"));
}

#[test]
fn a_store_that_fails_is_no_fault_of_the_file() {
    let noise = |row: i64| row.wrapping_mul(0x5851_F42D_4C95_7F2D).rotate_left(31);
    let large = parquet(&batch(vec![
        ("k", ints(0..300_000)),
        ("text", ints((0..300_000).map(noise))),
    ]));
    for (bytes, reads) in [(sound(), 1), (large, 4)] {
        for reads_left in 0..12 {
            let flaky: Arc<dyn Input> = Arc::new(Flaky {
                bytes: bytes.clone(),
                reads_left: Mutex::new(reads_left),
            });
            match try_merge(&[input(bytes.clone()), flaky], &sorted_by(&["k"]), 0).err() {
                None => assert!(reads_left >= reads, "{reads_left} reads were enough"),
                Some(MergeError::Read { input: 1, source }) => assert!(source.to_string().contains("503")),
                Some(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn a_spill_directory_or_sink_that_fails_is_a_fault_of_the_machine() {
    // More than a small budget keeps in memory: numbers this far apart are laid aside as wide as they are.
    let half = |first: i64| {
        let keys = || (first..600_000).step_by(2);
        batch(vec![
            ("k", ints(keys())),
            ("a", ints(keys().map(|key| key << 40))),
        ])
    };
    let budget = Budget {
        memory_bytes: 0,
        threads: 1,
    };
    let mut sink = MemorySink::default();
    let missing = "/proc/no/such/place".as_ref();
    let result = merge(
        &inputs(&[half(0), half(1)]),
        &sorted_by(&["k"]),
        budget,
        missing,
        &mut sink,
        &Unwatched,
    );
    assert!(matches!(result, Err(MergeError::Node { .. })), "{result:?}");
}
