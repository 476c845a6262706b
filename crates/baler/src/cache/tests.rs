//! Each word of what the cache promises: bounded, checked, keyed by identity, shared, and never in the way.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use baler_core::file::{Digest, FilePath, Identity, Origin};
use baler_core::time::StoreTime;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_128;

use super::*;
use crate::depot::Input;

const MIB: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(20);

/// A file in the store, which counts how often it is read there.
struct Stored {
    content: Vec<u8>,
    reads: AtomicUsize,
}

impl Input for Stored {
    fn name(&self) -> &str {
        "stored"
    }
    fn len(&self) -> u64 {
        self.content.len() as u64
    }
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        Ok(Bytes::copy_from_slice(&self.content[from..from + length]))
    }
}

fn content(seed: u64, length: u64) -> Vec<u8> {
    let words =
        (0..length.div_ceil(16)).map(|word| xxh3_128(&(seed, word).0.wrapping_add(word).to_le_bytes()));
    let mut bytes: Vec<u8> = words.flat_map(u128::to_le_bytes).collect();
    bytes.truncate(usize::try_from(length).unwrap());
    bytes
}

fn stored(seed: u64, length: u64) -> Arc<Stored> {
    Arc::new(Stored {
        content: content(seed, length),
        reads: AtomicUsize::new(0),
    })
}

fn file(name: &str, tag: &str, bytes: u64) -> baler_core::file::File {
    let identity = Identity {
        tag: tag.into(),
        bytes,
        modified: StoreTime { unix_ms: 7 },
    };
    baler_core::file::File::found(FilePath::in_root(name), identity, 1)
}

fn key(name: &str, bytes: u64) -> Key {
    Key::of_file("s3://bucket/root", &file(name, "tag", bytes))
}

fn read_all(cache: &Arc<Cache>, key: &Key, from: &Arc<Stored>) -> Bytes {
    let input = through(cache.clone(), key.clone(), from.clone());
    let bytes = input.read_at(0, usize::try_from(input.len()).unwrap()).unwrap();
    cache.settle(PATIENCE);
    bytes
}

/// The entries, oldest use first.
fn entries(dir: &TempDir) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for folder in fs::read_dir(dir.path().join("entries")).unwrap() {
        for entry in fs::read_dir(folder.unwrap().path()).unwrap() {
            found.push(entry.unwrap().path());
        }
    }
    found.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    found
}

fn bytes_in(dir: &TempDir) -> u64 {
    let sizes = entries(dir)
        .into_iter()
        .map(|path| fs::metadata(path).unwrap().len());
    sizes.sum()
}

#[test]
fn what_was_read_once_is_not_read_from_the_store_again() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::open(dir.path(), 64 * MIB).unwrap();
    let (from, key) = (stored(1, 700_000), key("a", 700_000));
    for _ in 0..3 {
        assert_eq!(read_all(&cache, &key, &from), from.content);
    }
    assert_eq!(from.reads.load(Ordering::Relaxed), 1);
    // A stretch of what is there whole needs no entry of its own.
    let input = through(cache.clone(), key, from.clone());
    assert_eq!(
        input.read_at(300_000, 5_000).unwrap(),
        from.content[300_000..305_000]
    );
    assert_eq!(from.reads.load(Ordering::Relaxed), 1);
    let said = cache.counters().report();
    assert_eq!((said.hits, said.misses), (3, 1));
    assert_eq!(said.bytes_hit, 2 * 700_000 + 5_000);
}

/// Trap: a disk flips a bit, and rows are merged that nobody wrote.
#[test]
fn a_flipped_bit_anywhere_is_noticed_and_the_entry_is_dropped() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::open(dir.path(), 64 * MIB).unwrap();
    let length = 600_000;
    let (from, key) = (stored(1, length), key("a", length));
    read_all(&cache, &key, &from);
    let path = entries(&dir).remove(0);
    let whole = fs::read(&path).unwrap();
    let places = [
        0,
        299_999,
        599_999,
        600_001,
        600_040,
        whole.len() - 30,
        whole.len() - 1,
    ];
    for (round, place) in places.into_iter().enumerate() {
        let mut damaged = whole.clone();
        damaged[place] ^= 4;
        fs::write(&path, damaged).unwrap();
        assert_eq!(read_all(&cache, &key, &from), from.content, "byte {place}");
        assert_eq!(
            from.reads.load(Ordering::Relaxed),
            2 + round,
            "byte {place} went unnoticed"
        );
        assert_eq!(cache.counters().report().damaged, round as u64 + 1);
        assert_eq!(fs::read(&path).unwrap(), whole, "it is whole again");
    }
    for cut in [0, 10, 600_000, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        assert_eq!(read_all(&cache, &key, &from), from.content, "cut at {cut}");
    }
}

/// Trap: keyed by name alone, an overwritten file is read in its old version for ever.
#[test]
fn a_file_that_was_overwritten_is_another_one() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::open(dir.path(), 64 * MIB).unwrap();
    let (old, new) = (stored(1, 1_000), stored(2, 1_000));
    let of = |tag: &str| Key::of_file("s3://bucket/root", &file("a", tag, 1_000));
    assert_eq!(read_all(&cache, &of("old"), &old), old.content);
    assert_eq!(read_all(&cache, &of("new"), &new), new.content);
    assert_eq!(read_all(&cache, &of("old"), &old), old.content);
    let elsewhere = Key::of_file("s3://other/root", &file("a", "old", 1_000));
    assert_eq!(cache.read(&elsewhere, 0, 1_000), None, "another bucket's");
}

/// Trap: an entry under a wrong name is believed for its name.
#[test]
fn an_entry_that_says_it_is_another_is_not_believed() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::open(dir.path(), 64 * MIB).unwrap();
    let (a, b) = (stored(1, 1_000), stored(2, 1_000));
    read_all(&cache, &key("a", 1_000), &a);
    let path = entries(&dir).remove(0);
    let text = key("b", 1_000).whole();
    let wrong = cache.shelf.path(&text);
    fs::create_dir_all(wrong.parent().unwrap()).unwrap();
    fs::rename(path, wrong).unwrap();
    assert_eq!(read_all(&cache, &key("b", 1_000), &b), b.content);
}

#[test]
fn it_is_bounded_and_what_was_not_used_for_longest_goes() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::open(dir.path(), 4 * MIB).unwrap();
    let length = MIB / 2;
    let names: Vec<String> = (0..20).map(|name| name.to_string()).collect();
    let favourite = key("favourite", length);
    let from = stored(99, length);
    read_all(&cache, &favourite, &from);
    for (seed, name) in names.iter().enumerate() {
        read_all(&cache, &key(name, length), &stored(seed as u64, length));
        assert!(bytes_in(&dir) <= 4 * MIB, "{} bytes", bytes_in(&dir));
        // Uses are noted by the minute: here each of them is.
        let used = cache.shelf.path(&favourite.whole());
        fs::File::open(&used)
            .unwrap()
            .set_modified(std::time::SystemTime::now())
            .unwrap();
    }
    assert_eq!(read_all(&cache, &favourite, &from), from.content);
    assert_eq!(
        from.reads.load(Ordering::Relaxed),
        1,
        "it was used all the time, and yet it went"
    );
    assert!(entries(&dir).len() >= 4, "{:?}", entries(&dir));
    let huge = stored(7, 2 * MIB);
    read_all(&cache, &key("huge", 2 * MIB), &huge);
    assert!(entries(&dir).len() >= 4, "one entry drove all others out");
}

#[test]
fn a_use_is_noted_in_the_file() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::open(dir.path(), 4 * MIB).unwrap();
    let from = stored(1, 1_000);
    read_all(&cache, &key("a", 1_000), &from);
    let path = entries(&dir).remove(0);
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3_600);
    fs::File::open(&path).unwrap().set_modified(long_ago).unwrap();
    read_all(&cache, &key("a", 1_000), &from);
    let age = fs::metadata(&path)
        .unwrap()
        .modified()
        .unwrap()
        .elapsed()
        .unwrap();
    assert!(age < Duration::from_secs(60), "{age:?}");
}

/// Trap: outputs enter as they are written, and a loser's are served to the next merge.
#[test]
fn an_output_enters_only_when_it_is_kept() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::open(dir.path(), 64 * MIB).unwrap();
    let bytes = content(5, 400_000);
    let sum = Digest(xxh3_128(&bytes));
    let path = FilePath::in_root("baler-out.parquet");
    let output = Key::of_output("s3://bucket/root", &path, 400_000, sum);
    let write = || {
        let mut spool = cache.spool().unwrap();
        bytes.chunks(70_001).for_each(|chunk| spool.write(chunk));
        spool
    };
    let losers = Spools::default();
    losers.written(0, write());
    assert_eq!(cache.read(&output, 0, 400_000), None, "it is not committed yet");
    drop(losers);
    assert_eq!(cache.read(&output, 0, 400_000), None, "it lost");
    assert_eq!(
        fs::read_dir(dir.path().join("new")).unwrap().count(),
        0,
        "and left something"
    );

    let winners = Spools::default();
    winners.written(0, write());
    winners.keep([(0, output.clone())]);
    assert_eq!(cache.read(&output, 0, 400_000).unwrap(), bytes);
    let mut known = file("baler-out.parquet", "whatever the store calls it", 400_000);
    known.origin = Origin::Job(baler_core::ids::JobId(3));
    known.checksum = Some(sum);
    assert_eq!(
        Key::of_file("s3://bucket/root", &known),
        output,
        "and the next merge finds it"
    );
}

/// Trap: two processes make room at once, and one of them stumbles over what the other removed.
#[test]
fn several_use_one_folder_at_once() {
    let dir = TempDir::new().unwrap();
    let length = MIB / 8;
    std::thread::scope(|scope| {
        for process in 0..4 {
            let dir = dir.path();
            scope.spawn(move || {
                let cache = Cache::open(dir, 2 * MIB).unwrap();
                for round in 0..60u64 {
                    let name = (round * 7 + process) % 40;
                    let from = stored(name, length);
                    let key = key(&name.to_string(), length);
                    assert_eq!(read_all(&cache, &key, &from), from.content);
                }
                assert_eq!(cache.counters().report().damaged, 0);
            });
        }
    });
    // Each may be behind by what it added since it last looked.
    assert!(
        bytes_in(&dir) <= 2 * MIB + 4 * (2 * MIB / 16 + length),
        "{}",
        bytes_in(&dir)
    );
    assert_eq!(fs::read_dir(dir.path().join("new")).unwrap().count(), 0);
}

/// Trap: the disk is full, and the merge fails for its cache.
#[test]
fn where_nothing_can_be_written_files_are_read_all_the_same() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::open(dir.path(), 64 * MIB).unwrap();
    // Nothing can be made in a folder that is a file.
    fs::remove_dir(dir.path().join("new")).unwrap();
    fs::write(dir.path().join("new"), "").unwrap();
    let from = stored(1, 1_000);
    for _ in 0..2 {
        assert_eq!(read_all(&cache, &key("a", 1_000), &from), from.content);
    }
    assert!(cache.spool().is_none());
    assert_eq!(cache.counters().report().failed, 3);
}

/// A device on which every write fails as on a full disk.
#[test]
fn a_full_disk_cuts_an_entry_short_and_nothing_else() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut writer = entry::Writer::new(full);
    let error = writer.write(&content(1, 1_000)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);

    let dir = TempDir::new().unwrap();
    let cache = Cache::open(dir.path(), 64 * MIB).unwrap();
    let spool = spool::Spool::over(&cache, fs::File::options().write(true).open("/dev/full").unwrap());
    let mut spool = spool;
    for _ in 0..4 {
        spool.write(&content(1, 100_000));
    }
    spool.keep(&key("a", 400_000));
    assert_eq!(cache.counters().report().failed, 1);
    assert_eq!(cache.read(&key("a", 400_000), 0, 10), None);
}

#[test]
fn a_folder_that_may_only_be_read_is_only_read() {
    let cache = Cache::open(Path::new("/proc/self"), 64 * MIB).unwrap();
    let from = stored(1, 1_000);
    for _ in 0..2 {
        assert_eq!(read_all(&cache, &key("a", 1_000), &from), from.content);
    }
    assert!(cache.spool().is_none());
    assert!(
        Cache::open(Path::new("/proc/self/exe"), MIB).is_err(),
        "this is a file"
    );
    assert!(Cache::open(Path::new("/proc/nowhere/at/all"), MIB).is_err());
}

#[test]
fn what_the_dead_have_begun_goes() {
    let dir = TempDir::new().unwrap();
    drop(Cache::open(dir.path(), 64 * MIB).unwrap());
    let (old, young) = (dir.path().join("new/old"), dir.path().join("new/young"));
    fs::write(&old, "x").unwrap();
    fs::write(&young, "x").unwrap();
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(7_200);
    fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
    drop(Cache::open(dir.path(), 64 * MIB).unwrap());
    assert!(!old.exists() && young.exists());
}
