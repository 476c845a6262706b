//! Deleting. By its name alone, only what Baler named itself; somebody's data only in the version that was merged, by a
//! condition that the store checks. Everything else is refused, whatever list it was on.

use baler_core::file::{FilePath, Identity};
use baler_core::ids::JournalId;
use futures::{StreamExt, stream};
use object_store::ObjectStoreExt;

use super::{BucketDepot, BucketError};
use crate::depot::own::is_own_name;
use crate::depot::{Deleted, Deletion};
use crate::store::{DeleteIf, Purpose};

/// Deletes under way at once.
const DELETES_AT_ONCE: usize = 32;

pub(super) async fn delete_all(
    depot: &BucketDepot,
    journal: JournalId,
    list: Vec<Deletion>,
) -> Vec<Result<Deleted, BucketError>> {
    let deletes = stream::iter(list).map(|deletion| {
        let depot = depot.clone();
        async move {
            match &deletion.original {
                None => delete_own(&depot, journal, &deletion.path).await,
                Some(original) => delete_version(&depot, &original.path, &original.identity).await,
            }
        }
    });
    deletes.buffered(DELETES_AT_ONCE).collect().await
}

async fn delete_own(
    depot: &BucketDepot,
    journal: JournalId,
    path: &FilePath,
) -> Result<Deleted, BucketError> {
    if !is_own_name(path, journal) {
        return Err(BucketError::NotOurs { path: path.clone() });
    }
    match depot
        .objects(Purpose::Delete)
        .delete(&depot.writable(path)?)
        .await
    {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(Deleted::Gone),
        Err(error) => Err(BucketError::from_object_store(path, &error)),
    }
}

/// What lies there in another version is somebody's new data, and stays.
async fn delete_version(
    depot: &BucketDepot,
    path: &FilePath,
    consumed: &Identity,
) -> Result<Deleted, BucketError> {
    depot.writable(path)?;
    match depot.bucket.delete_if(&path.path, consumed).await? {
        DeleteIf::Deleted | DeleteIf::Missing | DeleteIf::Changed => Ok(Deleted::Gone),
        DeleteIf::Unsupported => Err(BucketError::NoConditionalDelete { path: path.clone() }),
    }
}
