//! Deleting. By its name alone, only what Baler named itself; somebody's data only in the version that was merged, by a
//! condition that the store checks. Everything else is refused, whatever list it was on.

use baler_core::file::FilePath;
use baler_core::garbage::Original;
use baler_core::ids::JournalId;
use baler_core::names;
use futures::{StreamExt, stream};
use object_store::ObjectStoreExt;
use object_store::path::Path;

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
                Some(original) if baler_core::planted!(DeletesByName) => {
                    delete_by_name(&depot, &original.path).await
                }
                Some(original) if !is_own_name(&deletion.path, journal) => {
                    delete_version(&depot, original, &deletion).await
                }
                _ => delete_own(&depot, journal, &deletion.path).await,
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
    match is_own_name(path, journal) {
        true => delete_by_name(depot, path).await,
        false => Err(BucketError::NotOurs { path: path.clone() }),
    }
}

async fn delete_by_name(depot: &BucketDepot, path: &FilePath) -> Result<Deleted, BucketError> {
    let deleting = depot.objects(Purpose::Delete);
    match deleting.delete(&depot.writable(path)?).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(Deleted::Gone),
        Err(error) => Err(BucketError::from_object_store(path, &error)),
    }
}

/// What lies there in another version is somebody's new data, and stays.
async fn delete_version(
    depot: &BucketDepot,
    original: &Original,
    deletion: &Deletion,
) -> Result<Deleted, BucketError> {
    let path = &original.path;
    let location = depot.writable(path)?;
    if let Some(prefix) = &deletion.keep
        && is_there(depot, original).await?
    {
        let kept = Path::from(names::kept(prefix, deletion.replaced, path));
        let copied = depot.objects(Purpose::Publish).copy(&location, &kept).await;
        copied.map_err(|error| BucketError::from_object_store(path, &error))?;
    }
    match depot.bucket.delete_if(&path.path, &original.identity).await? {
        DeleteIf::Deleted | DeleteIf::Missing | DeleteIf::Changed => Ok(Deleted::Gone),
        DeleteIf::Unsupported if !deletion.names_once => {
            Err(BucketError::NoConditionalDelete { path: path.clone() })
        }
        // The owner promised that nobody puts another version there between this look and the deletion.
        DeleteIf::Unsupported => match is_there(depot, original).await? {
            true => delete_by_name(depot, path).await,
            false => Ok(Deleted::Gone),
        },
    }
}

async fn is_there(depot: &BucketDepot, original: &Original) -> Result<bool, BucketError> {
    let now = depot.identity_now(&original.path).await?;
    Ok(now.as_ref() == Some(&original.identity))
}
