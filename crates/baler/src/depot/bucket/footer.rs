//! The footer of a file, with as few requests as can be.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use baler_core::file::{FilePath, Identity};
use baler_merge::{Facts, FileError};
use bytes::Bytes;

use super::BucketDepot;
use super::input::get;
use crate::depot::{DepotError, Input, InputError};
use crate::spec::Asked;
use crate::store::Purpose;

/// Read from the end of a file to find its footer: enough for nearly all, in one request.
const TAIL_BYTES: u64 = 64 << 10;

/// Reads the footer in one request, or in two where it is unusually long.
pub(super) async fn inspect(
    depot: &BucketDepot,
    path: &FilePath,
    identity: &Identity,
    asked: &Asked,
) -> Result<Result<Facts, FileError>, InputError> {
    let objects = depot.objects(Purpose::Footer);
    let mut begin = identity.bytes.saturating_sub(TAIL_BYTES);
    loop {
        let range = begin..identity.bytes;
        let tail = match get(&objects, path, identity.bytes, Some(&identity.tag), range).await {
            Err(InputError::Failed(error)) => return Err(archived(depot, path, error).await),
            tail => tail?,
        };
        let tail = Arc::new(Tail {
            name: path.to_string(),
            bytes: identity.bytes,
            begin,
            tail,
            wanted_from: AtomicU64::new(begin),
        });
        let facts = asked.inspect(&(tail.clone() as Arc<dyn Input>));
        let wanted_from = tail.wanted_from.load(Ordering::Relaxed);
        if facts.is_ok() || wanted_from >= begin {
            return Ok(facts);
        }
        begin = wanted_from;
    }
}

/// Stores refuse to read what is archived, each in its own words; its storage class says it plainly.
async fn archived(depot: &BucketDepot, path: &FilePath, error: DepotError) -> InputError {
    match depot.bucket.describe(&path.path).await {
        Ok(Some(facts)) if facts.archived => InputError::Archived {
            path: path.clone(),
            class: facts.storage_class.unwrap_or_default(),
        },
        _ => InputError::Failed(error),
    }
}

/// The end of a file, in memory. It notes what was asked for before it.
struct Tail {
    name: String,
    bytes: u64,
    begin: u64,
    tail: Bytes,
    wanted_from: AtomicU64,
}

impl Input for Tail {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        if offset < self.begin {
            self.wanted_from.fetch_min(offset, Ordering::Relaxed);
            return Err(io::Error::other("not read yet"));
        }
        let start = usize::try_from(offset - self.begin).map_err(io::Error::other)?;
        match start.checked_add(length) {
            Some(end) if end <= self.tail.len() => Ok(self.tail.slice(start..end)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
