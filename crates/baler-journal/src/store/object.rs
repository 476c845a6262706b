//! Any store of the `object_store` crate. It must have been built without inner retries: a retry of a create whose
//! first try was applied is told that the name is taken, by its own object.

use std::error::Error as _;
use std::sync::Arc;

use async_trait::async_trait;
use baler_core::file::Identity;
use baler_core::time::StoreTime;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use super::{Object, ObjectMeta, Store, StoreError, words_of};

/// An `object_store` store.
#[derive(Debug)]
pub struct ObjectStoreStore {
    endpoint: String,
    objects: Arc<dyn ObjectStore>,
}

impl ObjectStoreStore {
    /// Around a store that never tries again by itself, reached through this endpoint.
    pub fn new(endpoint: impl Into<String>, objects: Arc<dyn ObjectStore>) -> Self {
        Self {
            endpoint: endpoint.into(),
            objects,
        }
    }
}

#[async_trait]
impl Store for ObjectStoreStore {
    fn endpoint(&self) -> String {
        self.endpoint.clone()
    }

    async fn get(&self, path: &str) -> Result<Object, StoreError> {
        let answer = self
            .objects
            .get(&parse(path)?)
            .await
            .map_err(|e| StoreError::from_object_store(path, &e))?;
        let meta = convert_meta(&answer.meta);
        let bytes = answer
            .bytes()
            .await
            .map_err(|e| StoreError::from_object_store(path, &e))?;
        Ok(Object { meta, bytes })
    }

    async fn head(&self, path: &str) -> Result<ObjectMeta, StoreError> {
        let meta = self
            .objects
            .head(&parse(path)?)
            .await
            .map_err(|e| StoreError::from_object_store(path, &e))?;
        Ok(convert_meta(&meta))
    }

    async fn create(&self, path: &str, body: Bytes) -> Result<(), StoreError> {
        let (location, options) = (parse(path)?, PutOptions::from(PutMode::Create));
        let put = self.objects.put_opts(&location, PutPayload::from(body), options);
        put.await
            .map(drop)
            .map_err(|e| StoreError::from_object_store(path, &e))
    }

    fn list(&self, folder: &str, after: &str) -> BoxStream<'static, Result<ObjectMeta, StoreError>> {
        let folder = folder.to_owned();
        let found = parse(&folder).and_then(|prefix| match after {
            "" => Ok(self.objects.list(Some(&prefix))),
            after => Ok(self.objects.list_with_offset(Some(&prefix), &parse(after)?)),
        });
        let converted = move |meta: object_store::Result<object_store::ObjectMeta>| match meta {
            Ok(meta) => Ok(convert_meta(&meta)),
            Err(error) => Err(StoreError::from_object_store(&folder, &error)),
        };
        match found {
            Ok(found) => found.map(converted).boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    async fn delete(&self, path: &str) -> Result<(), StoreError> {
        match self.objects.delete(&parse(path)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(StoreError::from_object_store(path, &error)),
        }
    }

    async fn settle(&self, _folder: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

fn parse(path: &str) -> Result<Path, StoreError> {
    Path::parse(path).map_err(|error| StoreError::Unsupported {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

fn convert_meta(meta: &object_store::ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        path: meta.location.to_string(),
        identity: identity_of(meta),
    }
}

/// Which version of an object this is. The ETag is in listings and in answers to HEAD alike; a version or generation
/// is not.
pub fn identity_of(meta: &object_store::ObjectMeta) -> Identity {
    let unix_ms = meta.last_modified.timestamp_millis().max(0).unsigned_abs();
    Identity {
        tag: meta.e_tag.as_deref().unwrap_or_default().into(),
        bytes: meta.size,
        modified: StoreTime { unix_ms },
    }
}

impl StoreError {
    /// Sorts an `object_store` error. What is not clearly a refusal is unknown: a lost answer to a write that was
    /// applied looks like any other failure.
    pub fn from_object_store(path: &str, error: &object_store::Error) -> Self {
        use object_store::Error as E;
        let (path_owned, reason) = (path.to_owned(), words_of(error));
        match error {
            E::NotFound { .. } => Self::NotFound { path: path_owned },
            E::AlreadyExists { .. } | E::Precondition { .. } => Self::AlreadyExists { path: path_owned },
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => Self::Denied {
                path: path_owned,
                reason,
            },
            E::NotSupported { .. } | E::NotImplemented { .. } | E::InvalidPath { .. } => Self::Unsupported {
                path: path_owned,
                reason,
            },
            _ => match io_cause(error).map(|cause| Self::from_io(path, cause)) {
                // A cause deep below says nothing of the object: a missing file may be that of the credentials.
                None | Some(Self::NotFound { .. } | Self::AlreadyExists { .. }) => Self::Unknown {
                    path: path_owned,
                    reason,
                },
                Some(sorted) => sorted,
            },
        }
    }
}

fn io_cause(error: &object_store::Error) -> Option<&std::io::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<std::io::Error>() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
