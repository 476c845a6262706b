//! Whatever goes wrong between source and sink is refused before anything is committed.

use super::*;
use crate::error::MergeError;
use crate::group::{EncodedColumn, Rope};
use crate::pages::chunk_writer::{ChunkWriter, PackedPage, PageFacts};
use crate::pages::dictionary::Values;
use crate::pages::header::PageKind;
use crate::pages::plain::{Layout, push_bytes};
use crate::pages::raw::{RawChunk, raw_chunk};

/// A column of words in several pages, of files with different dictionaries.
fn words() -> Files {
    words_from(7)
}

fn words_from(step: usize) -> Files {
    let file = |file: usize| {
        let words = (0..25_000).map(|row| format!("word {}", (row * step + file) % (30 + file)));
        let column: ArrayRef = Arc::new(StringArray::from_iter_values(words));
        written(&batch(vec![("w", column)]), zstd().build())
    };
    Files::new(&[file(0), file(1), file(2)])
}

/// Long numbers, so that pages are copied.
fn numbers() -> Files {
    let file = |file: i64| {
        let numbers = (0..40_000i64).map(|row| (row + file).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64));
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        written(
            &batch(vec![("n", column)]),
            zstd().set_dictionary_enabled(false).build(),
        )
    };
    Files::new(&[file(0), file(1)])
}

fn refused(stitched: Written) -> String {
    match stitched.proved() {
        Err(MergeError::Proof(why)) => why,
        Err(other) => panic!("refused for another reason: {other}"),
        Ok(_) => panic!("it was not refused"),
    }
}

fn pages(column: &EncodedColumn) -> RawChunk {
    let metadata = &column.close.metadata;
    raw_chunk(
        &column.bytes.to_bytes(),
        metadata.compression(),
        metadata.num_values() as u64,
        true,
    )
    .unwrap()
}

/// The column made anew of these pages, with right headers, checksums and indexes.
fn remade(stitched: Written, chunk: &RawChunk, dictionary: Option<&[u8]>) -> Written {
    let leaf = stitched.column.close.metadata.column_descr_ptr();
    let mut writer = ChunkWriter::new(leaf, Codec::Zstd(1)).unwrap();
    for page in &chunk.pages {
        let facts = PageFacts {
            rows: page.rows(),
            ..PageFacts::default()
        };
        let page = PackedPage {
            kind: page.header.kind.clone(),
            unpacked: page.header.unpacked,
            body: vec![page.body.clone()],
            facts,
        };
        writer.packed_page(page).unwrap();
    }
    if let (Some(bytes), Some(page)) = (dictionary, &chunk.dictionary) {
        let PageKind::Dictionary { values, .. } = page.header.kind else {
            panic!("no dictionary")
        };
        writer.set_dictionary(bytes, values as usize).unwrap();
    }
    Written {
        column: writer.finish().unwrap(),
        ..stitched
    }
}

#[test]
fn any_flipped_byte() {
    for files in [words(), numbers()] {
        let length = files.stitch(0, Codec::Zstd(1)).unwrap().column.bytes.len() as usize;
        for at in (0..length).step_by(length / 40) {
            let mut stitched = files.stitch(0, Codec::Zstd(1)).unwrap();
            let mut bytes = stitched.column.bytes.to_bytes().to_vec();
            bytes[at] ^= 0x10;
            stitched.column.bytes = Rope::from(Bytes::from(bytes));
            refused(stitched);
        }
    }
}

#[test]
fn a_lost_page_a_doubled_one_and_two_that_changed_places() {
    for files in [words(), numbers()] {
        let stitch = || files.stitch(0, Codec::Zstd(1)).unwrap();
        let chunk = pages(&stitch().column);
        assert!(chunk.pages.len() > 2);
        let values = chunk
            .dictionary
            .as_ref()
            .map(|page| zstd_unpacked(&page.body, page.header.unpacked));
        stitched_of(&stitch, &chunk, values.as_deref()).proved().unwrap();
        let mut lost = chunk.clone();
        lost.pages.remove(1);
        refused(stitched_of(&stitch, &lost, values.as_deref()));
        let mut doubled = chunk.clone();
        doubled.pages[1] = doubled.pages[0].clone();
        refused(stitched_of(&stitch, &doubled, values.as_deref()));
        let mut swapped = chunk.clone();
        swapped.pages.swap(0, 1);
        refused(stitched_of(&stitch, &swapped, values.as_deref()));
    }
}

fn stitched_of(stitch: &dyn Fn() -> Written, chunk: &RawChunk, values: Option<&[u8]>) -> Written {
    remade(stitch(), chunk, values)
}

fn zstd_unpacked(bytes: &[u8], length: usize) -> Vec<u8> {
    ::zstd::bulk::decompress(bytes, length).unwrap()
}

#[test]
fn indices_that_point_to_the_wrong_value() {
    let files = words();
    let stitched = files.stitch(0, Codec::Zstd(1)).unwrap();
    let chunk = pages(&stitched.column);
    let page = chunk.dictionary.as_ref().unwrap();
    let PageKind::Dictionary { values: count, .. } = page.header.kind else {
        panic!("no dictionary")
    };
    let bytes = zstd_unpacked(&page.body, page.header.unpacked);
    let values = Values::parse(bytes, Layout::Bytes, count as usize).unwrap();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.swap(3, 4);
    let mut wrong = Vec::new();
    order
        .iter()
        .for_each(|number| push_bytes(&mut wrong, values.get(*number)));
    let why = refused(remade(stitched, &chunk, Some(&wrong)));
    assert!(why.contains("its dictionary is not the one"), "{why}");
}

#[test]
fn rows_that_were_written_otherwise_than_they_were_read() {
    let [stitched, other] =
        [words_from(7), words_from(11)].map(|files| files.stitch(0, Codec::Zstd(1)).unwrap());
    let why = refused(Written {
        read: other.read,
        ..stitched
    });
    assert!(why.contains("came out"), "{why}");
}

#[test]
fn a_source_whose_bytes_do_not_match_their_checksum_is_at_fault_itself() {
    let batches: Vec<RecordBatch> = (0..2).map(|file| flat(file * 3_000, 3_000)).collect();
    let files: Vec<Bytes> = batches.iter().map(|rows| written(rows, zstd().build())).collect();
    let (file, _) = Files::new(&files).stitched(Codec::Zstd(1));
    let chunk = footer(&file).row_group(0).column(2).byte_range();
    let mut bytes = file.to_vec();
    bytes[(chunk.0 + chunk.1 - 20) as usize] ^= 1;
    let files = Files::new(&[file, bytes.into()]);
    match stitch_leaf(&files.sources(), 2, &files.schema.column(2), Codec::Zstd(1)) {
        Err(MergeError::Input { culprits, reason }) => {
            assert_eq!(culprits, [1]);
            assert!(reason.contains("do not match its checksum"), "{reason}");
        }
        _ => panic!("it was not refused"),
    }
}
