//! An object has one identity however it was learned. Some stores list with milliseconds what a HEAD tells in seconds,
//! and without quotes an ETag that a HEAD tells in quotes. Here times are whole seconds and ETags have their quotes,
//! as conditions need them.

use std::time::Duration;

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectMeta, Result};

use super::layer::{Layer, Next};

/// The concern.
#[derive(Debug)]
pub(super) struct Uniform;

#[async_trait]
impl Layer for Uniform {
    async fn get(&self, next: &Next, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut result = next.get_opts(location, options).await?;
        result.meta = self.listed(result.meta);
        Ok(result)
    }

    fn listed(&self, mut meta: ObjectMeta) -> ObjectMeta {
        let odd = meta.last_modified.timestamp_subsec_nanos();
        meta.last_modified -= Duration::from_nanos(odd.into());
        meta.e_tag = meta.e_tag.map(quoted);
        meta
    }
}

fn quoted(tag: String) -> String {
    match tag.ends_with('"') {
        true => tag,
        false => format!("\"{tag}\""),
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
    async fn listings_and_heads_agree() {
        let store = Layered::around(Arc::new(InMemory::new()), Uniform);
        store.put(&"a".into(), "x".into()).await.expect("a put");
        let head = store.head(&"a".into()).await.expect("a head");
        let listed: Vec<_> = store.list(None).try_collect().await.expect("a listing");
        assert_eq!(listed[0].last_modified, head.last_modified);
        assert_eq!(head.last_modified.timestamp_millis() % 1000, 0);
        assert_eq!(listed[0].e_tag, head.e_tag);
    }

    #[test]
    fn tags_have_quotes_once() {
        assert_eq!(quoted("0x8D".to_owned()), "\"0x8D\"");
        assert_eq!(quoted("\"0x8D\"".to_owned()), "\"0x8D\"");
        assert_eq!(quoted("W/\"0x8D\"".to_owned()), "W/\"0x8D\"");
    }
}
