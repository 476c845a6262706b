//! The bucket of a binary without cloud stores: it cannot be opened, and says why.

use std::convert::Infallible;
use std::sync::Arc;

use baler_core::file::Identity;
use baler_journal::store::{Store, StoreError};
use object_store::ObjectStore;

use super::{BucketUrl, DeleteIf, ObjectFacts, OpenError, OutputSettings, Purpose, Usage, Variables};

/// A bucket. There is none in this binary.
#[derive(Clone, Debug)]
pub struct Bucket(Infallible);

impl Bucket {
    /// Always an error that says how to build Baler with cloud stores.
    pub fn open(url: &BucketUrl) -> Result<Self, OpenError> {
        Err(OpenError::NotBuiltIn { url: url.to_string() })
    }

    /// As `open`.
    pub fn open_with(url: &BucketUrl, _: &Variables, _: OutputSettings) -> Result<Self, OpenError> {
        Self::open(url)
    }

    /// Where it is.
    pub fn url(&self) -> &BucketUrl {
        match self.0 {}
    }

    /// The journal's store.
    pub fn journal_store(&self) -> Arc<dyn Store> {
        match self.0 {}
    }

    /// The store for a purpose.
    pub fn objects(&self, _: Purpose) -> Arc<dyn ObjectStore> {
        match self.0 {}
    }

    /// Which version of an object is there.
    pub async fn identity(&self, _: &str) -> Result<Option<Identity>, StoreError> {
        match self.0 {}
    }

    /// Deletes one version of an object.
    pub async fn delete_if(&self, _: &str, _: &Identity) -> Result<DeleteIf, StoreError> {
        match self.0 {}
    }

    /// Whether the store deletes by condition.
    pub async fn can_delete_if(&self) -> Result<bool, StoreError> {
        match self.0 {}
    }

    /// What was sent and received.
    pub fn usage(&self) -> Usage {
        match self.0 {}
    }

    /// A child process asked this much more.
    pub fn charge(&self, _: &Usage) {
        match self.0 {}
    }

    /// Ends incomplete uploads.
    pub async fn abort_uploads(&self, _: &str) -> Result<u64, StoreError> {
        match self.0 {}
    }

    /// Names of uploads that were left open.
    pub async fn open_uploads(&self) -> Result<Option<Vec<String>>, StoreError> {
        match self.0 {}
    }

    /// What an operator should know of the bucket.
    pub async fn warnings(&self) -> Vec<String> {
        match self.0 {}
    }

    /// What the store tells of an object.
    pub async fn describe(&self, _: &str) -> Result<Option<ObjectFacts>, StoreError> {
        match self.0 {}
    }
}
