//! What Baler asks of an object store, and nothing more. The journal needs only create-if-absent; everything else
//! (retries, rate limits, faults, metrics) is a store around a store.
//!
//! Paths are relative to the store, with `/` between folders, as in `_baler/journal/00000000000000000042`.

mod faulty;
mod local;
mod memory;
mod object;
mod words;

use std::fmt;

use async_trait::async_trait;
use baler_core::file::Identity;
use bytes::Bytes;
use futures::stream::BoxStream;

pub use faulty::{Call, Fault, FaultyStore, Gate, Operation};
pub use local::{LOCAL_ENDPOINT, LocalStore};
pub use memory::MemoryStore;
pub use object::{ObjectStoreStore, identity_of};
pub use words::words_of;

/// A place for objects.
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// What the store is reached through: two with the same text keep their promises in the same way.
    fn endpoint(&self) -> String;

    /// The whole object.
    async fn get(&self, path: &str) -> Result<Object, StoreError>;

    /// What is known of the object.
    async fn head(&self, path: &str) -> Result<ObjectMeta, StoreError>;

    /// Writes the object if there is none of that name; of several who try, one succeeds. Durable when it returns
    /// `Ok`, and never seen half written. Must not try again by itself: a second try meets the first one's object.
    async fn create(&self, path: &str, body: Bytes) -> Result<(), StoreError>;

    /// Every object below a folder whose path comes after `after` (all if that is empty), in any order; nothing if
    /// there is no such folder.
    fn list(&self, folder: &str, after: &str) -> BoxStream<'static, Result<ObjectMeta, StoreError>>;

    /// Removes the object; one that is not there is as good.
    async fn delete(&self, path: &str) -> Result<(), StoreError>;

    /// Makes durable what reads below this folder have shown. A directory shows an object a moment before it would
    /// survive a power cut; whoever acts on what he read calls this first. Stores that show only durable objects do
    /// nothing.
    async fn settle(&self, folder: &str) -> Result<(), StoreError>;
}

/// An object, read whole.
#[derive(Clone, Debug)]
pub struct Object {
    /// What is known of it.
    pub meta: ObjectMeta,
    /// Its content.
    pub bytes: Bytes,
}

impl Object {
    /// The content, if all of it came. A body can end early after a broken connection.
    pub fn whole(self) -> Result<(ObjectMeta, Bytes), StoreError> {
        let (came, stored) = (self.bytes.len() as u64, self.meta.identity.bytes);
        if came != stored {
            let reason = format!("{came} of {stored} bytes came");
            return Err(StoreError::Unknown {
                path: self.meta.path,
                reason,
            });
        }
        Ok((self.meta, self.bytes))
    }
}

/// What is known of an object without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Its path in the store.
    pub path: String,
    /// Which version it is, how long, and when the store wrote it.
    pub identity: Identity,
}

/// Why a store did not do as asked, by what the caller should do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no such object.
    #[error("{path} does not exist")]
    NotFound {
        /// The object.
        path: String,
    },
    /// The name is taken; by whom, a read says. On some stores also said where nothing is: read, then try again.
    #[error("{path} exists already")]
    AlreadyExists {
        /// The object.
        path: String,
    },
    /// The right is missing.
    #[error("no permission for {path}: {reason}; grant it and try again")]
    Denied {
        /// The object.
        path: String,
        /// In the store's words.
        reason: String,
    },
    /// Nothing can be written here at all.
    #[error("{path} cannot be written, the store is read-only; make it writable and try again")]
    ReadOnly {
        /// The object.
        path: String,
    },
    /// There is no space.
    #[error("no space left to write {path}; free some and try again")]
    Full {
        /// The object.
        path: String,
    },
    /// It failed, and a write may or may not have happened or may happen yet. A read can be tried again.
    #[error("{path}: {reason}")]
    Unknown {
        /// The object.
        path: String,
        /// In the store's words.
        reason: String,
    },
    /// The store cannot do this, now or later.
    #[error("{path}: {reason}")]
    Unsupported {
        /// The object.
        path: String,
        /// In the store's words.
        reason: String,
    },
}

impl StoreError {
    /// Sorts an operating system's error.
    pub fn from_io(path: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        let path = path.to_owned();
        match error.kind() {
            Kind::NotFound => Self::NotFound { path },
            Kind::AlreadyExists => Self::AlreadyExists { path },
            Kind::PermissionDenied => Self::Denied {
                path,
                reason: error.to_string(),
            },
            Kind::ReadOnlyFilesystem => Self::ReadOnly { path },
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Self::Full { path },
            Kind::Unsupported | Kind::InvalidFilename | Kind::NotADirectory | Kind::IsADirectory => {
                Self::Unsupported {
                    path,
                    reason: error.to_string(),
                }
            }
            _ => Self::Unknown {
                path,
                reason: error.to_string(),
            },
        }
    }
}
