//! What older versions would misread says so, and is written only where they are kept out.

use std::sync::Arc;

use baler_core::ids::{JournalId, Sequence, TableName};
use baler_core::request::{Reply, Request};
use baler_core::table::{Catalog, RowHash, TableSpec};
use baler_journal::replica::Settings;
use baler_journal::store::{MemoryStore, Store};
use baler_journal::{Access, JournalError, ObjectLog, Replica, Upgraded, upgrade};

async fn open(store: &Arc<dyn Store>) -> Replica {
    let log = ObjectLog::open(store.clone(), Access::ReadWrite).await.unwrap();
    Replica::open(Arc::new(log), Settings::default()).await.unwrap()
}

fn table(name: &str, hash: RowHash) -> Request {
    Request::CreateTable {
        table: TableName::from(name),
        spec: Arc::new(TableSpec::of(Catalog::Native).with_hash(hash)),
    }
}

/// The format that an entry says it has.
async fn format(store: &Arc<dyn Store>, entry: u64) -> u64 {
    let object = store.get(&format!("_baler/journal/{entry:020}")).await.unwrap();
    let (_, bytes) = object.whole().unwrap();
    let text = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap();
    let envelope: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    envelope["format"].as_u64().unwrap()
}

/// Trap: a journal that older versions follow gets an entry that they take for what it is not.
#[tokio::test]
async fn a_table_that_older_versions_would_misread_begins_only_where_they_are_kept_out() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let level = r#"{"format":1}"#.as_bytes();
    store.create("_baler/format/1", level.into()).await.unwrap();

    let replica = open(&store).await;
    let begin = Request::CreateJournal(JournalId(7));
    assert_eq!(replica.submit(begin).await, Ok(Reply::Done));
    assert_eq!(replica.submit(table("old", RowHash::Xxh3)).await, Ok(Reply::Done));
    let refused = replica.submit(table("new", RowHash::Weighted)).await;
    assert_eq!(refused, Err(JournalError::NeedsUpgrade { needs: 2, level: 1 }));
    assert_eq!(
        replica.submit(Request::Tick).await,
        Ok(Reply::Done),
        "and goes on"
    );
    assert_eq!(replica.state().sequence, Sequence(3));
    replica.close().await;

    assert_eq!(upgrade(&store).await, Ok(Upgraded { before: 1, now: 2 }));
    let replica = open(&store).await;
    assert_eq!(
        replica.submit(table("new", RowHash::Weighted)).await,
        Ok(Reply::Done)
    );
    assert_eq!(replica.submit(Request::Tick).await, Ok(Reply::Done));
    for (entry, said) in [(2, 1), (3, 1), (4, 2), (5, 1)] {
        assert_eq!(format(&store, entry).await, said, "entry {entry}");
    }
    assert_eq!(replica.state().level(), 2, "and so is a snapshot that holds it");
    replica.close().await;
}

/// Digests of files on record can be compared only with others by the same hash.
#[tokio::test]
async fn a_table_keeps_the_hash_that_it_began_with_whatever_is_asked_for() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let replica = open(&store).await;
    let begin = Request::CreateJournal(JournalId(7));
    assert_eq!(replica.submit(begin).await, Ok(Reply::Done));
    for (name, first, then) in [
        ("old", RowHash::Xxh3, RowHash::Weighted),
        ("new", RowHash::Weighted, RowHash::Xxh3),
    ] {
        assert_eq!(replica.submit(table(name, first)).await, Ok(Reply::Done));
        assert_eq!(
            replica.submit(table(name, then)).await,
            Ok(Reply::Done),
            "it is there"
        );
        let altered = Request::AlterTable {
            table: TableName::from(name),
            spec: Arc::new(TableSpec {
                names_once: true,
                ..TableSpec::of(Catalog::Native).with_hash(then)
            }),
        };
        assert_eq!(replica.submit(altered).await, Ok(Reply::Done));
        let spec = replica.state().tables[&TableName::from(name)].spec.clone();
        assert_eq!((spec.merge.hash, spec.names_once), (first, true));
    }
    replica.close().await;
}
