//! Roots of format level 1, as they were written once. They must be readable for ever.
//!
//! One that is missing is written by `BALER_WRITE_GOLDEN=1 cargo test -p baler-journal golden`; while the format is not
//! released, one may be removed and written anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baler_core::Event;
use baler_core::ids::{JournalId, Sequence};
use baler_core::request::Request;
use baler_core::state::State;
use baler_core::time::Millis;
use baler_journal::replica::Settings;
use baler_journal::store::{MemoryStore, Store};
use baler_journal::{Access, Journal, ObjectLog, Replica};
use futures::StreamExt;

use crate::world::{create, next_request};

/// A root as it was written once.
struct Golden {
    name: &'static str,
    entries: u64,
    snapshot_every: u64,
    /// Where the stories begin: one number, one story.
    first: u64,
    /// Tables that are there from the beginning.
    tables: &'static [u64],
}

const GOLDEN: Golden = Golden {
    name: "format-1",
    entries: 60,
    snapshot_every: 50,
    first: 0,
    tables: &[],
};

/// With what came for fleets: ranges, losses, external catalogs.
const FLEET: Golden = Golden {
    name: "format-1-fleet",
    entries: 360,
    snapshot_every: 350,
    first: 1_000_000,
    tables: &[0, 5],
};

/// With what came for proofs: attempts that are remembered, and receipts.
const PROOF: Golden = Golden {
    name: "format-1-proof",
    entries: 460,
    snapshot_every: 450,
    first: 2_000_000,
    tables: &[0, 1],
};

impl Golden {
    fn folder(&self) -> PathBuf {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        golden.join(self.name)
    }
}

async fn open(golden: &Golden, store: Arc<MemoryStore>) -> (Arc<ObjectLog>, Replica) {
    let log = Arc::new(ObjectLog::open(store, Access::ReadWrite).await.unwrap());
    let settings = Settings {
        snapshot_every: golden.snapshot_every,
        ..Settings::default()
    };
    let replica = Replica::open(log.clone(), settings).await.unwrap();
    (log, replica)
}

async fn write(golden: &Golden) {
    let store = Arc::new(MemoryStore::default());
    let (_, replica) = open(golden, store.clone()).await;
    replica
        .submit(Request::CreateJournal(JournalId(0x60_1de2)))
        .await
        .unwrap();
    for table in golden.tables {
        replica.submit(create(*table)).await.unwrap();
    }
    for number in golden.first.. {
        let request = next_request(&replica.state(), number);
        if request == Request::Tick {
            continue;
        }
        replica.submit(request).await.unwrap();
        store.advance(Millis(20));
        if replica.state().sequence.0 == golden.entries {
            break;
        }
    }
    replica.close().await;
    let mut objects = store.list("_baler", "");
    while let Some(meta) = objects.next().await {
        let path = meta.unwrap().path;
        let file = golden.folder().join(&path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, store.get(&path).await.unwrap().bytes).unwrap();
    }
}

async fn stored(golden: &Golden) -> Arc<MemoryStore> {
    let store = MemoryStore::default();
    for part in ["format", "probed", "journal", "snapshots"] {
        for file in std::fs::read_dir(golden.folder().join("_baler").join(part)).unwrap() {
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

/// What the root holds, and the kinds of events that led there.
async fn read(golden: &Golden) -> (Arc<State>, BTreeSet<String>) {
    if std::env::var_os("BALER_WRITE_GOLDEN").is_some() && !golden.folder().exists() {
        write(golden).await;
    }
    let store = stored(golden).await;
    let (log, replica) = open(golden, store.clone()).await;
    let snapshots = log.snapshots().await.unwrap();
    assert_eq!(snapshots, [Sequence(golden.snapshot_every)]);
    let loaded = replica.state();

    let mut replayed = State::default();
    let mut kinds = BTreeSet::new();
    for slot in 1..=golden.entries {
        let entry = log.read(Sequence(slot)).await.unwrap().unwrap();
        kinds.extend(entry.batch.events.iter().map(kind));
        baler_core::apply(&mut replayed, &entry.batch);
    }
    assert_eq!(
        *loaded, replayed,
        "the snapshot and the entries tell the same story"
    );
    assert_eq!(loaded.journal, Some(JournalId(0x60_1de2)));
    assert_eq!(loaded.sequence, Sequence(golden.entries));
    replica.submit(Request::Tick).await.unwrap();
    let written = replica.state().sequence;
    assert_eq!(written, Sequence(golden.entries + 1), "and it can be written on");
    (loaded, kinds)
}

/// The name of an event; of an attempt's end also why.
fn kind(event: &Event) -> String {
    let words = format!("{event:?}");
    match event {
        Event::RangeReleased { why, .. } => format!("{why:?}"),
        _ => words,
    }
    .chars()
    .take_while(|letter| letter.is_alphabetic())
    .collect()
}

#[tokio::test]
async fn a_root_of_format_1_is_still_read() {
    let (loaded, _) = read(&GOLDEN).await;
    assert!(loaded.tables.len() >= 2 && !loaded.recent.is_empty());
    let files = loaded.tables.values().map(|table| table.files.len());
    assert!(files.sum::<usize>() > 10);
}

#[tokio::test]
async fn a_root_of_format_1_that_a_fleet_has_written_is_still_read() {
    let (_, kinds) = read(&FLEET).await;
    let wanted = [
        "JobCut",
        "Lost",
        "ChildDied",
        "CommitTry",
        "CommitStuck",
        "JobFailed",
        "JobCommitted",
    ];
    let missing: Vec<&str> = wanted.into_iter().filter(|kind| !kinds.contains(*kind)).collect();
    assert_eq!(missing, [""; 0]);
}

#[tokio::test]
async fn a_root_of_format_1_with_receipts_is_still_read() {
    let (loaded, kinds) = read(&PROOF).await;
    let wanted = ["ReceiptsWritten", "JobCommitted"];
    let missing: Vec<&str> = wanted.into_iter().filter(|kind| !kinds.contains(*kind)).collect();
    assert_eq!(missing, [""; 0]);
    assert!(!loaded.committed.is_empty());
}
