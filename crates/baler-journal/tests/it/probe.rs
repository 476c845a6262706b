//! Stores that a root must not be made on, and what a made one holds.

use std::sync::Arc;

use async_trait::async_trait;
use baler_journal::store::{LocalStore, MemoryStore, Object, ObjectMeta, Store, StoreError};
use baler_journal::{Access, JournalError, ObjectLog};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;

/// Checks, then acts: right when asked in turn, wrong when raced. So are some real stores.
#[derive(Debug, Default)]
struct CheckThenAct(Arc<MemoryStore>);

#[async_trait]
impl Store for CheckThenAct {
    fn endpoint(&self) -> String {
        "check-then-act".to_owned()
    }

    async fn get(&self, path: &str) -> Result<Object, StoreError> {
        self.0.get(path).await
    }

    async fn head(&self, path: &str) -> Result<ObjectMeta, StoreError> {
        self.0.head(path).await
    }

    async fn create(&self, path: &str, body: Bytes) -> Result<(), StoreError> {
        if self.0.head(path).await.is_ok() {
            return Err(StoreError::AlreadyExists {
                path: path.to_owned(),
            });
        }
        tokio::task::yield_now().await;
        self.0.overwrite(path, body);
        Ok(())
    }

    fn list(&self, folder: &str, after: &str) -> BoxStream<'static, Result<ObjectMeta, StoreError>> {
        self.0.list(folder, after)
    }

    async fn delete(&self, path: &str) -> Result<(), StoreError> {
        self.0.delete(path).await
    }

    async fn settle(&self, _folder: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

/// ▲ A probe in turn passes stores that fail when raced.
#[tokio::test]
async fn a_store_that_checks_first_and_writes_then_is_refused() {
    let store = Arc::new(CheckThenAct::default());
    let in_turn = [
        store.create("x", "1".into()).await,
        store.create("x", "2".into()).await,
    ];
    assert!(
        in_turn[0].is_ok() && in_turn[1].is_err(),
        "asked in turn it looks right"
    );
    let refused = ObjectLog::open(store.clone(), Access::ReadWrite).await;
    assert!(
        matches!(refused, Err(JournalError::UnsafeStore(_))),
        "{refused:?}"
    );
    assert_eq!(
        store.list("_baler", "").count().await,
        0,
        "nothing is left behind"
    );
}

/// Trap: a root is made through one endpoint and opened through another (a gateway, a cache) that keeps no conditions.
#[tokio::test]
async fn a_known_root_is_probed_again_through_another_endpoint() {
    let store = CheckThenAct::default();
    let honest = store.0.clone();
    ObjectLog::open(honest.clone(), Access::ReadWrite).await.unwrap();
    let refused = ObjectLog::open(Arc::new(store), Access::ReadWrite).await;
    assert!(
        matches!(refused, Err(JournalError::UnsafeStore(_))),
        "{refused:?}"
    );
    let as_before = ObjectLog::open(honest, Access::ReadWrite).await;
    assert!(as_before.is_ok());
}

#[tokio::test]
async fn a_made_root_records_its_format_and_the_probe() {
    let store = Arc::new(MemoryStore::default());
    ObjectLog::open(store.clone(), Access::ReadWrite).await.unwrap();
    let mut paths: Vec<_> = store
        .list("_baler", "")
        .map(|meta| meta.unwrap().path)
        .collect()
        .await;
    paths.sort();
    let endpoint = "ee586a648e00aaf84e4bd56937f75229";
    assert_eq!(
        paths,
        [
            "_baler/format/1".to_owned(),
            "_baler/format/2".to_owned(),
            format!("_baler/probed/{endpoint}")
        ]
    );
    let opened_again = ObjectLog::open(store, Access::ReadWrite).await;
    assert!(opened_again.is_ok());
}

#[tokio::test]
async fn a_read_only_directory_is_refused_before_anything_else() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let missing = LocalStore::open(directory.path().join("nothing"));
    assert!(matches!(missing, Err(StoreError::NotFound { .. })));
    let store = LocalStore::open(directory.path()).unwrap();
    let opened = ObjectLog::open(Arc::new(store), Access::ReadOnly).await;
    assert_eq!(opened.err(), Some(JournalError::NotCreated));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// Trap: `object_store`'s directory syncs nothing unless it is told to. No test can cut the power, so this one asks the
/// client how it was set up.
#[test]
fn a_directory_syncs_what_it_writes() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = format!("{:?}", LocalStore::open(directory.path()).unwrap());
    assert!(store.contains("fsync: true"), "{store}");
}

/// A crash may leave a temporary file beside an entry; it is never listed, and in nobody's way.
#[tokio::test]
async fn what_a_crash_left_of_a_write_is_not_an_entry() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = LocalStore::open(directory.path()).unwrap();
    let path = "_baler/journal/00000000000000000001";
    std::fs::create_dir_all(directory.path().join("_baler/journal")).unwrap();
    std::fs::write(directory.path().join(format!("{path}#1")), "half").unwrap();
    assert_eq!(store.list("_baler/journal", "").count().await, 0);
    store.create(path, "whole".into()).await.unwrap();
    assert_eq!(store.get(path).await.unwrap().bytes, "whole");
    let again = store.create(path, "other".into()).await;
    assert!(matches!(again, Err(StoreError::AlreadyExists { .. })));
    assert_eq!(store.list("_baler/journal", "").count().await, 1);
}
