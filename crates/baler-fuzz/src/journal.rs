//! Entries and snapshots of a journal. Checksums would refuse whatever is mutated, so each input is also taken for what lies below
//! them: compressed and sealed anew.

use baler_journal::checksum::Checksum;
use baler_journal::entry::{Entry, Proposal};
use baler_journal::snapshot;

use crate::words_about_a_job::SLOT;

/// The body of an entry, as it lies in the store, and as its lines.
pub fn journal(data: &[u8]) {
    let _refused_or_not = Entry::decode(SLOT, data);
    let Ok(entry) = Entry::decode(SLOT, &sealed(data)) else {
        return;
    };
    let again = Proposal::of_batch(entry.journal, entry.parent, &entry.batch);
    let Ok(again) = again else {
        return;
    };
    match Entry::decode(SLOT, &again.bytes) {
        Ok(read) => assert_eq!(
            read.batch, entry.batch,
            "an entry is another when it is written again"
        ),
        Err(error) => panic!("an entry that was read cannot be written: {error}"),
    }
}

/// These lines with the checksum that they have, compressed.
fn sealed(lines: &[u8]) -> Vec<u8> {
    let mut text = lines.to_vec();
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    let seal = format!("{{\"xxh3\":\"{}\"}}\n", Checksum::of(&text));
    text.extend(seal.into_bytes());
    compressed(&text)
}

/// A snapshot, as it lies in the store, and as the stream of its records.
pub fn snapshot(data: &[u8]) {
    for bytes in [data, &compressed(data)] {
        let read = snapshot::read(SLOT, bytes);
        let verified = snapshot::verify(SLOT, bytes);
        assert!(
            read.is_err() || verified.is_ok(),
            "a snapshot is read that is not whole"
        );
    }
}

/// Compression into memory does not fail; an input for which it does is worth nothing.
fn compressed(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap_or_default()
}
