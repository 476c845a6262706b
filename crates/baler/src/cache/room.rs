//! The cache is bounded. What was not used for longest goes first, as the times of the files say: these all processes share, and
//! nothing else. Several may look and remove at once; one that finds something gone is content.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// What a look leaves is this much below the bound, so that the next one is not due at once: a tenth.
const SLACK: u64 = 10;

/// Other processes fill the same folder: it is looked at anew after this part of the bound was added here.
const LOOK_AFTER: u64 = 16;

/// What was begun and not touched for this long belongs to a process that is no more.
const FORSAKEN_AFTER: Duration = Duration::from_secs(3_600);

#[derive(Debug)]
pub(super) struct Room {
    bytes_max: u64,
    used: AtomicU64,
    added: AtomicU64,
}

/// An entry, as the folder shows it.
struct Shown {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

impl Room {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            used: AtomicU64::new(0),
            added: AtomicU64::new(0),
        }
    }

    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// So much was added.
    pub(super) fn took(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.added.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Makes room for so much more.
    pub(super) fn make(&self, dir: &Path, bytes: u64) {
        let full = self.used() + bytes > self.bytes_max;
        if full || self.added.load(Ordering::Relaxed) > self.bytes_max / LOOK_AFTER {
            self.look(dir, bytes);
        }
    }

    /// Looks at what is there, and removes what is too much.
    pub(super) fn look(&self, dir: &Path, wanted: u64) {
        self.added.store(0, Ordering::Relaxed);
        let mut shown = entries(dir);
        let mut sum: u64 = shown.iter().map(|entry| entry.bytes).sum();
        if sum + wanted > self.bytes_max {
            let aim = (self.bytes_max - self.bytes_max / SLACK).saturating_sub(wanted);
            shown.sort_by_key(|entry| entry.used);
            for entry in shown {
                if sum <= aim {
                    break;
                }
                // Whether this process removed it or another: it is gone.
                let _gone_already = fs::remove_file(&entry.path);
                sum -= entry.bytes;
            }
        }
        self.used.store(sum, Ordering::Relaxed);
        remove_forsaken(&dir.join("new"));
    }
}

fn entries(dir: &Path) -> Vec<Shown> {
    let folders = fs::read_dir(dir.join("entries")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let shown = files.filter_map(|file| {
        let meta = file.metadata().ok()?;
        Some(Shown {
            used: meta.modified().ok()?,
            bytes: meta.len(),
            path: file.path(),
        })
    });
    shown.collect()
}

fn remove_forsaken(new: &Path) {
    for file in fs::read_dir(new).into_iter().flatten().flatten() {
        let touched = file.metadata().and_then(|meta| meta.modified());
        let age = touched.ok().and_then(|touched| touched.elapsed().ok());
        if age.is_some_and(|age| age > FORSAKEN_AFTER) {
            let _gone_already = fs::remove_file(file.path());
        }
    }
}
