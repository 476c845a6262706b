//! Marks what is written with the storage class, tags and metadata that outputs shall have.

use std::sync::Arc;

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, MultipartUpload, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    TagSet,
};

use super::OutputSettings;
use super::layer::{Layer, Next};

/// The concern.
#[derive(Debug)]
pub(super) struct Marked {
    pub(super) settings: Arc<OutputSettings>,
    /// Whether the storage class is set here. On S3 the client for publishing names it in every request, also in
    /// copies, and must not name it twice.
    pub(super) sets_class: bool,
}

impl Marked {
    fn mark(&self, attributes: &mut Attributes, tags: &mut TagSet) {
        if let (true, Some(class)) = (self.sets_class, &self.settings.storage_class) {
            attributes.insert(Attribute::StorageClass, class.clone().into());
        }
        for (key, value) in &self.settings.metadata {
            attributes.insert(Attribute::Metadata(key.clone().into()), value.clone().into());
        }
        for (key, value) in &self.settings.tags {
            tags.push(key, value);
        }
    }
}

#[async_trait]
impl Layer for Marked {
    async fn put(
        &self,
        next: &Next,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        self.mark(&mut options.attributes, &mut options.tags);
        next.put_opts(location, payload, options).await
    }

    async fn upload(
        &self,
        next: &Next,
        location: &Path,
        mut options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.mark(&mut options.attributes, &mut options.tags);
        next.put_multipart_opts(location, options).await
    }
}
