//! A cache on this machine, or on a file system that several machines share, of what merges read and of what they wrote. It may lose
//! everything at any moment: it is asked first, believed only after its checksum was looked at, and never asked what is true. What
//! version of a file counts is said by the journal, and looked at in the store after each merge.
//!
//! ```text
//!  DIR/entries/ab/cdef…   one stretch of one version of a file, renamed into place when it is whole
//!  DIR/new/…              what is being written: an input's by a thread apart, an output's until its commit is known
//! ```
//!
//! | file | what |
//! |---|---|
//! | `key` | which bytes an entry holds |
//! | `entry` | how it is written and checked |
//! | `room` | what was not used for longest goes |
//! | `filling` | inputs enter beside the merge |
//! | `spool` | outputs enter after their commit |
//! | `input` | a file that is read through the cache |
//! | `figures` | hits, misses and bytes |

mod entry;
mod figures;
mod filling;
mod input;
mod key;
mod room;
mod spool;
#[cfg(test)]
mod tests;

pub use figures::{CacheReport, Counters};
pub use input::through;
pub use key::Key;
pub use spool::{Spool, Spools};

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use bytes::Bytes;

use entry::Bad;
use filling::Filler;
use room::Room;

/// A use is noted when the last one is this long ago: noting each would write as often as it is read.
const NOTED_AFTER: Duration = Duration::from_secs(60);

/// One entry takes at most this part of the cache.
const PARTS_MIN: u64 = 4;

/// A cache in a folder. Several processes may use one folder at once.
#[derive(Debug)]
pub struct Cache {
    shelf: Arc<Shelf>,
    filler: Filler,
}

/// The folder, and what is known of it.
#[derive(Debug)]
struct Shelf {
    dir: PathBuf,
    room: Room,
    counters: Counters,
}

impl Cache {
    /// In this folder, which is made where it is missing, and with at most so many bytes. A folder that cannot be written to is only
    /// read from.
    pub fn open(dir: &Path, bytes_max: u64) -> Result<Arc<Self>> {
        if dir.exists() && !dir.is_dir() {
            bail!("--cache {}: this is no folder", dir.display());
        }
        let made = ["entries", "new"].map(|part| fs::create_dir_all(dir.join(part)));
        if let Some(error) = made.into_iter().find_map(Result::err) {
            match dir.is_dir() {
                true => tracing::warn!("--cache {} is only read from: {error}", dir.display()),
                false => {
                    return Err(error).with_context(|| format!("--cache {} cannot be made", dir.display()));
                }
            }
        }
        let shelf = Arc::new(Shelf {
            dir: dir.to_owned(),
            room: Room::new(bytes_max),
            counters: Counters::default(),
        });
        shelf.room.look(&shelf.dir, 0);
        let filler = Filler::start(shelf.clone());
        Ok(Arc::new(Self { shelf, filler }))
    }

    /// Exactly this stretch of this version of a file, if it is here and whole.
    pub fn read(&self, key: &Key, offset: u64, length: usize) -> Option<Bytes> {
        if length == 0 {
            return None;
        }
        let stretch = key.stretch(offset, length as u64);
        let found = self.shelf.read(&stretch, 0, length);
        let found = found.or_else(|| self.shelf.read(&key.whole(), offset, length));
        self.shelf.counters.asked(found.as_ref().map(Bytes::len));
        found
    }

    /// A stretch that was read from the store. It enters beside the merge, and not at all where there is too much to do.
    pub fn keep(&self, key: &Key, offset: u64, bytes: &Bytes) {
        let length = bytes.len() as u64;
        if length > 0 && self.fits(length) {
            self.filler.take(key.stretch(offset, length), bytes.clone());
        }
    }

    /// Something that is being written, and enters only when its commit is known. None where nothing can be written.
    pub fn spool(self: &Arc<Self>) -> Option<Spool> {
        Spool::begin(self.clone())
    }

    /// These outputs are committed: they enter, beside everything else.
    pub fn enter(&self, spools: Arc<Spools>, outputs: Vec<(u32, Key)>) {
        self.filler.enter(spools, outputs);
    }

    /// Returns once what was to enter has entered, or this long has passed.
    pub fn settle(&self, patience: Duration) {
        self.filler.settle(patience);
    }

    /// What it was good for so far.
    pub fn counters(&self) -> &Counters {
        &self.shelf.counters
    }

    /// Bytes in the folder when it was last looked at, with what this process has added since.
    pub fn bytes(&self) -> u64 {
        self.shelf.room.used()
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.shelf.dir
    }

    /// The most that may lie there.
    pub fn bytes_max(&self) -> u64 {
        self.shelf.room.bytes_max()
    }

    fn fits(&self, length: u64) -> bool {
        length <= self.bytes_max() / PARTS_MIN
    }
}

impl Shelf {
    fn path(&self, text: &str) -> PathBuf {
        let name = key::file_name(text);
        self.dir.join("entries").join(&name[..2]).join(&name[2..])
    }

    fn read(&self, text: &str, offset: u64, length: usize) -> Option<Bytes> {
        let path = self.path(text);
        let file = File::open(&path).ok()?;
        match entry::read(&file, text, offset, length) {
            Ok(bytes) => {
                note_use(&file);
                Some(bytes)
            }
            Err(Bad::Damaged) => {
                tracing::warn!("{} is damaged, and dropped from the cache", path.display());
                self.counters.damaged();
                // Another process may have been quicker.
                let _gone_already = fs::remove_file(&path);
                None
            }
            // Not this stretch, or it went while it was read.
            Err(Bad::Absent) => None,
        }
    }

    /// A new name in the folder for what is not whole yet.
    fn new_name(&self) -> PathBuf {
        let unique = format!("{}-{:016x}", std::process::id(), baler_journal::host::chance());
        self.dir.join("new").join(unique)
    }

    /// Brings what is whole to its place. Whoever puts the same there at the same time puts the same bytes there.
    fn place(&self, new: &Path, text: &str) -> io::Result<()> {
        let length = fs::metadata(new)?.len();
        self.room.make(&self.dir, length);
        let path = self.path(text);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::rename(new, &path)?;
        self.room.took(length);
        self.counters.stored(length);
        Ok(())
    }
}

fn note_use(file: &File) {
    let used = file.metadata().and_then(|meta| meta.modified());
    let old = used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > NOTED_AFTER));
    if old {
        // Who may not write it does not count as a user.
        let _not_noted = file.set_modified(SystemTime::now());
    }
}
