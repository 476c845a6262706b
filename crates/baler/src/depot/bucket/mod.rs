//! A prefix of a bucket as a depot. There are no renames here: outputs are published by a copy on the server's side, and
//! replaced inputs are deleted by condition.

mod delete;
mod error;
#[cfg(feature = "parquet")]
mod footer;
mod input;
mod output;
mod probes;
mod publish;
pub(crate) mod refuse;
mod walk;

pub use error::BucketError;
pub(super) use output::{HELD_BYTES as OUTPUT_BYTES_HELD, requests_to_write};
pub use probes::{Swept, is_left_over};

use std::sync::Arc;

use baler_core::file::{Digest, File, FilePath, Identity, Origin, Place};
use baler_core::ids::JournalId;
use baler_core::time::StoreTime;
use baler_journal::store::StoreError;
#[cfg(feature = "parquet")]
use baler_merge::{Facts, FileError};
use futures::stream::BoxStream;
use object_store::ObjectStore;
use object_store::path::Path;
use tokio::runtime::Handle;

#[cfg(feature = "parquet")]
use super::InputError;
use super::{Deleted, Deletion, DepotError, Found, Input, Object, Output, Publication, Staged};
#[cfg(feature = "parquet")]
use crate::spec::Asked;
use crate::store::{Bucket, Purpose};

/// Requests of one kind under way at once. The bucket's own limit is shared by all kinds.
pub(super) const LOOKS_AT_ONCE: usize = 96;

/// A prefix of a bucket, for a root or a source.
#[derive(Clone, Debug)]
pub struct BucketDepot {
    bucket: Bucket,
    place: Place,
    /// Merges run on threads of their own, and send their requests from there.
    runtime: Handle,
}

impl BucketDepot {
    /// Must be called inside the runtime that will send the requests.
    pub fn new(bucket: Bucket, place: Place) -> Self {
        Self {
            bucket,
            place,
            runtime: Handle::current(),
        }
    }

    /// The bucket.
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// Whether this is the root or a source.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Whether there is a journal with something in it.
    pub(crate) async fn holds_journal(&self) -> Result<bool, BucketError> {
        walk::holds_anything(self, "_baler/journal").await
    }

    pub(super) fn walk(&self, journal: Option<JournalId>) -> BoxStream<'static, Result<Found, DepotError>> {
        walk::walk(self, journal)
    }

    #[cfg(feature = "parquet")]
    pub(super) async fn inspect(
        &self,
        path: &FilePath,
        identity: &Identity,
        asked: &Asked,
    ) -> Result<Result<Facts, FileError>, InputError> {
        footer::inspect(self, path, identity, asked).await
    }

    pub(super) async fn everything(&self) -> Result<Vec<Object>, BucketError> {
        walk::everything(self).await
    }

    pub(super) async fn identity_now(&self, path: &FilePath) -> Result<Option<Identity>, BucketError> {
        Ok(self.bucket.identity(&path.path).await?)
    }

    /// A copy that a publisher of the same job made a second time has the same bytes and another time: outputs of
    /// Baler's own are known by their names, which are used once.
    pub(super) async fn version_now(&self, file: &File) -> Result<Option<Identity>, BucketError> {
        let now = self.identity_now(&file.path).await?;
        let same = |now: &Identity| file.origin != Origin::Foreign && now.bytes == file.identity.bytes;
        Ok(now.map(|now| if same(&now) { file.identity.clone() } else { now }))
    }

    pub(super) fn open_input(&self, file: &File) -> Arc<dyn Input> {
        Arc::new(input::BucketInput::new(self, file))
    }

    pub(super) fn create_output(&self, path: &FilePath) -> Result<Box<dyn Output>, BucketError> {
        output::create(self, path)
    }

    pub(super) async fn publish(
        &self,
        staged: &Staged,
        output: &FilePath,
    ) -> Result<Publication, BucketError> {
        publish::publish(self, staged, output).await
    }

    pub(super) async fn delete(
        &self,
        journal: JournalId,
        list: Vec<Deletion>,
    ) -> Vec<Result<Deleted, BucketError>> {
        delete::delete_all(self, journal, list).await
    }

    pub(super) async fn left_behind(&self, folders: &[String]) -> Result<Vec<FilePath>, BucketError> {
        let mut found = Vec::new();
        for folder in folders {
            found.extend(walk::names_below(self, folder).await?);
        }
        Ok(found)
    }

    /// Parts of unfinished uploads are invisible, and cost money until they are aborted.
    pub(super) async fn tidy(&self, folders: &[String]) -> Result<(), BucketError> {
        for folder in folders {
            match self.bucket.abort_uploads(folder).await {
                Ok(_) => {}
                // It will not be otherwise the next time: a lifecycle rule of the bucket must do it.
                Err(error @ (StoreError::Denied { .. } | StoreError::Unsupported { .. })) => {
                    tracing::warn!("unfinished uploads below {folder} may be left: {error}");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes away what probes left that died; without a present, all there is.
    pub async fn sweep_probes(&self, present: Option<StoreTime>) -> Result<Swept, BucketError> {
        probes::sweep(self, present).await
    }

    pub(super) async fn checksum(&self, path: &FilePath) -> Result<Digest, BucketError> {
        input::checksum(self, path).await
    }

    fn objects(&self, purpose: Purpose) -> Arc<dyn ObjectStore> {
        self.bucket.objects(purpose)
    }

    fn file_path(&self, path: &str) -> FilePath {
        FilePath {
            place: self.place,
            path: path.into(),
        }
    }

    /// Where something is to be written or deleted: only ever in the root.
    fn writable(&self, path: &FilePath) -> Result<Path, BucketError> {
        match (self.place, path.place) {
            (Place::Root, Place::Root) => location(path),
            _ => Err(BucketError::SourceIsReadOnly { path: path.clone() }),
        }
    }
}

/// A path of the journal as the store writes it.
fn location(path: &FilePath) -> Result<Path, BucketError> {
    let parsed = Path::parse(&*path.path).ok();
    let same = parsed.filter(|parsed| parsed.as_ref() == &*path.path);
    same.ok_or_else(|| BucketError::OddPath { path: path.clone() })
}
