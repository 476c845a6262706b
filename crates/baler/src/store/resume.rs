//! Goes on where a body broke off, in the same version of the object or not at all, and within the retry budget.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, GetResultPayload, Result};

use super::http::{Budget, Meter};
use super::layer::{Layer, Next};

/// How often one body is resumed at most.
const RESUMES_MAX: u32 = 5;
const PAUSE_FIRST: Duration = Duration::from_millis(100);

/// The concern.
#[derive(Debug)]
pub(super) struct Resumed {
    pub(super) budget: Arc<Budget>,
    pub(super) meter: Arc<Meter>,
}

#[derive(Debug, thiserror::Error)]
#[error("{0} changed while it was read")]
struct ChangedWhileRead(String);

#[async_trait]
impl Layer for Resumed {
    async fn get(&self, next: &Next, location: &Path, options: GetOptions) -> Result<GetResult> {
        let is_head = options.head;
        let result = next.get_opts(location, options.clone()).await?;
        let (Some(tag), false) = (result.meta.e_tag.clone(), is_head) else {
            return Ok(result);
        };
        let (range, meta) = (result.range.clone(), result.meta.clone());
        let (attributes, extensions) = (result.attributes.clone(), result.extensions.clone());
        let reader = Reader {
            next: next.clone(),
            location: location.clone(),
            options,
            tag,
            left: range.clone(),
            body: result.into_stream(),
            resumes: 0,
            budget: self.budget.clone(),
            meter: self.meter.clone(),
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(reader.read()),
            meta,
            range,
            attributes,
            extensions,
        })
    }
}

/// A body that is being read.
struct Reader {
    next: Next,
    location: Path,
    options: GetOptions,
    tag: String,
    left: Range<u64>,
    body: BoxStream<'static, Result<Bytes>>,
    resumes: u32,
    budget: Arc<Budget>,
    meter: Arc<Meter>,
}

impl Reader {
    fn read(self) -> BoxStream<'static, Result<Bytes>> {
        stream::unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            match reader.next_bytes().await? {
                Ok(bytes) => Some((Ok(bytes), Some(reader))),
                Err(error) => Some((Err(error), None)),
            }
        })
        .fuse()
        .boxed()
    }

    async fn next_bytes(&mut self) -> Option<Result<Bytes>> {
        loop {
            match self.body.next().await? {
                Ok(bytes) => {
                    self.left.start += bytes.len() as u64;
                    return Some(Ok(bytes));
                }
                Err(_) if self.left.is_empty() => return None,
                Err(error) if self.may_resume() => {
                    tracing::debug!(path = %self.location, left = ?self.left, %error, "a body broke off");
                    if let Err(error) = self.resume().await {
                        return Some(Err(error));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn may_resume(&self) -> bool {
        self.resumes < RESUMES_MAX && self.budget.spend()
    }

    async fn resume(&mut self) -> Result<()> {
        tokio::time::sleep(PAUSE_FIRST * (1 << self.resumes)).await;
        self.resumes += 1;
        self.meter.retried();
        let options = GetOptions {
            range: Some(GetRange::Bounded(self.left.clone())),
            if_match: Some(self.tag.clone()),
            ..self.options.clone()
        };
        let result = self.next.get_opts(&self.location, options).await?;
        // Some stores do not know If-Match on reads.
        if result.meta.e_tag.as_ref() != Some(&self.tag) || result.range != self.left {
            let path = self.location.to_string();
            let source = Box::new(ChangedWhileRead(path.clone()));
            return Err(Error::Precondition { path, source });
        }
        self.body = result.into_stream();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
