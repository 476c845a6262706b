//! What the cache was good for.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

#[cfg(feature = "parquet")]
use super::Cache;
#[cfg(feature = "parquet")]
use crate::metrics::{Figures, Page};
use crate::report::{bytes, count};

/// Counted since the process began.
#[derive(Debug, Default)]
pub struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    bytes_hit: AtomicU64,
    bytes_stored: AtomicU64,
    damaged: AtomicU64,
    failed: AtomicU64,
}

/// The same, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheReport {
    /// Reads that the cache answered.
    pub hits: u64,
    /// Reads that went to the store.
    pub misses: u64,
    /// Bytes that the cache answered with.
    pub bytes_hit: u64,
    /// Bytes that entered it.
    pub bytes_stored: u64,
    /// Entries that were not what was written, and were dropped.
    pub damaged: u64,
    /// Entries that could not be written.
    pub failed: u64,
}

impl Counters {
    /// Now.
    pub fn report(&self) -> CacheReport {
        let now = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheReport {
            hits: now(&self.hits),
            misses: now(&self.misses),
            bytes_hit: now(&self.bytes_hit),
            bytes_stored: now(&self.bytes_stored),
            damaged: now(&self.damaged),
            failed: now(&self.failed),
        }
    }

    pub(super) fn asked(&self, found: Option<usize>) {
        match found {
            Some(bytes) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                self.bytes_hit.fetch_add(bytes as u64, Ordering::Relaxed);
            }
            None => {
                self.misses.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn stored(&self, bytes: u64) {
        self.bytes_stored.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn damaged(&self) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Display for CacheReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cache: {} of {} reads ({}), {} stored",
            count(self.hits),
            count(self.hits + self.misses),
            bytes(self.bytes_hit),
            bytes(self.bytes_stored)
        )
    }
}

#[cfg(feature = "parquet")]
impl Figures for Cache {
    fn write(&self, page: &mut Page) {
        let said = self.counters().report();
        let dir = self.dir().display().to_string();
        let mut page = page.about(&[("dir", &dir)]);
        page.gauge(
            "baler_cache_bytes",
            "Bytes in the cache when it was last looked at.",
            self.bytes(),
        );
        page.counter(
            "baler_cache_hits_total",
            "Reads that the cache answered.",
            said.hits,
        );
        page.counter(
            "baler_cache_misses_total",
            "Reads that went to the store.",
            said.misses,
        );
        page.counter(
            "baler_cache_hit_bytes_total",
            "Bytes that the cache answered with.",
            said.bytes_hit,
        );
        page.counter(
            "baler_cache_stored_bytes_total",
            "Bytes that entered the cache.",
            said.bytes_stored,
        );
        page.counter(
            "baler_cache_damaged_total",
            "Entries that were not what was written, and were dropped.",
            said.damaged,
        );
        page.counter(
            "baler_cache_failed_total",
            "Entries that could not be written.",
            said.failed,
        );
    }
}
