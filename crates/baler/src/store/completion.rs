//! Finds out whether an upload in parts was completed when the answer to its completion was lost or odd. Names of
//! outputs are unique to their attempt, so an object of that name and length is the one that was uploaded.

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{
    MultipartUpload, ObjectStoreExt, PutMultipartOptions, PutPayload, PutResult, Result, UploadPart,
};

use super::layer::{Layer, Next};

/// The concern. Only for names that are written once.
#[derive(Debug)]
pub(super) struct Settled;

#[async_trait]
impl Layer for Settled {
    async fn upload(
        &self,
        next: &Next,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Ok(Box::new(Upload {
            upload: next.put_multipart_opts(location, options).await?,
            next: next.clone(),
            location: location.clone(),
            bytes: 0,
        }))
    }
}

#[derive(Debug)]
struct Upload {
    upload: Box<dyn MultipartUpload>,
    next: Next,
    location: Path,
    bytes: u64,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.bytes += data.content_length() as u64;
        self.upload.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let error = match self.upload.complete().await {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        match self.next.head(&self.location).await {
            Ok(meta) if meta.size == self.bytes => Ok(PutResult {
                e_tag: meta.e_tag,
                version: meta.version,
                extensions: Default::default(),
            }),
            _ => Err(error),
        }
    }

    async fn abort(&mut self) -> Result<()> {
        self.upload.abort().await
    }
}
