//! Asking again for what got no clear answer. Only reads: done twice they do no more than done once.

use std::future::Future;

use crate::backoff;
use crate::limits::READ_TRIES_MAX;
use crate::store::StoreError;

/// Reads, and while the store says nothing clear reads again, a few times at most.
pub(crate) async fn patiently<T, F>(mut read: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for try_number in 0.. {
        match read().await {
            Err(StoreError::Unknown { path, reason }) if try_number + 1 < READ_TRIES_MAX => {
                tracing::debug!(path, reason, "a read got no clear answer; asking again");
                backoff::pause(try_number).await;
            }
            clear => return clear,
        }
    }
    unreachable!("the last try returns")
}
