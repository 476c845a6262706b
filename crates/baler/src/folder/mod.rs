//! What Baler does in a plain local directory: finding data, reading it, and moving names about so that a crash at
//! any point loses nothing.
//!
//! ```text
//! refuse ─▶ walk ─▶ input ─▶ staging ─▶ publish ─▶ aside ─▶ delete          lock (who is alive), home (whether this is a copy)
//! ```
//!
//! Everything here blocks, and so belongs on a blocking thread. Others may write in the same directory at any
//! moment. Hence two rules: a name that somebody else may hold is never replaced, and never unlinked; it is only
//! ever renamed away and then looked at.

mod error;
pub mod identity;
mod moves;
mod rooms;
mod sync;

pub mod listing;
pub mod refuse;
pub mod walk;

pub mod input;
pub mod staging;

pub mod aside;
pub mod back;
pub mod delete;
pub mod publish;

pub mod home;
pub mod lock;
pub mod scratch;

pub use error::{FolderError, advice};

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use baler_core::file::{FilePath, Identity, Place};

use crate::folder::identity::identity;

/// A directory that is known to exist, under its one canonical name.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    place: Place,
    device: u64,
    inode: u64,
    moves: moves::Moves,
    rooms: rooms::Rooms,
}

impl Folder {
    /// Opens the folder that holds the journal.
    pub fn open_root(path: &Path) -> Result<Self, FolderError> {
        Self::open(path, Place::Root)
    }

    /// Opens the folder that a table with `--output` reads from. Nothing is ever written to it.
    pub fn open_source(path: &Path) -> Result<Self, FolderError> {
        Self::open(path, Place::Source)
    }

    /// Makes the folder where it is missing, durably, and opens it as a root. Check it with
    /// [`refuse::check_overlap`] first.
    pub fn create_root(path: &Path) -> Result<Self, FolderError> {
        let existing = path.ancestors().find(|part| part.is_dir());
        fs::create_dir_all(path).map_err(FolderError::io("create", path))?;
        let folder = Self::open_root(path)?;
        if let Some(existing) = existing {
            let existing = fs::canonicalize(existing).unwrap_or_else(|_| folder.path.clone());
            sync::sync_between(&folder.path, &existing)?;
        }
        Ok(folder)
    }

    fn open(path: &Path, place: Place) -> Result<Self, FolderError> {
        let canonical = fs::canonicalize(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => FolderError::Missing { path: path.into() },
            _ => FolderError::io("open", path)(source),
        })?;
        let metadata = fs::metadata(&canonical).map_err(FolderError::io("open", &canonical))?;
        if !metadata.is_dir() {
            return Err(FolderError::NotADirectory { path: canonical });
        }
        fs::read_dir(&canonical).map_err(FolderError::io("list", &canonical))?;
        Ok(Self {
            path: canonical,
            place,
            device: metadata.dev(),
            inode: metadata.ino(),
            moves: moves::Moves::default(),
            rooms: rooms::Rooms::default(),
        })
    }

    /// The canonical absolute path: no links, no `..`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this is the root or a source.
    pub fn place(&self) -> Place {
        self.place
    }

    /// A path of this folder, as the journal writes it.
    pub fn file_path(&self, path: &str) -> FilePath {
        FilePath {
            place: self.place,
            path: path.into(),
        }
    }

    /// Where a path of the journal lies on disk. It can never lead out of the folder.
    pub fn full_path(&self, path: &FilePath) -> Result<PathBuf, FolderError> {
        let stays_inside = path
            .path
            .split('/')
            .all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'));
        if path.place != self.place || !stays_inside {
            return Err(FolderError::NotInside {
                path: path.clone(),
                folder: self.path.clone(),
            });
        }
        Ok(self.path.join(&*path.path))
    }

    /// Which version lies at this path now. `None` only where nothing does: not where it could not be seen, and not
    /// where the whole folder has gone (an unmounted disk has lost no file).
    pub fn identity_now(&self, path: &FilePath) -> Result<Option<Identity>, FolderError> {
        self.head(&self.full_path(path)?)
    }

    fn head(&self, full: &Path) -> Result<Option<Identity>, FolderError> {
        match fs::symlink_metadata(full) {
            Ok(metadata) => Ok(Some(identity(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.check_still_there()?;
                Ok(None)
            }
            Err(error) => Err(FolderError::io("look at", full)(error)),
        }
    }

    /// Fails if another directory, or none, lies at the path by now.
    pub fn check_still_there(&self) -> Result<(), FolderError> {
        match fs::metadata(&self.path) {
            Ok(now) if (now.dev(), now.ino()) == (self.device, self.inode) => Ok(()),
            _ => Err(FolderError::Replaced {
                path: self.path.clone(),
            }),
        }
    }

    /// Where a path of the root lies, for those who will write there.
    fn writable_path(&self, path: &FilePath) -> Result<PathBuf, FolderError> {
        if self.place == Place::Source {
            return Err(FolderError::SourceIsReadOnly { path: path.clone() });
        }
        self.full_path(path)
    }

    /// Makes the folders above `full`. They must really lie in this folder: one that has become a link in the
    /// meantime would lead the file astray.
    fn make_parents(&self, full: &Path) -> Result<(), FolderError> {
        let parent = full.parent().unwrap_or(&self.path);
        self.check_still_there()?;
        fs::create_dir_all(parent).map_err(FolderError::io("create", parent))?;
        let real = fs::canonicalize(parent).map_err(FolderError::io("open", parent))?;
        if real != parent {
            return Err(FolderError::BehindALink {
                path: parent.into(),
                real,
            });
        }
        Ok(())
    }

    /// This folder as a file system without "rename, but do not replace" would offer it.
    #[cfg(test)]
    pub(crate) fn without_no_replace(mut self) -> Self {
        self.moves = moves::Moves::Fallback;
        self
    }
}

#[cfg(test)]
mod tests;
