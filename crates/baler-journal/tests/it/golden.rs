//! A root of format level 1, as it was written once. It must be readable for ever.
//!
//! While the format is not released it may be written anew:
//! `BALER_WRITE_GOLDEN=1 cargo test -p baler-journal golden`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use baler_core::ids::{JournalId, Sequence};
use baler_core::request::Request;
use baler_core::state::State;
use baler_core::time::Millis;
use baler_journal::replica::Settings;
use baler_journal::store::{MemoryStore, Store};
use baler_journal::{Access, Journal, ObjectLog, Replica};
use futures::StreamExt;

use crate::world::next_request;

const ENTRIES: u64 = 60;
const SNAPSHOT_EVERY: u64 = 50;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1")
}

async fn open(store: Arc<MemoryStore>) -> (Arc<ObjectLog>, Replica) {
    let log = Arc::new(ObjectLog::open(store, Access::ReadWrite).await.unwrap());
    let settings = Settings {
        snapshot_every: SNAPSHOT_EVERY,
        ..Settings::default()
    };
    let replica = Replica::open(log.clone(), settings).await.unwrap();
    (log, replica)
}

async fn write_anew() {
    let store = Arc::new(MemoryStore::default());
    let (_, replica) = open(store.clone()).await;
    replica
        .submit(Request::CreateJournal(JournalId(0x60_1de2)))
        .await
        .unwrap();
    for number in 0.. {
        let request = next_request(&replica.state(), number);
        if request == Request::Tick {
            continue;
        }
        replica.submit(request).await.unwrap();
        store.advance(Millis(20));
        if replica.state().sequence.0 == ENTRIES {
            break;
        }
    }
    replica.close().await;
    let mut objects = store.list("_baler", "");
    while let Some(meta) = objects.next().await {
        let path = meta.unwrap().path;
        let file = folder().join(&path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, store.get(&path).await.unwrap().bytes).unwrap();
    }
}

async fn stored() -> Arc<MemoryStore> {
    let store = MemoryStore::default();
    for part in ["format", "probed", "journal", "snapshots"] {
        for file in std::fs::read_dir(folder().join("_baler").join(part)).unwrap() {
            let file = file.unwrap();
            let path = format!("_baler/{part}/{}", file.file_name().into_string().unwrap());
            store
                .create(&path, std::fs::read(file.path()).unwrap().into())
                .await
                .unwrap();
        }
    }
    Arc::new(store)
}

#[tokio::test]
async fn a_root_of_format_1_is_still_read() {
    if std::env::var_os("BALER_WRITE_GOLDEN").is_some() {
        std::fs::remove_dir_all(folder()).ok();
        write_anew().await;
    }
    let store = stored().await;
    let (log, replica) = open(store.clone()).await;
    assert_eq!(log.snapshots().await.unwrap(), [Sequence(SNAPSHOT_EVERY)]);
    let loaded = replica.state();

    let mut replayed = State::default();
    for slot in 1..=ENTRIES {
        let entry = log.read(Sequence(slot)).await.unwrap().unwrap();
        baler_core::apply(&mut replayed, &entry.batch);
    }
    assert_eq!(
        *loaded, replayed,
        "the snapshot and the entries tell the same story"
    );
    assert_eq!(loaded.journal, Some(JournalId(0x60_1de2)));
    assert_eq!(loaded.sequence, Sequence(ENTRIES));
    assert!(loaded.tables.len() >= 2 && !loaded.recent.is_empty());
    assert!(
        loaded
            .tables
            .values()
            .map(|table| table.files.len())
            .sum::<usize>()
            > 10
    );

    replica.submit(Request::Tick).await.unwrap();
    assert_eq!(
        replica.state().sequence,
        Sequence(ENTRIES + 1),
        "and it can be written on"
    );
}
