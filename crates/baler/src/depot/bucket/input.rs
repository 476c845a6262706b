//! Reading one version of an object: every request names the version by its ETag, so an object that is overwritten is
//! never read half and half.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use baler_core::file::{Digest, File, FilePath, Origin};
use baler_journal::host;
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::{Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use tokio::runtime::Handle;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use super::{BucketDepot, BucketError, location};
use crate::depot::{Input, InputError};
use crate::store::Purpose;

/// An object of known identity, as the engine reads it.
pub(super) struct BucketInput {
    objects: Arc<dyn ObjectStore>,
    runtime: Handle,
    name: String,
    path: FilePath,
    bytes: u64,
    /// The version to ask for; none for Baler's own, whose names are used once.
    tag: Option<String>,
    /// XXH3-128 of the whole, where it is known.
    checksum: Option<Digest>,
}

impl BucketInput {
    pub(super) fn new(depot: &BucketDepot, file: &File) -> Self {
        let foreign = file.origin == Origin::Foreign;
        Self {
            objects: depot.objects(Purpose::Input),
            runtime: depot.runtime.clone(),
            name: file.path.to_string(),
            path: file.path.clone(),
            bytes: file.identity.bytes,
            tag: foreign.then(|| file.identity.tag.to_string()),
            checksum: file.checksum,
        }
    }
}

impl Input for BucketInput {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let range = offset..offset.saturating_add(length as u64);
        if range.end > self.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let reading = get(
            &self.objects,
            &self.path,
            self.bytes,
            self.tag.as_deref(),
            range.clone(),
        );
        let bytes = host::block_on(&self.runtime, reading).map_err(io::Error::other)?;
        match self.checksum {
            Some(checksum) if range == (0..self.bytes) && Digest(xxh3_128(&bytes)) != checksum => {
                Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "its bytes are not those that were written to it",
                ))
            }
            _ => Ok(bytes),
        }
    }
}

/// Exactly this stretch of exactly this version.
pub(super) async fn get(
    objects: &Arc<dyn ObjectStore>,
    path: &FilePath,
    bytes: u64,
    tag: Option<&str>,
    range: Range<u64>,
) -> Result<Bytes, InputError> {
    if range.is_empty() {
        return Ok(Bytes::new());
    }
    let whole = range == (0..bytes);
    let options = GetOptions {
        if_match: tag.map(str::to_owned),
        range: (!whole).then(|| GetRange::Bounded(range.clone())),
        ..GetOptions::default()
    };
    let answer = objects.get_opts(&location(path)?, options).await;
    let answer = answer.map_err(|error| read_failed(path, bytes, &error))?;
    let found = answer.meta.size;
    if found != bytes {
        return Err(changed(path, bytes, Some(found)));
    }
    let body = answer
        .bytes()
        .await
        .map_err(|error| read_failed(path, bytes, &error))?;
    match body.len() as u64 == range.end - range.start {
        true => Ok(body),
        false => Err(BucketError::Damaged {
            path: path.clone(),
            what: format!("{} of {} bytes came", body.len(), range.end - range.start),
        }
        .into()),
    }
}

fn read_failed(path: &FilePath, bytes: u64, error: &Error) -> InputError {
    match error {
        Error::NotFound { .. } => InputError::Gone { path: path.clone() },
        Error::Precondition { .. } | Error::NotModified { .. } => changed(path, bytes, None),
        error => BucketError::from_object_store(path, error).into(),
    }
}

fn changed(path: &FilePath, expected: u64, found: Option<u64>) -> InputError {
    InputError::Changed {
        path: path.clone(),
        expected,
        found,
    }
}

/// XXH3-128 of an object's bytes.
pub(super) async fn checksum(depot: &BucketDepot, path: &FilePath) -> Result<Digest, BucketError> {
    let failed = |error| BucketError::from_object_store(path, &error);
    let answer = depot
        .objects(Purpose::Input)
        .get(&location(path)?)
        .await
        .map_err(failed)?;
    let mut body = answer.into_stream();
    let mut hash = Xxh3Default::new();
    while let Some(bytes) = body.try_next().await.map_err(failed)? {
        hash.update(&bytes);
    }
    Ok(Digest(hash.digest128()))
}
