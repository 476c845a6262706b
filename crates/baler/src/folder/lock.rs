//! Seeing at once that a watcher died. While it lives it holds an operating-system lock on a file of its own,
//! `_baler/watchers/<id>.lock`, which the system frees when the process ends, however it ends.
//!
//! A free lock is a proof only to somebody who would have seen it held. So the watcher registers where its lock can be
//! seen from: the boot of its kernel, the file system as that kernel numbers it, and the inode. Whoever finds the same
//! three looks at the very same lock:
//!
//! - after a reboot, or on another machine that shares the directory, the boot differs;
//! - containers on one kernel share its boot and its locks; but where each mounted the directory for itself (NFS with
//!   local locks, FUSE), the kernel keeps a lock for each mount, and numbers them apart. A number is given anew only
//!   after its mount is gone, and a living watcher's open lock file keeps it;
//! - in a copy of the directory, the inode differs.
//!
//! A missing lock file proves nothing, because anybody may have removed it; it costs waiting for the lease to run out.
//! So the file of a dead watcher is removed only after its leases have been taken over: whoever proves the death and
//! dies before that has not destroyed the proof.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use baler_core::file::FilePath;
use baler_core::ids::WatcherId;
use baler_core::lease::HostLock;

use crate::folder::moves::remove_if_there;
use crate::folder::{Folder, FolderError};

const WATCHERS: &str = "_baler/watchers";

/// How often a sweep may be quicker than the lock.
const TRIES_MAX: usize = 8;

/// The lock of this process, held until it is dropped or the process ends.
pub struct WatcherLock {
    /// Holds the lock. It is closed in child processes, so a merge that outlives its watcher does not keep it alive.
    _file: File,
    full: PathBuf,
    host: Option<HostLock>,
}

impl fmt::Debug for WatcherLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WatcherLock({})", self.full.display())
    }
}

impl WatcherLock {
    /// Makes and takes the lock of a watcher. Its id must be new, so nobody ever takes this name again.
    ///
    /// The file gets its name only when the lock is held: whoever finds it free has found a dead watcher, and not one
    /// that is about to lock.
    pub fn create(folder: &Folder, watcher: WatcherId) -> Result<Self, FolderError> {
        let path = FilePath::in_root(format!("{WATCHERS}/{watcher}.lock"));
        let full = folder.writable_path(&path)?;
        let unnamed = full.with_extension("new");
        let mut tries = 0;
        let (file, locked) = loop {
            folder.make_parents(&full)?;
            let (file, locked) = create_locked(&unnamed)?;
            match folder.moves.move_own(&unnamed, &full) {
                Ok(()) => break (file, locked),
                // Swept away before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES_MAX => tries += 1,
                Err(error) => return Err(FolderError::io("create", &full)(error)),
            }
        };
        let seen_from = seen_from(&file).map_err(FolderError::io("look at", &full))?;
        let host = seen_from.filter(|_| locked).map(|boot| HostLock {
            boot: boot.into(),
            lock: path.path,
        });
        Ok(Self {
            _file: file,
            full,
            host,
        })
    }

    /// What to register. `None` where this system gives no proof of a death.
    pub fn host(&self) -> Option<HostLock> {
        self.host.clone()
    }

    /// Leaves for good: removes the file. Only for a watcher that holds no lease any more; one that merely ends (or is
    /// dropped) leaves the file as the proof of its death.
    pub fn leave(self) -> Result<(), FolderError> {
        remove_if_there(&self.full).map_err(FolderError::io("remove", &self.full))
    }
}

/// A new file and whether it could be locked. Those who look whether it is held hold it for a moment themselves.
fn create_locked(unnamed: &Path) -> Result<(File, bool), FolderError> {
    let file = File::create_new(unnamed).map_err(FolderError::io("create", unnamed))?;
    match file.lock() {
        Ok(()) => Ok((file, true)),
        // Without locks, a watcher's death is seen when its lease has run out.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok((file, false)),
        Err(error) => Err(FolderError::io("lock", unnamed)(error)),
    }
}

/// Whether the watcher that registered this lock is dead for certain. `false` means only that nobody can tell.
pub fn is_dead(folder: &Folder, host: &HostLock) -> bool {
    lock_path(folder, host).is_some_and(|full| is_free(&full, host).unwrap_or(false))
}

fn is_free(full: &Path, host: &HostLock) -> io::Result<bool> {
    let file = File::open(full)?;
    if seen_from(&file)?.as_deref() != Some(&*host.boot) {
        return Ok(false);
    }
    // A shared lock, so that two who look at the same time do not take each other for the watcher.
    Ok(file.try_lock_shared().is_ok())
}

/// Removes the lock file of a dead watcher. Only after its leases have been taken over, or it had none.
pub fn remove_dead(folder: &Folder, host: &HostLock) -> Result<(), FolderError> {
    match lock_path(folder, host) {
        Some(full) if is_dead(folder, host) => {
            remove_if_there(&full).map_err(FolderError::io("remove", &full))
        }
        _ => Ok(()),
    }
}

/// Removes the lock files of watchers that the journal does not know and that nobody holds: they died before their
/// first lease, or after all of theirs were taken over. Returns how many.
///
/// A lock that only another machine can see held may be taken for one of these. That is harmless: a missing file is no
/// proof of anything.
pub fn remove_forgotten<'a>(
    folder: &Folder,
    known: impl IntoIterator<Item = &'a HostLock>,
) -> Result<usize, FolderError> {
    let known: Vec<_> = known
        .into_iter()
        .filter_map(|host| lock_path(folder, host))
        .collect();
    let watchers = folder.path().join(WATCHERS);
    let entries = match fs::read_dir(&watchers) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        result => result.map_err(FolderError::io("list", &watchers))?,
    };
    let mut removed = 0;
    for entry in entries {
        let full = entry.map_err(FolderError::io("list", &watchers))?.path();
        if !known.contains(&full) && is_lock_name(&full) && is_held_by_nobody(&full) {
            remove_if_there(&full).map_err(FolderError::io("remove", &full))?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn is_held_by_nobody(full: &Path) -> bool {
    File::open(full).is_ok_and(|file| file.try_lock_shared().is_ok())
}

fn is_lock_name(full: &Path) -> bool {
    let text = |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str().map(str::to_owned));
    let id = text(full.file_stem()).is_some_and(|id| id.parse::<WatcherId>().is_ok());
    id && matches!(text(full.extension()).as_deref(), Some("lock" | "new"))
}

/// Where a registered lock lies, if it is of the form that watchers register.
fn lock_path(folder: &Folder, host: &HostLock) -> Option<PathBuf> {
    let full = folder.full_path(&FilePath::in_root(host.lock.clone())).ok()?;
    (full.parent() == Some(&folder.path().join(WATCHERS)) && is_lock_name(&full)).then_some(full)
}

/// From where this file's lock can be seen: boot, file system, inode. `None` where the system does not tell its boots
/// apart.
fn seen_from(file: &File) -> io::Result<Option<String>> {
    let metadata = file.metadata()?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    Ok(boot.map(|boot| format!("{}:{:x}:{:x}", boot.trim(), metadata.dev(), metadata.ino())))
}

#[cfg(test)]
mod tests;
