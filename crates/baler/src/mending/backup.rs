//! A copy of the old journal, object by object, before a new one begins. Nothing ever deletes it.

use std::sync::Arc;

use anyhow::Result;
use baler_core::ids::JournalId;
use baler_core::names::BALER_FOLDER;
use baler_journal::JournalError;
use baler_journal::store::{Object, Store, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

/// What a journal consists of.
const FOLDERS: [&str; 3] = ["journal", "snapshots", "boundary"];

/// Objects copied at once.
const COPIES_AT_ONCE: usize = 8;

/// Where the journal is copied to that this new one replaces.
pub(super) fn folder(replaced_by: JournalId) -> String {
    format!("{BALER_FOLDER}/backup/{replaced_by}")
}

/// Copies it; answers how many objects there were.
pub(super) async fn copy(store: &Arc<dyn Store>, replaced_by: JournalId) -> Result<u64> {
    let mut copied = 0;
    for name in FOLDERS {
        let from = format!("{BALER_FOLDER}/{name}");
        let listed: Vec<_> = store.list(&from, "").try_collect().await?;
        let copies = stream::iter(listed).map(async |meta| {
            let below = meta
                .path
                .strip_prefix(BALER_FOLDER)
                .unwrap_or(&meta.path)
                .to_owned();
            copy_one(store, &meta.path, &format!("{}{below}", folder(replaced_by))).await
        });
        let done: Vec<bool> = copies.buffer_unordered(COPIES_AT_ONCE).try_collect().await?;
        copied += done.into_iter().filter(|done| *done).count() as u64;
    }
    Ok(copied)
}

/// Answers whether there was something to copy. The copy is read back: it may be all that is left one day.
async fn copy_one(store: &Arc<dyn Store>, from: &str, to: &str) -> Result<bool, JournalError> {
    let bytes = match store.get(from).await.and_then(Object::whole) {
        Ok((_, bytes)) => bytes,
        Err(StoreError::NotFound { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let written = store.create(to, bytes.clone()).await;
    let found = store.get(to).await.and_then(Object::whole);
    match (written, found) {
        (_, Ok((_, found))) if found == bytes => Ok(true),
        (Err(error), _) | (_, Err(error)) => Err(error.into()),
        (Ok(()), Ok(_)) => Err(StoreError::Unknown {
            path: to.to_owned(),
            reason: "what was written is not what is there".to_owned(),
        }
        .into()),
    }
}
