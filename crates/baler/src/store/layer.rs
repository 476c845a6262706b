//! A store around a store, of which a concern changes only the calls that concern it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// The store below.
pub(super) type Next = Arc<dyn ObjectStore>;

/// One concern. What it does not change is passed on.
#[async_trait]
pub(super) trait Layer: fmt::Debug + Send + Sync + 'static {
    async fn get(&self, next: &Next, location: &Path, options: GetOptions) -> Result<GetResult> {
        next.get_opts(location, options).await
    }

    async fn put(
        &self,
        next: &Next,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        next.put_opts(location, payload, options).await
    }

    async fn upload(
        &self,
        next: &Next,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        next.put_multipart_opts(location, options).await
    }

    /// What a listing found.
    fn listed(&self, meta: ObjectMeta) -> ObjectMeta {
        meta
    }
}

/// A store with one more concern.
#[derive(Debug)]
pub(super) struct Layered<L> {
    layer: Arc<L>,
    next: Next,
}

impl<L: Layer> Layered<L> {
    /// Around a store.
    pub(super) fn around(next: Next, layer: L) -> Next {
        let layer = Arc::new(layer);
        Arc::new(Self { layer, next })
    }

    fn each_listed(
        &self,
        found: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        use futures::StreamExt as _;
        let layer = self.layer.clone();
        found.map(move |meta| meta.map(|meta| layer.listed(meta))).boxed()
    }
}

impl<L: Layer> fmt::Display for Layered<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.next.fmt(f)
    }
}

#[async_trait]
impl<L: Layer> ObjectStore for Layered<L> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.layer.put(&self.next, location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.layer.upload(&self.next, location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.layer.get(&self.next, location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.next.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.each_listed(self.next.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.each_listed(self.next.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let found = self.next.list_with_delimiter(prefix).await?;
        Ok(ListResult {
            objects: found
                .objects
                .into_iter()
                .map(|meta| self.layer.listed(meta))
                .collect(),
            ..found
        })
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.next.copy_opts(from, to, options).await
    }
}
