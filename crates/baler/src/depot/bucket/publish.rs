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
        // It will not become whole by being tried again: as little is there as if it were gone.
        Some(found) if found.bytes != staged.bytes => {
            let (path, written, there) = (&staged.path, staged.bytes, found.bytes);
            tracing::error!("{path} is damaged: {written} bytes written, {there} there");
            return Ok(Publication::Missing);
        }
        Some(_) => {}
    }
    let (from, to) = (depot.writable(&staged.path)?, depot.writable(output)?);
    let copied = depot.objects(Purpose::Publish).copy(&from, &to).await;
    // A lost answer is settled by looking; an error only counts where nothing is there.
    let now = match published(depot, staged, output).await {
        // It was damaged between the look at it and its copy.
        Err(BucketError::Taken { .. }) if copied.is_ok() => return Ok(Publication::Missing),
        now => now?,
    };
    match (now, copied) {
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

#[cfg(test)]
mod tests {
    use baler_core::file::{Digest, Place};
    use object_store::PutPayload;
    use object_store::memory::InMemory;
    use object_store::path::Path;

    use super::*;
    use crate::store::{Bucket, BucketUrl};

    const WRITTEN: &str = "rows";

    async fn publish_from(lies_there: Option<&str>) -> Publication {
        let store = std::sync::Arc::new(InMemory::new());
        if let Some(text) = lies_there {
            let put = PutPayload::from(text.to_owned());
            store.put(&Path::from("root/staged"), put).await.expect("a store");
        }
        let url = BucketUrl::in_own(store, "root").expect("a root");
        let depot = BucketDepot::new(Bucket::open(&url).expect("a bucket"), Place::Root);
        let staged = Staged {
            path: FilePath::in_root("staged"),
            bytes: WRITTEN.len() as u64,
            checksum: Digest::default(),
        };
        let published = publish(&depot, &staged, &FilePath::in_root("output")).await;
        published.expect("the store answers")
    }

    /// Trap: an output that was cut short was tried to be published for ever, and its job never ended.
    #[tokio::test]
    async fn an_output_that_is_gone_or_cut_short_is_missing_for_good() {
        let whole = publish_from(Some(WRITTEN)).await;
        assert!(matches!(whole, Publication::Published { .. }), "{whole:?}");
        assert_eq!(publish_from(Some("row")).await, Publication::Missing);
        assert_eq!(publish_from(None).await, Publication::Missing);
    }
}
