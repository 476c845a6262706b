//! Bringing an output to its final name by a copy on the server's side. The staged object stays: the sweep of its
//! attempt takes it once the job is done.

use baler_core::file::{FilePath, Identity};
use object_store::ObjectStoreExt;

use super::{BucketDepot, BucketError};
use crate::depot::{Publication, Staged};
use crate::store::Purpose;

pub(super) async fn publish(
    depot: &BucketDepot,
    staged: &Staged,
    output: &FilePath,
) -> Result<Publication, BucketError> {
    if let Some(identity) = published(depot, staged, output).await? {
        return Ok(Publication::Published { identity });
    }
    match depot.identity_now(&staged.path).await? {
        // Whoever published it may have been quicker, and the sweep after it.
        None => {
            return Ok(match published(depot, staged, output).await? {
                Some(identity) => Publication::Published { identity },
                None => Publication::Missing,
            });
        }
        Some(found) if found.bytes != staged.bytes => {
            return Err(BucketError::Damaged {
                path: staged.path.clone(),
                what: format!("{} bytes written, {} there", staged.bytes, found.bytes),
            });
        }
        Some(_) => {}
    }
    let (from, to) = (depot.writable(&staged.path)?, depot.writable(output)?);
    let copied = depot.objects(Purpose::Publish).copy(&from, &to).await;
    // A lost answer is settled by looking; an error only counts where nothing is there.
    match (published(depot, staged, output).await?, copied) {
        (Some(identity), _) => Ok(Publication::Published { identity }),
        (None, Err(error)) => Err(BucketError::from_object_store(output, &error)),
        (None, Ok(())) => Err(BucketError::Damaged {
            path: output.clone(),
            what: "the store confirmed a copy that is not there".to_owned(),
        }),
    }
}

/// The output under its final name, if it is there.
async fn published(
    depot: &BucketDepot,
    staged: &Staged,
    output: &FilePath,
) -> Result<Option<Identity>, BucketError> {
    let found = depot.identity_now(output).await?;
    match found {
        Some(found) if found.bytes != staged.bytes => Err(BucketError::Taken {
            path: output.clone(),
            what: format!("{} bytes written, {} there", staged.bytes, found.bytes),
        }),
        found => Ok(found),
    }
}
