//! Finds out whether an upload in parts was completed when the answer to its completion was lost or odd. Names of
//! outputs are unique to their attempt, so an object of that name and length is the one that was uploaded.

use async_trait::async_trait;
use baler_journal::host;
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
        // Whoever uploads sends parts by tasks of its own.
        Box::pin(host::own(self.upload.put_part(data)))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;
    use object_store::{Error, ObjectStore};

    use super::super::layer::Layered;
    use super::*;

    /// Completes an upload or not, and loses the answer in any case.
    #[derive(Debug)]
    struct Lossy {
        completes: bool,
    }

    #[derive(Debug)]
    struct LossyUpload(Box<dyn MultipartUpload>, bool);

    #[async_trait]
    impl Layer for Lossy {
        async fn upload(
            &self,
            next: &Next,
            location: &Path,
            options: PutMultipartOptions,
        ) -> Result<Box<dyn MultipartUpload>> {
            let upload = next.put_multipart_opts(location, options).await?;
            Ok(Box::new(LossyUpload(upload, self.completes)))
        }
    }

    #[async_trait]
    impl MultipartUpload for LossyUpload {
        fn put_part(&mut self, data: PutPayload) -> UploadPart {
            self.0.put_part(data)
        }

        async fn complete(&mut self) -> Result<PutResult> {
            if self.1 {
                self.0.complete().await?;
            }
            Err(Error::Generic {
                store: "test",
                source: "the answer was lost".into(),
            })
        }

        async fn abort(&mut self) -> Result<()> {
            self.0.abort().await
        }
    }

    async fn complete(completes: bool) -> Result<PutResult> {
        let lossy = Layered::around(Arc::new(InMemory::new()), Lossy { completes });
        let store = Layered::around(lossy, Settled);
        let options = PutMultipartOptions::default();
        let mut upload = store.put_multipart_opts(&"out".into(), options).await?;
        upload.put_part(vec![1; 10].into()).await?;
        upload.put_part(vec![2; 5].into()).await?;
        upload.complete().await
    }

    #[tokio::test]
    async fn a_completion_whose_answer_is_lost_is_found_out() {
        assert!(complete(true).await.expect("it is there").e_tag.is_some());
        let error = complete(false).await.expect_err("it is not there");
        assert!(error.to_string().contains("lost"));
    }
}
