//! An output on its way into the cache. It is written here beside the store, and waits: it enters when its job is known to be
//! committed. What a loser wrote goes, and so does what a full disk cut short. No merge fails for it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::entry::Writer;
use super::{Cache, Key};

/// One output, as far as it is written.
pub struct Spool {
    cache: Arc<Cache>,
    path: PathBuf,
    writer: Option<Writer<BufWriter<File>>>,
}

impl Spool {
    pub(super) fn begin(cache: Arc<Cache>) -> Option<Self> {
        let path = cache.shelf.new_name();
        match File::create_new(&path) {
            Ok(file) => Some(Self::writing(cache, path, file)),
            Err(error) => {
                cache.shelf.counters.failed();
                tracing::debug!("an output is not cached: {error}");
                None
            }
        }
    }

    fn writing(cache: Arc<Cache>, path: PathBuf, file: File) -> Self {
        Self {
            cache,
            path,
            writer: Some(Writer::new(BufWriter::new(file))),
        }
    }

    /// One that is written to this file.
    #[cfg(test)]
    pub(super) fn over(cache: &Arc<Cache>, file: File) -> Self {
        Self::writing(cache.clone(), cache.shelf.new_name(), file)
    }

    /// More of it. After an error nothing of it is cached.
    pub fn write(&mut self, bytes: &[u8]) {
        let Some(writer) = &mut self.writer else { return };
        let written = writer.write(bytes);
        if written.is_err() {
            self.cache.shelf.counters.failed();
        }
        if written.is_err() || !self.cache.fits(writer.length()) {
            self.give_up();
        }
    }

    /// It is committed: it enters.
    pub fn keep(mut self, key: &Key) {
        let Some(writer) = self.writer.take() else { return };
        let text = key.whole();
        let entered = writer
            .finish(&text)
            .and_then(|_| self.cache.shelf.place(&self.path, &text));
        if let Err(error) = entered {
            self.cache.shelf.counters.failed();
            tracing::debug!("an output is not cached: {error}");
        }
    }

    fn give_up(&mut self) {
        self.writer = None;
        let _gone_already = fs::remove_file(&self.path);
    }
}

impl Drop for Spool {
    /// Where it has entered, there is nothing of this name any more.
    fn drop(&mut self) {
        self.give_up();
    }
}

/// The outputs of one attempt, by their numbers.
#[derive(Default)]
pub struct Spools {
    whole: Mutex<BTreeMap<u32, Spool>>,
}

impl Spools {
    /// This one is written to its end.
    pub fn written(&self, part: u32, spool: Spool) {
        self.map().insert(part, spool);
    }

    /// The job is committed: these parts are what their keys say.
    pub fn keep(&self, parts: impl IntoIterator<Item = (u32, Key)>) {
        for (part, key) in parts {
            let spool = self.map().remove(&part);
            if let Some(spool) = spool {
                spool.keep(&key);
            }
        }
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<u32, Spool>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
