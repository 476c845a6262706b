//! Making names durable. A rename or a new file is on disk only when its folder has been synced; a new folder, only
//! when the one above it has.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::folder::{Folder, FolderError};

/// Folders in which names were changed. Many changes in one folder cost one sync.
#[derive(Debug, Default)]
#[must_use = "nothing is durable before `sync`"]
pub(super) struct Changed {
    folders: BTreeSet<PathBuf>,
}

impl Changed {
    /// A name below the root changed: its folder, and all above it that may be new.
    pub(super) fn name(&mut self, folder: &Folder, full: &Path) {
        for parent in full.ancestors().skip(1) {
            if !self.folders.insert(parent.into()) || parent == folder.path() {
                return;
            }
        }
    }

    /// Returns when everything noted is on disk.
    pub(super) fn sync(self) -> Result<(), FolderError> {
        self.folders
            .iter()
            .rev()
            .try_for_each(|folder| sync_folder(folder))
    }
}

/// Syncs the folder `low` and all above it, up to and with `high`.
pub(super) fn sync_between(low: &Path, high: &Path) -> Result<(), FolderError> {
    for folder in low.ancestors().take_while(|part| part.starts_with(high)) {
        sync_folder(folder)?;
    }
    Ok(())
}

fn sync_folder(folder: &Path) -> Result<(), FolderError> {
    match File::open(folder).and_then(|handle| handle.sync_all()) {
        // Whoever removed the folder removed the names in it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // Some network file systems know no sync of a folder: their names are durable at once, or never.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::NOTSUP)) => Ok(()),
        result => result.map_err(FolderError::io("sync", folder)),
    }
}
