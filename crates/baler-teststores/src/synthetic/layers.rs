//! What clients wrote or deleted, over what was there from the start.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::objects::Objects;

/// Older than any test, so that nothing waits for it to settle.
const FIRST_WRITTEN: Duration = Duration::from_secs(1_700_000_000);

/// An object as it is now.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) bytes: Bytes,
    pub(super) etag: String,
    pub(super) modified: SystemTime,
}

/// Both layers.
#[derive(Debug)]
pub(super) struct Layers {
    objects: Objects,
    /// `None` where an object was deleted.
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    objects: BTreeMap<String, Option<Stored>>,
    versions: u64,
}

impl Layers {
    pub(super) fn new(objects: Objects) -> Self {
        Self {
            objects,
            written: Mutex::default(),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<Stored> {
        find(&self.lock(), &self.objects, key)
    }

    /// Writes if `allowed` says so of what is there; both under one lock.
    pub(super) fn put(
        &self,
        key: &str,
        bytes: Bytes,
        allowed: impl FnOnce(Option<&Stored>) -> bool,
    ) -> Option<String> {
        let mut written = self.lock();
        if !allowed(find(&written, &self.objects, key).as_ref()) {
            return None;
        }
        written.versions += 1;
        let etag = format!("\"written-{}\"", written.versions);
        let stored = Stored {
            bytes,
            etag: etag.clone(),
            modified: SystemTime::now(),
        };
        written.objects.insert(key.to_owned(), Some(stored));
        Some(etag)
    }

    /// Deletes if `allowed` says so of what is there.
    pub(super) fn delete(&self, key: &str, allowed: impl FnOnce(Option<&Stored>) -> bool) -> bool {
        let mut written = self.lock();
        if !allowed(find(&written, &self.objects, key).as_ref()) {
            return false;
        }
        match self.objects.find(key) {
            Some(_) => written.objects.insert(key.to_owned(), None),
            None => written.objects.remove(key),
        };
        true
    }

    /// The first object whose name is at or after this one.
    pub(super) fn next(&self, from: &str) -> Option<(String, Stored)> {
        let written = self.lock();
        let mut below = self.objects.from(from);
        let mut above = written.objects.range(from.to_owned()..).peekable();
        loop {
            let number = below.start;
            let original = (!below.is_empty()).then(|| self.objects.key(number));
            match (original, above.peek()) {
                (None, None) => return None,
                (Some(key), Some((over, _))) if key < **over => {
                    return Some((key, original_of(&self.objects, number)));
                }
                (Some(key), None) => return Some((key, original_of(&self.objects, number))),
                (original, Some((over, stored))) => {
                    if original.as_ref() == Some(over) {
                        below.start += 1;
                    }
                    if let Some(stored) = stored {
                        return Some(((*over).clone(), stored.clone()));
                    }
                    above.next();
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find(written: &Written, objects: &Objects, key: &str) -> Option<Stored> {
    match written.objects.get(key) {
        Some(over) => over.clone(),
        None => objects.find(key).map(|number| original_of(objects, number)),
    }
}

fn original_of(objects: &Objects, number: u64) -> Stored {
    Stored {
        bytes: objects.body(number).clone(),
        etag: format!("\"original-{number}\""),
        modified: UNIX_EPOCH + FIRST_WRITTEN,
    }
}
