//! A file that is read through the cache.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::{Cache, Key};
use crate::depot::Input;

/// The same file, asked for in the cache first.
pub fn through(cache: Arc<Cache>, key: Key, input: Arc<dyn Input>) -> Arc<dyn Input> {
    Arc::new(CachedInput { cache, key, input })
}

struct CachedInput {
    cache: Arc<Cache>,
    key: Key,
    input: Arc<dyn Input>,
}

impl Input for CachedInput {
    fn name(&self) -> &str {
        self.input.name()
    }

    fn len(&self) -> u64 {
        self.input.len()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        if let Some(bytes) = self.cache.read(&self.key, offset, length) {
            return Ok(bytes);
        }
        let bytes = self.input.read_at(offset, length)?;
        self.cache.keep(&self.key, offset, &bytes);
        Ok(bytes)
    }
}
