//! Objects in memory, with a clock that stands still unless it is told to move. For tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use baler_core::file::Identity;
use baler_core::time::{Millis, StoreTime};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use super::{Object, ObjectMeta, Store, StoreError};

/// Objects in memory.
#[derive(Debug)]
pub struct MemoryStore {
    shelf: Mutex<Shelf>,
}

#[derive(Debug)]
struct Shelf {
    objects: BTreeMap<String, Object>,
    now: StoreTime,
    versions: u64,
}

impl Default for MemoryStore {
    fn default() -> Self {
        let now = StoreTime {
            unix_ms: 1_700_000_000_000,
        };
        Self {
            shelf: Mutex::new(Shelf {
                objects: BTreeMap::new(),
                now,
                versions: 0,
            }),
        }
    }
}

impl MemoryStore {
    /// Moves the clock on.
    pub fn advance(&self, length: Millis) {
        let mut shelf = self.lock();
        shelf.now = shelf.now + length;
    }

    /// What the clock says.
    pub fn now(&self) -> StoreTime {
        self.lock().now
    }

    /// Puts other bytes in an object's place, as no writer of Baler ever would.
    pub fn overwrite(&self, path: &str, bytes: impl Into<Bytes>) {
        self.lock().insert(path, bytes.into());
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Shelf {
    fn insert(&mut self, path: &str, bytes: Bytes) {
        self.versions += 1;
        let identity = Identity {
            tag: format!("\"{}\"", self.versions).into(),
            bytes: bytes.len() as u64,
            modified: self.now,
        };
        let meta = ObjectMeta {
            path: path.to_owned(),
            identity,
        };
        self.objects.insert(path.to_owned(), Object { meta, bytes });
    }

    fn find(&self, path: &str) -> Result<&Object, StoreError> {
        self.objects.get(path).ok_or_else(|| StoreError::NotFound {
            path: path.to_owned(),
        })
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn endpoint(&self) -> String {
        "memory".to_owned()
    }

    async fn get(&self, path: &str) -> Result<Object, StoreError> {
        self.lock().find(path).cloned()
    }

    async fn head(&self, path: &str) -> Result<ObjectMeta, StoreError> {
        self.lock().find(path).map(|object| object.meta.clone())
    }

    async fn create(&self, path: &str, body: Bytes) -> Result<(), StoreError> {
        let mut shelf = self.lock();
        if shelf.objects.contains_key(path) {
            return Err(StoreError::AlreadyExists {
                path: path.to_owned(),
            });
        }
        shelf.insert(path, body);
        Ok(())
    }

    fn list(&self, folder: &str, after: &str) -> BoxStream<'static, Result<ObjectMeta, StoreError>> {
        let below = format!("{folder}/");
        let shelf = self.lock();
        let range = shelf.objects.range(below.clone()..);
        let found: Vec<_> = range
            .take_while(|(path, _)| path.starts_with(&below))
            .filter(|(path, _)| path.as_str() > after)
            .map(|(_, object)| Ok(object.meta.clone()))
            .collect();
        stream::iter(found).boxed()
    }

    async fn delete(&self, path: &str) -> Result<(), StoreError> {
        self.lock().objects.remove(path);
        Ok(())
    }

    async fn settle(&self, _folder: &str) -> Result<(), StoreError> {
        Ok(())
    }
}
