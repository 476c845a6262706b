//! Uploads in parts: begun, filled, completed or aborted.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

use super::listing::escape;

/// The uploads under way, by their ids.
#[derive(Debug, Default)]
pub(super) struct Uploads(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    begun: u64,
    open: BTreeMap<String, Upload>,
}

#[derive(Debug)]
struct Upload {
    key: String,
    parts: BTreeMap<u32, Bytes>,
}

impl Uploads {
    /// The id of a new one.
    pub(super) fn begin(&self, key: &str) -> String {
        let mut state = self.lock();
        state.begun += 1;
        let id = format!("upload-{}", state.begun);
        let upload = Upload {
            key: key.to_owned(),
            parts: BTreeMap::new(),
        };
        state.open.insert(id.clone(), upload);
        id
    }

    /// The part's ETag; `None` if there is no such upload.
    pub(super) fn add(&self, id: &str, part: u32, bytes: Bytes) -> Option<String> {
        self.lock().open.get_mut(id)?.parts.insert(part, bytes);
        Some(format!("\"{id}-{part}\""))
    }

    /// Ends it; the parts in order.
    pub(super) fn end(&self, id: &str) -> Option<Bytes> {
        let upload = self.lock().open.remove(id)?;
        let mut whole = BytesMut::new();
        upload
            .parts
            .values()
            .for_each(|part| whole.extend_from_slice(part));
        Some(whole.freeze())
    }

    /// Those under way, as XML.
    pub(super) fn list(&self, prefix: &str) -> String {
        let state = self.lock();
        let found = state
            .open
            .iter()
            .filter(|(_, upload)| upload.key.starts_with(prefix));
        let shown = found.map(|(id, upload)| {
            let key = escape(&upload.key);
            format!("<Upload><Key>{key}</Key><UploadId>{id}</UploadId><Initiated>2024-01-01T00:00:00.000Z</Initiated></Upload>")
        });
        let shown: String = shown.collect();
        format!(
            "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>{shown}</ListMultipartUploadsResult>"
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
