//! A distant store: every request takes its latency and the time that its bytes take on one connection, on the clock of
//! the runtime. What a request does happens half way, so that answers may overtake each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use baler_core::time::{Millis, StoreTime};
use baler_journal::store::{MemoryStore, Object, ObjectMeta, Store, StoreError};
use bytes::Bytes;
use futures::stream::BoxStream;
use tokio::time::{Instant, sleep};

/// What each request takes.
pub(super) const LATENCY: Duration = Duration::from_millis(30);
/// What a connection carries in a second.
pub(super) const BYTES_A_SECOND: u64 = 50_000_000;

/// How long bytes take on one connection.
pub(super) fn transfer(bytes: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 / BYTES_A_SECOND as f64)
}

/// One process's way to the store that all of them share.
#[derive(Debug)]
pub(super) struct Distant {
    shelf: Arc<Shelf>,
    /// Requests so far, in all.
    requests: AtomicU64,
    /// How long each conditional write took that was taken.
    writes: std::sync::Mutex<Vec<Duration>>,
}

#[derive(Debug)]
struct Shelf {
    objects: MemoryStore,
    /// When it began, on both clocks.
    began: (Instant, StoreTime),
}

impl Shelf {
    /// The store's clock goes with the runtime's.
    fn objects(&self) -> &MemoryStore {
        let passed = u64::try_from(self.began.0.elapsed().as_millis()).unwrap();
        let shown = self.objects.now().since(self.began.1);
        self.objects.advance(Millis(passed.saturating_sub(shown.0)));
        &self.objects
    }
}

impl Distant {
    pub(super) fn new() -> Self {
        let objects = MemoryStore::default();
        objects.advance(baler::root::machine_now().since(objects.now()));
        let began = (Instant::now(), objects.now());
        Self::on(Arc::new(Shelf { objects, began }))
    }

    /// Another process's way to the same store.
    pub(super) fn again(&self) -> Self {
        Self::on(self.shelf.clone())
    }

    fn on(shelf: Arc<Shelf>) -> Self {
        Self {
            shelf,
            requests: AtomicU64::new(0),
            writes: std::sync::Mutex::default(),
        }
    }

    /// What its clock says.
    pub(super) fn now(&self) -> StoreTime {
        self.shelf.objects().now()
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn writes(&self) -> Vec<Duration> {
        self.writes.lock().unwrap().clone()
    }

    async fn there(&self, bytes: usize) -> &MemoryStore {
        self.requests.fetch_add(1, Ordering::Relaxed);
        sleep(LATENCY / 2 + transfer(bytes as u64)).await;
        self.shelf.objects()
    }

    async fn back(&self, bytes: usize) {
        sleep(LATENCY / 2 + transfer(bytes as u64)).await;
    }
}

#[async_trait]
impl Store for Distant {
    fn endpoint(&self) -> String {
        "modelled".to_owned()
    }

    async fn get(&self, path: &str) -> Result<Object, StoreError> {
        let object = self.there(0).await.get(path).await;
        self.back(object.as_ref().map_or(0, |object| object.bytes.len()))
            .await;
        object
    }

    async fn head(&self, path: &str) -> Result<ObjectMeta, StoreError> {
        let meta = self.there(0).await.head(path).await;
        self.back(0).await;
        meta
    }

    async fn create(&self, path: &str, body: Bytes) -> Result<(), StoreError> {
        let begun = Instant::now();
        let created = self.there(body.len()).await.create(path, body).await;
        self.back(0).await;
        if created.is_ok() {
            self.writes.lock().unwrap().push(begun.elapsed());
        }
        created
    }

    fn list(&self, folder: &str, after: &str) -> BoxStream<'static, Result<ObjectMeta, StoreError>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.shelf.objects().list(folder, after)
    }

    async fn delete(&self, path: &str) -> Result<(), StoreError> {
        let deleted = self.there(0).await.delete(path).await;
        self.back(0).await;
        deleted
    }

    async fn settle(&self, folder: &str) -> Result<(), StoreError> {
        self.shelf.objects().settle(folder).await
    }
}
