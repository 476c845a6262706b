//! What is not what was written, or was written by another version.

use std::io::Write;

use baler_core::ids::{JournalId, Sequence};
use baler_core::{Batch, Event};
use bytes::Bytes;

use super::{Site, tick_proposal};
use crate::checksum::Checksum;
use crate::entry::Proposal;
use crate::error::JournalError;
use crate::object_log::Access;
use crate::snapshot;
use crate::store::Store;

fn entry_path(slot: u64) -> String {
    format!("_baler/journal/{slot:020}")
}

async fn replace(site: &Site, path: &str, bytes: impl Into<Bytes>) {
    site.faults().delete(path).await.expect("deletes");
    site.faults().create(path, bytes.into()).await.expect("creates");
}

async fn bytes_of(site: &Site, path: &str) -> Bytes {
    site.faults().get(path).await.expect("there").bytes
}

async fn open_error(site: &Site) -> JournalError {
    let opened = site.try_replica(Access::ReadWrite).await;
    opened.expect_err("what is wrong must not be taken for right")
}

fn zstd_lines(lines: &str) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("in memory");
    encoder.write_all(lines.as_bytes()).expect("in memory");
    encoder.finish().expect("in memory")
}

fn lines_of(bytes: &[u8]) -> String {
    String::from_utf8(zstd::decode_all(bytes).expect("zstd shows it")).expect("text")
}

/// Lines under a right checksum.
fn sealed(body: &str) -> Vec<u8> {
    let seal = Checksum::of(body.as_bytes());
    zstd_lines(&format!("{body}{{\"xxh3\":\"{seal}\"}}\n"))
}

/// Never taken for an empty or absent one.
pub async fn a_damaged_entry_is_refused_and_named(site: Site) {
    site.begun().await.close().await;
    let grown = site.grow(4).await;
    let path = entry_path(3);
    let good = bytes_of(&site, &path).await;
    let lines = lines_of(&good);
    let mut flipped = good.to_vec();
    flipped[good.len() / 2] ^= 1;
    let damages: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"not zstd at all".to_vec(),
        good[..good.len() / 2].to_vec(),
        good[..good.len() - 1].to_vec(),
        flipped,
        [&good[..], b"more"].concat(),
        zstd_lines(""),
        zstd_lines(&lines[..lines.len() / 2]),
        zstd_lines(&lines.replace("Ticked", "ticked")),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        replace(&site, &path, damage).await;
        let error = open_error(&site).await;
        let JournalError::Damaged { what, .. } = &error else {
            panic!("damage {number}: {error}");
        };
        assert_eq!(what, "journal entry 3", "damage {number}");
    }
    replace(&site, &path, good).await;
    assert_eq!(site.replica().await.state(), grown);
}

/// Right in itself, in the wrong place.
pub async fn an_entry_that_does_not_belong_is_refused(site: Site) {
    site.begun().await.close().await;
    site.grow(4).await;
    let journal = site.journal().await;
    let parent = journal
        .read(Sequence(2))
        .await
        .expect("readable")
        .expect("there")
        .checksum;
    let batch = Batch {
        sequence: Sequence(3),
        parent_time: None,
        events: vec![Event::Ticked],
    };
    let stranger = Proposal::of_batch(JournalId(7), parent, &batch).expect("small");
    let strangers = [
        (bytes_of(&site, &entry_path(2)).await, "says that it is entry 2"),
        (
            tick_proposal(3, Checksum(99)).bytes,
            "it follows an entry with checksum",
        ),
        (stranger.bytes, "it belongs to journal"),
    ];
    for (bytes, why) in strangers {
        replace(&site, &entry_path(3), bytes).await;
        let error = open_error(&site).await.to_string();
        assert!(
            error.contains("journal entry 3") && error.contains(why),
            "{error}"
        );
    }
}

/// Slots are filled in order, so a hole is a loss.
pub async fn a_missing_entry_is_refused(site: Site) {
    site.begun().await.close().await;
    site.grow(4).await;
    for slot in [3, 2] {
        site.faults().delete(&entry_path(slot)).await.expect("deletes");
        let error = open_error(&site).await;
        let named =
            matches!(&error, JournalError::Damaged { what, .. } if *what == format!("journal entry {slot}"));
        assert!(named, "{error}");
    }
}

/// A damaged snapshot is not passed over for an older one, nor for none.
pub async fn a_damaged_snapshot_is_refused_and_named(site: Site) {
    site.begun().await.close().await;
    let grown = site.grow(6).await;
    let path = format!("_baler/snapshots/{:020}", 5);
    let good = bytes_of(&site, &path).await;
    let mut flipped = good.to_vec();
    flipped[good.len() / 2] ^= 1;
    let plain = zstd::decode_all(&good[..]).expect("zstd shows it");
    let mut other = plain.clone();
    let last = other.len() - 30;
    other[last] ^= 1;
    let damages = [
        Vec::new(),
        good[..good.len() / 2].to_vec(),
        flipped,
        zstd::encode_all(&plain[..plain.len() - 40], 1).expect("in memory"),
        zstd::encode_all(&other[..], 1).expect("in memory"),
        zstd::encode_all(&[&plain[..], &[0]].concat()[..], 1).expect("in memory"),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        replace(&site, &path, damage).await;
        let error = open_error(&site).await;
        let named = matches!(&error, JournalError::Damaged { what, .. } if what == "the snapshot of entry 5");
        assert!(named, "damage {number}: {error}");
    }
    replace(&site, &path, good).await;
    assert_eq!(site.replica().await.state(), grown);
}

/// A snapshot names its entry's checksum; the next entry must have it as parent.
pub async fn a_snapshot_of_another_history_is_refused(site: Site) {
    site.begun().await.close().await;
    site.grow(6).await;
    let path = format!("_baler/snapshots/{:020}", 5);
    let (state, _) = snapshot::read(Sequence(5), &bytes_of(&site, &path).await).expect("whole");
    replace(&site, &path, snapshot::write(&state, Checksum(99))).await;
    let error = open_error(&site).await;
    assert!(
        matches!(&error, JournalError::Damaged { what, .. } if what == "journal entry 6"),
        "{error}"
    );
}

/// An older binary stops with a clear word.
pub async fn newer_formats_are_refused_with_advice(site: Site) {
    site.begun().await.close().await;
    site.grow(3).await;
    let good = bytes_of(&site, &entry_path(3)).await;
    let lines = lines_of(&good);
    let body = &lines[..lines.trim_end().rfind('\n').expect("several lines") + 1];

    // Fields that this code does not know are passed over.
    let tolerant = body.replace("{\"format\":1,", "{\"format\":1,\"colour\":\"red\",");
    replace(&site, &entry_path(3), sealed(&tolerant)).await;
    assert_eq!(site.replica().await.state().sequence, Sequence(3));

    let newer = body.replace("\"format\":1", "\"format\":3");
    replace(&site, &entry_path(3), zstd_lines(&newer)).await;
    let words = "journal entry 3 was written by a newer Baler (format 3); this one reads up to 2: install the newer version";
    assert_eq!(open_error(&site).await.to_string(), words);

    let unknown = body.replace("\"Ticked\"", "{\"RocketLaunched\":{}}");
    replace(&site, &entry_path(3), sealed(&unknown)).await;
    let error = open_error(&site).await;
    assert!(matches!(&error, JournalError::NewerContent { .. }), "{error}");
    assert!(error.to_string().contains("install the newer version"), "{error}");

    replace(&site, &entry_path(3), good).await;
    site.faults()
        .create("_baler/format/3", Bytes::from("{}"))
        .await
        .expect("creates");
    let error = open_error(&site).await;
    let what = "this root".to_owned();
    assert_eq!(error, JournalError::NewerFormat { what, found: 3 });
    assert_eq!(site.try_replica(Access::ReadOnly).await.err(), Some(error));
}
