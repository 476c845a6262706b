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

/// What came of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many were deleted.
    pub deleted: u64,
    /// When the oldest was written that stays, because by what is known of the present it may be of a living probe.
    pub oldest_left: Option<StoreTime>,
}

/// Whether something of a probe that was written then is left over.
pub fn is_left_over(written: StoreTime, present: StoreTime) -> bool {
    u128::from(present.since(written).0) >= PROBE_AGE.as_millis()
}

/// Deletes what is left over. Without a present, whatever its age.
pub(super) async fn sweep(depot: &BucketDepot, present: Option<StoreTime>) -> Result<Swept, BucketError> {
    let failed = |error| BucketError::Store(StoreError::from_object_store(PROBES, &error));
    let listed = depot.objects(Purpose::List).list(Some(&Path::from(PROBES)));
    let found: Vec<ObjectMeta> = listed.try_collect().await.map_err(failed)?;
    let mut swept = Swept::default();
    for meta in found {
        let written = identity_of(&meta).modified;
        if present.is_some_and(|present| !is_left_over(written, present)) {
            swept.oldest_left = Some(swept.oldest_left.map_or(written, |oldest| oldest.min(written)));
            continue;
        }
        match depot.objects(Purpose::Delete).delete(&meta.location).await {
            Ok(()) => swept.deleted += 1,
            Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(swept)
}
