//! Where a table's files lie: the root, and with `--output` the source that they come from.

use std::sync::Arc;

use baler_core::file::{FilePath, Identity, Place};

use crate::folder::{Folder, FolderError};

/// The folders of a table.
#[derive(Clone, Debug)]
pub struct Site {
    /// Holds the journal and everything that Baler writes.
    pub root: Arc<Folder>,
    /// Only read, never written to.
    pub source: Option<Arc<Folder>>,
}

impl Site {
    /// The folder that new files arrive in.
    pub fn inbox(&self) -> &Arc<Folder> {
        self.source.as_ref().unwrap_or(&self.root)
    }

    /// The folder that a path is counted from.
    pub fn folder_of(&self, path: &FilePath) -> &Arc<Folder> {
        match (path.place, &self.source) {
            (Place::Source, Some(source)) => source,
            _ => &self.root,
        }
    }

    /// Which version lies at a path now; `None` only where nothing does.
    pub fn identity_now(&self, path: &FilePath) -> Result<Option<Identity>, FolderError> {
        self.folder_of(path).identity_now(path)
    }
}
