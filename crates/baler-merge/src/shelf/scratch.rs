//! Bytes laid aside: in memory as long as its share lasts, then in files that only grow. Writes to one file wait for each other in
//! the system, so whoever finds a place in use takes the next: there are as many as there are threads.
//!
//! What stays in memory is copied into a few large rooms. Blocks of their own, one for each column of each batch, would lie between what comes
//! and goes, and when the merge is over the allocator could give back little of what they took.
//!
//! A file loses its name as soon as it is open, so nothing is left behind however the process ends. What comes back from it
//! is compared with checksums taken on the way out: a disk that loses or changes bytes is told apart from a defect of Baler, which
//! the proof at the end would call it.

use crate::error::MergeError;
use bytes::{Bytes, BytesMut};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use xxhash_rust::xxh3::xxh3_64;

/// A checksum covers so many bytes: a read of few rows reads not much more than them.
const CHECKED_BYTES: usize = 2 << 10;

/// Rooms are no larger: the rest of one may stay empty. A common allocator maps what is larger than 32 MiB by itself, and unmaps it in the end.
const ROOM_BYTES_MAX: usize = 64 << 20;
/// Blocks begin where a number of any width may lie.
const ALIGNED: usize = 16;

/// Merges that share a directory never share a name.
static FILES: AtomicU64 = AtomicU64::new(0);

/// Where blocks lie. Any thread may lay and read.
pub(crate) struct Scratch {
    directory: PathBuf,
    memory_left: AtomicUsize,
    room_bytes: usize,
    places: Vec<Mutex<Place>>,
    spilled: AtomicU64,
}

/// Where one thread at a time lays bytes.
#[derive(Default)]
struct Place {
    /// What is left of the last room.
    room: BytesMut,
    /// Made when it is needed.
    file: Option<Arc<File>>,
    end: u64,
}

/// Bytes that were laid aside.
#[derive(Debug)]
pub(crate) enum Block {
    Memory(Bytes),
    File {
        file: Arc<File>,
        offset: u64,
        length: usize,
        checks: Box<[u64]>,
    },
}

impl Scratch {
    /// Keeps up to `memory_bytes` in memory, the rest in `directory`, in a file for each of so many threads.
    pub(crate) fn new(directory: &Path, memory_bytes: usize, threads: usize) -> Self {
        let threads = threads.max(1);
        Self {
            directory: directory.to_owned(),
            memory_left: AtomicUsize::new(memory_bytes),
            room_bytes: (memory_bytes / threads).min(ROOM_BYTES_MAX),
            places: (0..threads).map(|_| Mutex::default()).collect(),
            spilled: AtomicU64::new(0),
        }
    }

    /// Bytes that went to disk so far.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.spilled.load(Ordering::Relaxed)
    }

    /// Lays bytes aside.
    pub(crate) fn lay<'b>(&self, bytes: impl Into<Cow<'b, [u8]>>) -> Result<Block, MergeError> {
        let bytes = bytes.into();
        let take = |left: usize| left.checked_sub(bytes.len());
        let fits = self
            .memory_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        if fits.is_ok() {
            return Ok(Block::Memory(self.free_place().keep(&bytes, self.room_bytes)));
        }
        let checks = bytes.chunks(CHECKED_BYTES).map(xxh3_64).collect();
        let mut place = self.free_place();
        let file = match &place.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(place.file.insert(Arc::new(self.nameless_file()?))),
        };
        let offset = place.end;
        place.end += bytes.len() as u64;
        file.write_all_at(&bytes, offset).map_err(laying)?;
        drop(place);
        self.spilled.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(Block::File {
            file,
            offset,
            length: bytes.len(),
            checks,
        })
    }

    /// Some bytes of a block.
    pub(crate) fn read(&self, block: &Block, range: Range<usize>) -> Result<Bytes, MergeError> {
        let (file, offset, length, checks) = match block {
            Block::Memory(bytes) => return Ok(bytes.slice(range)),
            Block::File {
                file,
                offset,
                length,
                checks,
            } => (file, *offset, *length, checks),
        };
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let first = range.start / CHECKED_BYTES;
        let start = first * CHECKED_BYTES;
        let end = range.end.next_multiple_of(CHECKED_BYTES).min(length);
        let bytes = read_at(file, offset + start as u64, end - start).map_err(laying)?;
        for (check, piece) in checks[first..].iter().zip(bytes.chunks(CHECKED_BYTES)) {
            if *check != xxh3_64(piece) {
                return Err(laying(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the disk gave back other bytes than it was given",
                )));
            }
        }
        Ok(Bytes::from(bytes).slice(range.start - start..range.end - start))
    }

    /// The first place that nobody uses; the first of all if there is none.
    fn free_place(&self) -> MutexGuard<'_, Place> {
        let free = self.places.iter().find_map(|place| match place.try_lock() {
            Ok(place) => Some(place),
            Err(TryLockError::Poisoned(place)) => Some(place.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        free.unwrap_or_else(|| self.places[0].lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn nameless_file(&self) -> Result<File, MergeError> {
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let path = self
            .directory
            .join(format!("shelf-{}-{number}", std::process::id()));
        let made = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(laying)?;
        fs::remove_file(&path).map_err(laying)?;
        Ok(made)
    }
}

impl Place {
    /// A copy in the room, or in a new one of so many bytes.
    fn keep(&mut self, bytes: &[u8], room_bytes: usize) -> Bytes {
        let padded = bytes.len().next_multiple_of(ALIGNED);
        if self.room.capacity() < padded {
            self.room = BytesMut::with_capacity(room_bytes.max(padded));
        }
        self.room.extend_from_slice(bytes);
        self.room.resize(padded, 0);
        self.room.split().freeze().slice(..bytes.len())
    }
}

impl Block {
    pub(crate) fn len(&self) -> usize {
        match self {
            Block::Memory(bytes) => bytes.len(),
            Block::File { length, .. } => *length,
        }
    }
}

/// Reads exactly so many bytes, into memory that nobody had to clear first.
fn read_at(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let at = offset + bytes.len() as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

fn laying(source: io::Error) -> MergeError {
    MergeError::Node {
        doing: "laying rows aside on disk",
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    #[test]
    fn what_is_laid_aside_comes_back_from_memory_and_from_disk() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(directory.path(), 30_000, 1);
        let blocks: Vec<Block> = (0..3).map(|_| scratch.lay(noise(25_000)).unwrap()).collect();
        assert!(matches!(blocks[0], Block::Memory(_)) && matches!(blocks[2], Block::File { .. }));
        assert_eq!(scratch.spilled_bytes(), 50_000);
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            0,
            "the file has no name"
        );
        for block in &blocks {
            for range in [0..25_000, 0..1, 8_191..8_193, 24_999..25_000, 5..5] {
                assert_eq!(scratch.read(block, range.clone()).unwrap(), noise(25_000)[range]);
            }
        }
    }

    #[test]
    fn blocks_in_memory_lie_side_by_side_and_aligned() {
        let scratch = Scratch::new(Path::new("no file is needed"), 10_000, 1);
        let blocks: Vec<Block> = [10, 33, 0, 4_000, 5_957]
            .map(|bytes| scratch.lay(noise(bytes)).unwrap())
            .into();
        let mut ends = Vec::new();
        for block in &blocks {
            let Block::Memory(bytes) = block else {
                panic!("there is room for all");
            };
            assert_eq!(bytes, &noise(bytes.len()));
            assert_eq!(bytes.as_ptr().addr() % ALIGNED, 0);
            ends.push(bytes.as_ptr().addr() + bytes.len().next_multiple_of(ALIGNED));
        }
        let Block::Memory(second) = &blocks[1] else {
            panic!("there is room for all");
        };
        assert_eq!(second.as_ptr().addr(), ends[0], "in one room");
    }

    #[test]
    fn a_disk_that_changes_a_byte_or_loses_some_is_a_fault_of_the_machine() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(directory.path(), 0, 1);
        let block = scratch.lay(noise(20_000)).unwrap();
        let Block::File { file, .. } = &block else {
            panic!("no memory was given");
        };
        file.write_all_at(&[0xEE], 9_000).unwrap();
        assert!(scratch.read(&block, 0..100).is_ok(), "elsewhere it is whole");
        let found = scratch.read(&block, 8_500..8_600);
        assert!(matches!(found, Err(MergeError::Node { .. })), "{found:?}");
        file.set_len(12_000).unwrap();
        let found = scratch.read(&block, 19_000..19_001);
        assert!(matches!(found, Err(MergeError::Node { .. })), "{found:?}");
    }

    /// Trap: all threads append to one file, and the system has each wait for the others.
    #[test]
    fn who_finds_a_place_in_use_takes_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(directory.path(), 0, 2);
        let file_of = |block: &Block| match block {
            Block::File { file, .. } => Arc::clone(file),
            Block::Memory(_) => panic!("no memory was given"),
        };
        let first = scratch.lay(noise(10)).unwrap();
        let held = scratch.free_place();
        let second = scratch.lay(noise(20)).unwrap();
        drop(held);
        let third = scratch.lay(noise(30)).unwrap();
        assert!(!Arc::ptr_eq(&file_of(&first), &file_of(&second)));
        assert!(Arc::ptr_eq(&file_of(&first), &file_of(&third)));
        assert_eq!(scratch.spilled_bytes(), 60);
        for (block, bytes) in [(first, 10), (second, 20), (third, 30)] {
            assert_eq!(scratch.read(&block, 0..bytes).unwrap(), noise(bytes));
        }
    }
}
