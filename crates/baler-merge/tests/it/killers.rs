//! Files of a few bytes that would end a decoder which believes them: by the stack, or by asking for more memory than there is.
//! Each is refused with what was found and how much is allowed, by a look at its footer or before the first page is decoded.
//!
//! They lie in `fuzz/corpus/hostile`, where the stories of the binary and the fuzzer find them too; `BALER_WRITE_CORPUS=1` writes them anew.

use crate::crafted::*;
use crate::support::*;
use baler_merge::*;
use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use std::path::{Path, PathBuf};

/// More than any machine has, and less than a number that could not be counted to.
const HUGE: i64 = i32::MAX as i64;

/// Each with its name, and words of the reason.
fn killers() -> Vec<(&'static str, Vec<u8>, &'static [&'static str])> {
    let int = |pages| Column::of(Type::INT64, 3, pages);
    let text = |pages| Column::of(Type::BYTE_ARRAY, 3, pages);
    let indices = data_page(3, Encoding::RLE_DICTIONARY, &[1, 6, 0]);
    let plain = data_page(3, Encoding::PLAIN, &[0; 24]);
    vec![
        (
            "schema-thousands-deep",
            with_footer(&[], &groups_of(&[vec![1; 5_000], vec![0]].concat())),
            &["nested more than 64 deep"],
        ),
        (
            "children-of-two-billion",
            with_footer(&[], &groups_of(&[HUGE, 0])),
            &["claims 2147483647 children, 1 follow"],
        ),
        (
            "page-of-two-gigabytes",
            Column {
                codec: 6,
                ..int(data_page_of(3, Encoding::PLAIN, HUGE, &[0; 24]))
            }
            .file(),
            &["unpack to 2147483647, more than 2008576"],
        ),
        (
            "dictionary-of-two-billion-numbers",
            Column {
                dictionary: dictionary_page(HUGE, &[0; 8]),
                ..int(indices.clone())
            }
            .file(),
            &["dictionary of 8 bytes claims 2147483647 values, more than 1"],
        ),
        (
            "dictionary-of-two-billion-strings",
            Column {
                dictionary: dictionary_page(HUGE, &[0; 8]),
                ..text(indices)
            }
            .file(),
            &["dictionary of 8 bytes claims 2147483647 values, more than 2"],
        ),
        (
            "strings-by-the-trillion",
            text(data_page(
                3,
                Encoding::DELTA_LENGTH_BYTE_ARRAY,
                &same_deltas(1 << 40, 0),
            ))
            .file(),
            &["claims 1099511627776 strings and has 3 values"],
        ),
        (
            "beginnings-by-the-trillion",
            text(data_page(3, Encoding::DELTA_BYTE_ARRAY, &same_deltas(1 << 40, 0))).file(),
            &["claims 1099511627776 strings and has 3 values"],
        ),
        (
            "strings-that-repeat-each-other",
            repeating_strings(),
            &["strings of a page take", "more than 536870912"],
        ),
        (
            "nulls-of-two-gigabytes",
            Column {
                fixed_bytes: Some(HUGE),
                optional: true,
                ..Column::of(
                    Type::FIXED_LEN_BYTE_ARRAY,
                    3,
                    data_page(3, Encoding::PLAIN, &[2, 0, 0, 0, 6, 0]),
                )
            }
            .file(),
            &["values of 2147483647 bytes, more than 1048576"],
        ),
        (
            "page-of-two-billion-values",
            Column {
                optional: true,
                ..Column::of(
                    Type::INT64,
                    HUGE,
                    data_page(
                        HUGE,
                        Encoding::PLAIN,
                        &[6, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 0],
                    ),
                )
            }
            .file(),
            &["claims 2147483647 values, more than 134217728"],
        ),
        (
            "row-groups-by-the-million",
            with_footer(&plain, &{
                let root = Thrift::default().text(4, "schema").i32(5, 1);
                let leaf = Thrift::default().i32(1, 2).text(4, "key");
                let groups = (0..100_001).map(|_| Thrift::default()).collect();
                let footer = Thrift::default().i32(1, 1).list(2, vec![root, leaf]);
                footer.i64(3, 0).list(4, groups).end()
            }),
            &["100001 row groups, more than 100000"],
        ),
        (
            "metadata-by-the-million",
            with_footer(&plain, &{
                let pairs = (0..10_001).map(|_| Thrift::default()).collect();
                int(plain.clone()).footer().list(5, pairs).end()
            }),
            &["10001 pairs of metadata, more than 10000"],
        ),
    ]
}

/// One string of a megabyte, and a thousand that begin with all of it and add nothing.
fn repeating_strings() -> Vec<u8> {
    const STRINGS: usize = 1_000;
    const LENGTH: usize = 1 << 20;
    let mut page = first_and_others(STRINGS, 0, LENGTH as i64);
    page.extend(first_and_others(STRINGS, LENGTH as i64, 0));
    page.resize(page.len() + LENGTH, b'x');
    let packed = zstd::bulk::compress(&page, 3).unwrap();
    Column {
        codec: 6,
        ..Column::of(
            Type::BYTE_ARRAY,
            STRINGS as i64,
            data_page_of(
                STRINGS as i64,
                Encoding::DELTA_BYTE_ARRAY,
                page.len() as i64,
                &packed,
            ),
        )
    }
    .file()
}

/// So many numbers in DELTA_BINARY_PACKED: one, and others that are all the same.
fn first_and_others(count: usize, first: i64, others: i64) -> Vec<u8> {
    let numbers: Vec<i64> = std::iter::once(first)
        .chain(std::iter::repeat_n(others, count - 1))
        .collect();
    let (mut bytes, zigzag) = (Vec::new(), |value: i64| (value << 1 ^ value >> 63) as u64);
    for number in [128, 4, count as u64, zigzag(first)] {
        varint(number, &mut bytes);
    }
    for block in numbers.windows(2).collect::<Vec<_>>().chunks(128) {
        let steps: Vec<i64> = block.iter().map(|pair| pair[1] - pair[0]).collect();
        let least = *steps.iter().min().unwrap();
        varint(zigzag(least), &mut bytes);
        let packed: Vec<u8> = steps
            .iter()
            .flat_map(|step| u32::try_from(step - least).unwrap().to_le_bytes())
            .collect();
        let minis = steps.len().div_ceil(32);
        bytes.extend((0..4).map(|mini| if mini < minis { 32u8 } else { 0 }));
        bytes.extend(&packed);
        bytes.resize(bytes.len() + minis * 128 - packed.len(), 0);
    }
    bytes
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/hostile")
}

fn refusal(file: &Bytes) -> String {
    let inspected = inspect(&input(file.clone()), &Asked::default());
    let refused = match inspected {
        Err(why) => why,
        Ok(_) => digest_of(
            &input(file.clone()),
            RowHash::default(),
            Budget::default(),
            &Unwatched,
        )
        .unwrap_err(),
    };
    match refused {
        FileError::Refused(reason) => reason,
        other => panic!("{other}"),
    }
}

/// Trap: a file of a few bytes that claims to hold more than there is memory takes the process with it.
#[test]
fn what_claims_too_much_is_refused_before_anything_makes_room_for_it() {
    for (name, file, reasons) in killers() {
        let reason = refusal(&file.into());
        for words in reasons {
            assert!(reason.contains(words), "{name}: {reason}");
        }
    }
}

/// The stories of the binary read them from there.
#[test]
fn the_files_on_disk_are_those_that_are_made_here() {
    for (name, file, _) in killers() {
        let path = corpus().join(format!("{name}.parquet"));
        if std::env::var_os("BALER_WRITE_CORPUS").is_some() {
            std::fs::create_dir_all(corpus()).unwrap();
            std::fs::write(&path, &file).unwrap();
        }
        assert!(std::fs::read(&path).unwrap() == file, "{name} is another on disk");
    }
}

/// In a merge each is named alone, whatever the path that its pages would take.
#[test]
fn a_merge_names_the_file_that_claims_too_much() {
    let sound = |first: i64| parquet(&batch(vec![("key", ints(first..first + 100))]));
    for (name, file, _) in killers() {
        let files = [input(sound(0)), input(file), input(sound(1_000))];
        for spec in [sorted_by(&["key"]), MergeSpec::default()] {
            match try_merge(&files, &spec, 0).err() {
                Some(MergeError::Input { culprits, .. }) => assert_eq!(culprits, [1], "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

/// An index that claims more pages than it can hold is as good as absent, and nobody makes room for them.
#[test]
fn a_page_index_of_two_billion_pages_is_not_believed() {
    let page = data_page(3, Encoding::PLAIN, &[1i64, 2, 3].map(i64::to_le_bytes).concat());
    let index = Thrift::default().claimed(1, HUGE as u64, vec![]).end();
    let file = Column {
        offset_index: Some(index),
        ..Column::of(Type::INT64, 3, page)
    };
    let others = parquet(&batch(vec![("key", ints(100..200))]));
    let merged = try_merge(&[input(file.file()), input(others)], &sorted_by(&["key"]), 0).unwrap();
    assert_eq!(
        merged
            .report
            .inputs
            .iter()
            .map(|input| input.rows_read)
            .sum::<u64>(),
        103
    );
}

/// What real writers make is not taken for a claim.
#[test]
fn strings_with_lengths_apart_are_read() {
    use parquet::file::properties::{WriterProperties, WriterVersion};
    let words: Vec<String> = (0..5_000).map(|row| format!("prefix {:08}", row * 31)).collect();
    let some: Vec<Option<&str>> = words
        .iter()
        .enumerate()
        .map(|(row, word)| (row % 7 != 0).then_some(word.as_str()))
        .collect();
    let rows = batch(vec![
        ("key", ints(0..5_000)),
        ("all", strings(words.iter().map(String::as_str))),
        (
            "some",
            std::sync::Arc::new(arrow::array::StringArray::from(some)) as _,
        ),
    ]);
    let plain = parquet(&rows);
    let expected = digest_of(&input(plain), RowHash::default(), Budget::default(), &Unwatched).unwrap();
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for codec in ["uncompressed", "snappy", "zstd(3)", "lz4_raw", "gzip(6)"] {
                let settings = WriterProperties::builder()
                    .set_dictionary_enabled(false)
                    .set_compression(codec.parse().unwrap())
                    .set_writer_version(version)
                    .set_column_encoding("all".into(), encoding)
                    .set_column_encoding("some".into(), encoding);
                let file = parquet_with(&rows, settings.build());
                let found =
                    digest_of(&input(file), RowHash::default(), Budget::default(), &Unwatched).unwrap();
                assert_eq!(found, expected, "{encoding} {version:?} {codec}");
            }
        }
    }
}
