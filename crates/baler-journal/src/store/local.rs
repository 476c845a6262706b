//! A directory. `object_store`'s own does what is needed once fsync is on: the object is written and synced under a
//! name of its own, hard-linked to its final name (which fails if that is taken), and the folder is synced. So a
//! crash never leaves half an object under a final name. It lists no temporary names.
//!
//! What it leaves open is closed by `settle`: between the link and the sync of the folder others can read an entry
//! that a power cut would still take away.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;

use super::{Object, ObjectMeta, ObjectStoreStore, Store, StoreError};

/// The endpoint of every directory.
pub const LOCAL_ENDPOINT: &str = "file";

/// A directory on this machine.
#[derive(Debug)]
pub struct LocalStore {
    root: PathBuf,
    objects: ObjectStoreStore,
}

impl LocalStore {
    /// A directory that exists.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, StoreError> {
        let shown = root.as_ref().display().to_string();
        let root = root
            .as_ref()
            .canonicalize()
            .map_err(|e| StoreError::from_io(&shown, &e))?;
        let files = LocalFileSystem::new_with_prefix(&root).map_err(|error| StoreError::Unsupported {
            path: shown,
            reason: error.to_string(),
        })?;
        let files = Arc::new(files.with_fsync(true));
        Ok(Self {
            root,
            objects: ObjectStoreStore::new(LOCAL_ENDPOINT, files),
        })
    }

    /// The directory, made absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

#[async_trait]
impl Store for LocalStore {
    fn endpoint(&self) -> String {
        self.objects.endpoint()
    }

    async fn get(&self, path: &str) -> Result<Object, StoreError> {
        self.objects.get(path).await
    }

    async fn head(&self, path: &str) -> Result<ObjectMeta, StoreError> {
        self.objects.head(path).await
    }

    async fn create(&self, path: &str, body: Bytes) -> Result<(), StoreError> {
        self.objects.create(path, body).await
    }

    fn list(&self, folder: &str, after: &str) -> BoxStream<'static, Result<ObjectMeta, StoreError>> {
        self.objects.list(folder, after)
    }

    async fn delete(&self, path: &str) -> Result<(), StoreError> {
        self.objects.delete(path).await
    }

    async fn settle(&self, folder: &str) -> Result<(), StoreError> {
        let (root, shown) = (self.root.clone(), folder.to_owned());
        let synced = tokio::task::spawn_blocking(move || sync_folders(&root, &shown)).await;
        synced.unwrap_or_else(|error| {
            Err(StoreError::Unknown {
                path: folder.to_owned(),
                reason: error.to_string(),
            })
        })
    }
}

/// From the folder up to the root: a folder is only as durable as its name in the one above.
fn sync_folders(root: &Path, folder: &str) -> Result<(), StoreError> {
    let deepest = root.join(folder);
    for folder in deepest.ancestors().take_while(|folder| folder.starts_with(root)) {
        match File::open(folder).and_then(|file| file.sync_all()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::from_io(&folder.display().to_string(), &error));
            }
            _ => {}
        }
    }
    Ok(())
}
