//! The cache that was asked for.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use crate::cache::Cache;
use crate::cli::CacheArgs;
use crate::settings::Usage;

/// Less would not hold one small file.
const BYTES_MIN: u64 = 1 << 20;

/// How long a process that ends waits for what still enters.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn open(args: &CacheArgs) -> Result<Option<Arc<Cache>>> {
    let bytes = args.cache_bytes.as_u64();
    if bytes < BYTES_MIN {
        return Err(Usage("--cache-bytes must be at least 1MiB".to_owned()).into());
    }
    args.cache
        .as_deref()
        .map(|dir| Cache::open(dir, bytes))
        .transpose()
}

/// Before the process ends.
pub(super) async fn settle(cache: Option<Arc<Cache>>) {
    if let Some(cache) = cache {
        let _whether_or_not = tokio::task::spawn_blocking(move || cache.settle(PATIENCE)).await;
    }
}
