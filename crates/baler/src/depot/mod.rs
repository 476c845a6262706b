//! Where files lie: a local folder, or a prefix of a bucket. Discovery, worker and collector ask for the same few things
//! of both, and need not know which it is.
//!
//! ```text
//! walk ─▶ inspect ─▶ open_input ─▶ create_output ─▶ publish ─▶ set_aside ─▶ delete
//! ```

mod bucket;
mod error;
mod found;
mod io;
mod local;
mod outcome;
pub(crate) mod own;
mod scratch;

pub(crate) use bucket::refuse as bucket_refuse;
pub use bucket::{BucketDepot, BucketError, Swept, is_left_over};
pub use error::{DepotError, InputError};
pub use found::{DataFile, Found, Namer, Object, SkipReason};
pub use io::{Input, Output};
pub use outcome::{Aside, Back, Deleted, Deletion, Publication, Staged, ToSetAside};
pub use scratch::Scratch;

use std::fmt;
use std::io::Result as IoResult;
use std::sync::Arc;

use baler_core::file::{Digest, File, FilePath, Identity, Place};
use baler_core::ids::JournalId;
use baler_core::names::{Attempt, STAGING_FOLDER, TABLES_FOLDER};
use baler_journal::store::Store;
#[cfg(feature = "parquet")]
use baler_merge::{Facts, FileError};
use futures::stream::BoxStream;

use crate::folder::Folder;
#[cfg(feature = "parquet")]
use crate::spec::Asked;
use crate::store::{Kind, PriceList, Usage};

/// Where files lie.
#[derive(Clone, Debug)]
pub enum Depot {
    /// A local folder.
    Folder(Arc<Folder>),
    /// A prefix of a bucket.
    Bucket(Arc<BucketDepot>),
}

impl Depot {
    /// Whether this is the root or a source.
    pub fn place(&self) -> Place {
        match self {
            Self::Folder(folder) => folder.place(),
            Self::Bucket(bucket) => bucket.place(),
        }
    }

    /// The store that holds the journal, if this is a root.
    pub fn journal_store(&self) -> Result<Arc<dyn Store>, baler_journal::store::StoreError> {
        match self {
            Self::Folder(folder) => local::journal_store(folder),
            Self::Bucket(bucket) => Ok(bucket.bucket().journal_store()),
        }
    }

    /// Every data file, in a fixed order: folders are whole stretches of it. Ends with an error where a folder could
    /// not be read; the listing goes on behind one that is forbidden, but it is not complete then.
    pub fn walk(&self, journal: Option<JournalId>) -> BoxStream<'static, Result<Found, DepotError>> {
        match self {
            Self::Folder(folder) => local::walk(folder.clone(), journal),
            Self::Bucket(bucket) => bucket.walk(journal),
        }
    }

    /// Every object, whatever it is called, in any order.
    pub async fn everything(&self) -> Result<Vec<Object>, DepotError> {
        match self {
            Self::Folder(folder) => local::everything(folder).await,
            Self::Bucket(bucket) => Ok(bucket.everything().await?),
        }
    }

    /// How many files may be looked at at once.
    pub fn looks_at_once(&self) -> usize {
        match self {
            Self::Folder(_) => local::LOOKS_AT_ONCE,
            Self::Bucket(_) => bucket::LOOKS_AT_ONCE,
        }
    }

    /// What the footer of this version of a file says.
    #[cfg(feature = "parquet")]
    pub async fn inspect(
        &self,
        path: &FilePath,
        identity: &Identity,
        asked: &Arc<Asked>,
    ) -> Result<Result<Facts, FileError>, InputError> {
        match self {
            Self::Folder(folder) => local::inspect(folder, path, identity, asked).await,
            Self::Bucket(bucket) => bucket.inspect(path, identity, asked).await,
        }
    }

    /// Which version lies at a path now; `None` only where nothing does.
    pub async fn identity_now(&self, path: &FilePath) -> Result<Option<Identity>, DepotError> {
        match self {
            Self::Folder(folder) => local::identity_now(folder, path).await,
            Self::Bucket(bucket) => Ok(bucket.identity_now(path).await?),
        }
    }

    /// Which version of a file that the state knows lies at its path now.
    pub async fn version_now(&self, file: &File) -> Result<Option<Identity>, DepotError> {
        match self {
            Self::Folder(folder) => local::version_now(folder, file).await,
            Self::Bucket(bucket) => Ok(bucket.version_now(file).await?),
        }
    }

    /// This version of a file, for the engine.
    pub async fn open_input(&self, file: &File) -> Result<Arc<dyn Input>, InputError> {
        match self {
            Self::Folder(folder) => local::open_input(folder, file).await,
            Self::Bucket(bucket) => Ok(bucket.open_input(file)),
        }
    }

    /// Memory that an output takes while it is written.
    pub fn output_bytes_held(&self) -> u64 {
        match self {
            Self::Folder(_) => 0,
            Self::Bucket(_) => bucket::OUTPUT_BYTES_HELD,
        }
    }

    /// What writing an output of this length asks of a store: requests of which kind, and how many.
    pub fn requests_to_write(&self, bytes: u64) -> (Kind, u64) {
        match self {
            Self::Folder(_) => (Kind::Put, 0),
            Self::Bucket(_) => bucket::requests_to_write(bytes),
        }
    }

    /// A new file of an attempt's own, for the engine: called from a thread that may block.
    pub fn create_output(&self, path: FilePath) -> Result<Box<dyn Output>, DepotError> {
        match self {
            Self::Folder(folder) => local::create_output(folder, path),
            Self::Bucket(bucket) => Ok(bucket.create_output(&path)?),
        }
    }

    /// A folder on this machine for rows that do not fit in memory; it goes when it is dropped.
    pub fn scratch(&self, attempt: &Attempt) -> IoResult<Scratch> {
        match self {
            Self::Folder(folder) => {
                Scratch::create(folder.path().join(attempt.staging_folder()).join("spill"))
            }
            Self::Bucket(_) => Scratch::temporary(attempt),
        }
    }

    /// Brings an output to its final name. Called again after a crash, at any point, it ends the same.
    pub async fn publish(&self, staged: &Staged, output: &FilePath) -> Result<Publication, DepotError> {
        match self {
            Self::Folder(folder) => local::publish(folder, staged, output).await,
            Self::Bucket(bucket) => Ok(bucket.publish(staged, output).await?),
        }
    }

    /// Takes consumed files out of the readers' sight. One that fails does not keep the others from it.
    pub async fn set_aside(
        &self,
        files: Vec<ToSetAside>,
    ) -> Result<Vec<Result<Aside, DepotError>>, DepotError> {
        match self {
            Self::Folder(folder) => local::set_aside(folder, files).await,
            Self::Bucket(_) => Ok(files.into_iter().map(|file| Err(no_renames(file))).collect()),
        }
    }

    /// Copies files that were set aside back to where they lay. One that fails does not keep the others from it.
    pub async fn bring_back(
        &self,
        files: Vec<ToSetAside>,
    ) -> Result<Vec<Result<Back, DepotError>>, DepotError> {
        match self {
            Self::Folder(folder) => local::bring_back(folder, files).await,
            Self::Bucket(_) => Ok(files.into_iter().map(|file| Err(no_renames(file))).collect()),
        }
    }

    /// Deletes what is on a durable list. One that fails does not keep the others from it.
    pub async fn delete(
        &self,
        journal: JournalId,
        list: Vec<Deletion>,
    ) -> Result<Vec<Result<Deleted, DepotError>>, DepotError> {
        match self {
            Self::Folder(folder) => local::delete(folder, journal, list).await,
            Self::Bucket(bucket) => {
                let outcomes = bucket.delete(journal, list).await;
                Ok(outcomes.into_iter().map(|outcome| Ok(outcome?)).collect())
            }
        }
    }

    /// All that an ended attempt has left in its own folders, in order.
    pub async fn left_behind(&self, folders: &[String]) -> Result<Vec<FilePath>, DepotError> {
        match self {
            Self::Folder(folder) => local::left_behind(folder, folders).await,
            Self::Bucket(bucket) => Ok(bucket.left_behind(folders).await?),
        }
    }

    /// Every object in the folders of native tables, in order: whatever wrote it, and whatever format it is of.
    pub async fn in_tables(&self) -> Result<Vec<FilePath>, DepotError> {
        match self {
            Self::Folder(folder) => local::in_tables(folder).await,
            Self::Bucket(bucket) => Ok(bucket.left_behind(&[TABLES_FOLDER.to_owned()]).await?),
        }
    }

    /// Every staged file of every attempt, in order.
    pub async fn in_staging(&self) -> Result<Vec<FilePath>, DepotError> {
        match self {
            Self::Folder(folder) => local::in_staging(folder).await,
            Self::Bucket(bucket) => Ok(bucket.left_behind(&[STAGING_FOLDER.to_owned()]).await?),
        }
    }

    /// Takes away what an ended attempt left in its own folders beside files: empty folders, unfinished uploads.
    /// While this fails there may be something left.
    pub async fn tidy(&self, folders: &[String]) -> Result<(), DepotError> {
        match self {
            Self::Folder(folder) => {
                local::tidy(folder, folders).await;
                Ok(())
            }
            Self::Bucket(bucket) => Ok(bucket.tidy(folders).await?),
        }
    }

    /// XXH3-128 of a file's bytes.
    pub async fn checksum(&self, path: &FilePath) -> Result<Digest, DepotError> {
        match self {
            Self::Folder(folder) => local::checksum(folder, path).await,
            Self::Bucket(bucket) => Ok(bucket.checksum(path).await?),
        }
    }

    /// What requests cost here; nothing in a folder.
    pub fn prices(&self) -> Option<PriceList> {
        match self {
            Self::Folder(_) => None,
            Self::Bucket(bucket) => Some(PriceList::of(bucket.bucket().url().scheme())),
        }
    }

    /// What was asked of the store so far, with the prices there.
    pub fn usage(&self) -> Option<(Usage, PriceList)> {
        match self {
            Self::Folder(_) => None,
            Self::Bucket(bucket) => Some((bucket.bucket().usage(), self.prices()?)),
        }
    }

    /// A child process asked this much more of the store.
    pub fn charge(&self, more: &Usage) {
        if let Self::Bucket(bucket) = self {
            bucket.bucket().charge(more);
        }
    }

    /// What its owner should know before replaced files are deleted here.
    pub async fn warnings(&self) -> Vec<String> {
        match self {
            Self::Folder(_) => Vec::new(),
            Self::Bucket(bucket) => bucket.bucket().warnings().await,
        }
    }

    /// The local folder, if it is one.
    pub fn as_folder(&self) -> Option<&Arc<Folder>> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Bucket(_) => None,
        }
    }
}

/// Tables in buckets say that replaced files are deleted, never that they are set aside.
fn no_renames(file: ToSetAside) -> DepotError {
    let path = file.original.path;
    BucketError::NoRenames { path }.into()
}

impl fmt::Display for Depot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.path().display().fmt(f),
            Self::Bucket(bucket) => bucket.bucket().url().fmt(f),
        }
    }
}
