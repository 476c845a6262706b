//! What a root says about itself: its format level, and through which endpoints its store was seen to be safe.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::join_all;
use serde::{Deserialize, Serialize};

use super::names;
use super::patience::patiently;
use crate::checksum::Checksum;
use crate::error::JournalError;
use crate::host;
use crate::limits::{FORMAT, PROBE_NAMES, PROBE_WRITERS, PROBE_WRITERS_LOCAL};
use crate::store::{LOCAL_ENDPOINT, Store, StoreError};

/// What `probed/<endpoint>` holds.
#[derive(Debug, Serialize, Deserialize)]
struct Probed {
    endpoint: String,
    writers: usize,
    names: usize,
}

/// There is a root, and this code may read it. Gives its format level.
pub(super) async fn check(store: &dyn Store) -> Result<u32, JournalError> {
    check_not_newer(store).await?;
    level(store).await?.ok_or(JournalError::NotCreated)
}

/// There is a root, made now if need be, and this code may write to it. Gives its format level.
pub(super) async fn check_or_make(store: &Arc<dyn Store>) -> Result<u32, JournalError> {
    check_not_newer(store.as_ref()).await?;
    let endpoint = store.endpoint();
    if !exists(store.as_ref(), &names::probed(&endpoint)).await? {
        let probed = probe(store, endpoint).await?;
        record(store.as_ref(), &names::probed(&probed.endpoint), &probed).await?;
    }
    match level(store.as_ref()).await? {
        Some(level) => Ok(level),
        None => Ok(raise(store.as_ref(), 0, FORMAT).await?.now),
    }
}

/// The highest level that was recorded. Most roots are of this code's own, and one request says so.
async fn level(store: &dyn Store) -> Result<Option<u32>, JournalError> {
    for level in (1..=FORMAT).rev() {
        if exists(store, &names::format_level(level)).await? {
            return Ok(Some(level));
        }
    }
    Ok(None)
}

/// The format levels of a root, before an upgrade and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upgraded {
    /// As it was.
    pub before: u32,
    /// As it is.
    pub now: u32,
}

/// Raises a root to the level of this code. A root of a higher one is refused.
pub async fn upgrade(store: &Arc<dyn Store>) -> Result<Upgraded, JournalError> {
    let before = check(store.as_ref()).await?;
    raise(store.as_ref(), before, FORMAT).await
}

/// Each level in turn: whoever looks for the one after his own must find it before any higher one is in use.
async fn raise(store: &dyn Store, before: u32, now: u32) -> Result<Upgraded, JournalError> {
    for level in before + 1..=now {
        let content = serde_json::json!({ "format": level });
        record(store, &names::format_level(level), &content).await?;
    }
    Ok(Upgraded { before, now })
}

/// An upgrade creates each level in turn, so the next one tells.
async fn check_not_newer(store: &dyn Store) -> Result<(), JournalError> {
    let found = FORMAT + 1;
    if exists(store, &names::format_level(found)).await? {
        let what = "this root".to_owned();
        return Err(JournalError::NewerFormat { what, found });
    }
    Ok(())
}

async fn exists(store: &dyn Store, path: &str) -> Result<bool, JournalError> {
    match patiently(async || store.get(path).await).await {
        Ok(_) => Ok(true),
        Err(StoreError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whoever writes it first, it says the same.
async fn record(store: &dyn Store, path: &str, content: &impl Serialize) -> Result<(), JournalError> {
    let body = serde_json::to_vec(content).expect("records have text keys only");
    match store.create(path, body.into()).await {
        Ok(()) => Ok(()),
        Err(error) if exists(store, path).await? => {
            tracing::debug!(%error, path, "somebody recorded it already");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Several writers race for each of several fresh names: tried one after the other, a store that checks first and
/// writes then would pass.
async fn probe(store: &Arc<dyn Store>, endpoint: String) -> Result<Probed, JournalError> {
    let round = Checksum(host::wide_chance());
    let (writers, names) = match endpoint.as_str() {
        LOCAL_ENDPOINT => (PROBE_WRITERS_LOCAL, 1),
        _ => (PROBE_WRITERS, PROBE_NAMES),
    };
    let races = (0..names).map(|name| race(store, names::probe(round, name), writers));
    // All of them to the end, or what is deleted below would be written again by who still races.
    let results = join_all(races).await;
    join_all((0..names).map(async |name| store.delete(&names::probe(round, name)).await)).await;
    results.into_iter().collect::<Result<(), _>>()?;
    Ok(Probed {
        endpoint,
        writers,
        names,
    })
}

async fn race(store: &Arc<dyn Store>, path: String, writers: usize) -> Result<(), JournalError> {
    let write = async |store: Arc<dyn Store>, path: String, writer: usize| {
        store.create(&path, Bytes::from(format!("writer {writer}"))).await
    };
    let racers = (0..writers).map(|writer| {
        let (store, path) = (store.clone(), path.clone());
        host::spawn(async move { write(store, path, writer).await })
    });
    let mut winners = Vec::new();
    for (writer, outcome) in join_all(racers).await.into_iter().enumerate() {
        match outcome {
            Ok(Ok(())) => winners.push(writer),
            Ok(Err(StoreError::AlreadyExists { .. } | StoreError::Unknown { .. })) | Err(_) => {}
            Ok(Err(error)) => return Err(error.into()),
        }
    }
    let [winner] = winners[..] else {
        let why = format!(
            "{} of {writers} writers were told that they created the same object",
            winners.len()
        );
        return Err(JournalError::UnsafeStore(why));
    };
    let (_, found) = store.get(&path).await?.whole()?;
    if found != format!("writer {winner}") {
        let why = "an object that was created once holds another writer's bytes".to_owned();
        return Err(JournalError::UnsafeStore(why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    /// Trap: a newer version writes what an older one misreads, because nothing told the older one.
    #[tokio::test]
    async fn an_upgrade_creates_each_level_in_turn_and_older_code_stops() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        assert_eq!(upgrade(&store).await, Err(JournalError::NotCreated));
        raise(store.as_ref(), 0, 1).await.unwrap();
        assert_eq!(check_or_make(&store).await, Ok(1), "nobody is shut out unasked");
        assert_eq!(upgrade(&store).await, Ok(Upgraded { before: 1, now: 2 }));
        assert_eq!(upgrade(&store).await, Ok(Upgraded { before: 2, now: 2 }));
        assert_eq!(check(store.as_ref()).await, Ok(2));
        raise(store.as_ref(), 2, 4).await.unwrap();
        for level in 1..=4 {
            assert!(exists(store.as_ref(), &names::format_level(level)).await.unwrap());
        }
        for refused in [
            check(store.as_ref()).await.map(|_| ()),
            check_or_make(&store).await.map(|_| ()),
            upgrade(&store).await.map(|_| ()),
        ] {
            assert!(
                matches!(refused, Err(JournalError::NewerFormat { found: 3, .. })),
                "{refused:?}"
            );
        }
    }
}
