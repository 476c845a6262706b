//! Times in whole seconds. Some stores list with milliseconds what a HEAD tells in seconds; an object's identity must
//! be the same however it was learned.

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectMeta, Result};

use super::layer::{Layer, Next};

/// The concern.
#[derive(Debug)]
pub(super) struct WholeSeconds;

#[async_trait]
impl Layer for WholeSeconds {
    async fn get(&self, next: &Next, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut result = next.get_opts(location, options).await?;
        result.meta = self.listed(result.meta);
        Ok(result)
    }

    fn listed(&self, mut meta: ObjectMeta) -> ObjectMeta {
        let odd_ms = meta.last_modified.timestamp_subsec_nanos();
        meta.last_modified -= std::time::Duration::from_nanos(odd_ms.into());
        meta
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::TryStreamExt;
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    use super::super::layer::Layered;
    use super::*;

    #[tokio::test]
    async fn listings_and_heads_agree_on_the_time() {
        let store = Layered::around(Arc::new(InMemory::new()), WholeSeconds);
        store.put(&"a".into(), "x".into()).await.expect("a put");
        let head = store.head(&"a".into()).await.expect("a head");
        let listed: Vec<_> = store.list(None).try_collect().await.expect("a listing");
        assert_eq!(listed[0].last_modified, head.last_modified);
        assert_eq!(head.last_modified.timestamp_millis() % 1000, 0);
    }
}
