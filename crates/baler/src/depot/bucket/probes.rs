//! Objects of probes that a process died in the middle of. They hold nothing, and no reader ever takes them for anything;
//! but to delete one under a living probe would make it think ill of the store.

use std::time::Duration;

use baler_core::time::StoreTime;
use baler_journal::store::{StoreError, identity_of};
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt};

use super::{BucketDepot, BucketError};
use crate::store::Purpose;

const PROBES: &str = "_baler/probe";

/// A probe takes seconds. What is this much older than the store's present is left over.
const PROBE_AGE: Duration = Duration::from_secs(10 * 60);

/// Deletes them, and answers how many that were. Without a present, whatever their age.
pub(super) async fn sweep(depot: &BucketDepot, present: Option<StoreTime>) -> Result<u64, BucketError> {
    let failed = |error| BucketError::Store(StoreError::from_object_store(PROBES, &error));
    let listed = depot.objects(Purpose::List).list(Some(&Path::from(PROBES)));
    let found: Vec<ObjectMeta> = listed.try_collect().await.map_err(failed)?;
    let mut swept = 0;
    for meta in found.into_iter().filter(|meta| is_left_over(meta, present)) {
        match depot.objects(Purpose::Delete).delete(&meta.location).await {
            Ok(()) => swept += 1,
            Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(swept)
}

fn is_left_over(meta: &ObjectMeta, present: Option<StoreTime>) -> bool {
    let age = |present: StoreTime| present.since(identity_of(meta).modified);
    present.is_none_or(|present| u128::from(age(present).0) >= PROBE_AGE.as_millis())
}
