//! A store that is cut off from one process at a drawn request: from then on nothing that it asks is answered, as if it had died
//! there. The request itself may have taken effect or not.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use tokio::sync::watch;

/// Where a process is cut off.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutAt {
    /// At this request, counted from 1.
    pub(super) request: u64,
    /// Whether it still takes effect.
    pub(super) lands: bool,
}

/// What one process sees of a store.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    inner: Arc<dyn ObjectStore>,
    line: Arc<Line>,
}

#[derive(Debug)]
struct Line {
    cut_at: Option<CutAt>,
    asked: AtomicU64,
    is_cut: watch::Sender<bool>,
}

impl Line {
    async fn pass<T>(&self, doing: impl Future<Output = T>) -> T {
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let last = self.cut_at.filter(|cut| cut.request == number);
        if self.is_cut() || last.is_some_and(|cut| !cut.lands) {
            return self.cut().await;
        }
        let done = doing.await;
        let cut = last.is_some() || self.is_cut();
        match cut {
            true => self.cut().await,
            false => done,
        }
    }

    fn is_cut(&self) -> bool {
        *self.is_cut.borrow()
    }

    async fn cut<T>(&self) -> T {
        self.is_cut.send_replace(true);
        pending().await
    }
}

impl Wire {
    pub(super) fn new(inner: Arc<dyn ObjectStore>, cut_at: Option<CutAt>) -> Self {
        let line = Line {
            cut_at,
            asked: AtomicU64::new(0),
            is_cut: watch::Sender::new(false),
        };
        Self {
            inner,
            line: Arc::new(line),
        }
    }

    /// Requests so far.
    pub(super) fn asked(&self) -> u64 {
        self.line.asked.load(Ordering::SeqCst)
    }

    /// Returns once the process is cut off.
    pub(super) async fn until_cut(&self) {
        let mut is_cut = self.line.is_cut.subscribe();
        let _ = is_cut.wait_for(|is_cut| *is_cut).await;
    }

    pub(super) fn cut_now(&self) {
        self.line.is_cut.send_replace(true);
    }

    fn unless_cut<T: Send + 'static>(&self, stream: BoxStream<'static, T>) -> BoxStream<'static, T> {
        match self.line.is_cut() {
            true => stream::pending().boxed(),
            false => stream,
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Wire {
    async fn put_opts(&self, at: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.line.pass(self.inner.put_opts(at, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.line.pass(self.inner.put_multipart_opts(at, options)).await?;
        let line = self.line.clone();
        Ok(Box::new(Upload { upload, line }))
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.line.pass(self.inner.get_opts(at, options)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.unless_cut(self.inner.delete_stream(locations))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.unless_cut(self.inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.unless_cut(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.line.pass(self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.line.pass(self.inner.copy_opts(from, to, options)).await
    }
}

#[derive(Debug)]
struct Upload {
    upload: Box<dyn MultipartUpload>,
    line: Arc<Line>,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (part, line) = (self.upload.put_part(data), self.line.clone());
        async move { line.pass(part).await }.boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.line.pass(self.upload.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.line.pass(self.upload.abort()).await
    }
}
