//! The probe races writers through a real client, and refuses the stores that it must.

use std::sync::Arc;
use std::time::{Duration, Instant};

use baler_journal::store::Store;
use baler_journal::{Access, JournalError, ObjectLog};
use baler_teststores::{BUCKET, Conditions, Objects, Synthetic, shared_azurite, shared_seaweed};
use futures::StreamExt;

use crate::sites::{s3_store, store};

async fn open(conditions: Conditions) -> (Synthetic, Arc<dyn Store>, Result<ObjectLog, JournalError>) {
    let synthetic = Synthetic::start(Objects::none(), Duration::ZERO, conditions)
        .await
        .unwrap();
    let store = s3_store(synthetic.s3(), BUCKET);
    let opened = ObjectLog::open(store.clone(), Access::ReadWrite).await;
    (synthetic, store, opened)
}

async fn assert_refused(conditions: Conditions) {
    let (_server, store, opened) = open(conditions).await;
    assert!(matches!(opened, Err(JournalError::UnsafeStore(_))), "{opened:?}");
    let left = store.list("_baler", "").count().await;
    assert_eq!(left, 0, "nothing is left behind");
}

/// Trap: some stores accept conditions and ignore them.
#[tokio::test]
async fn a_store_that_ignores_conditions_is_refused() {
    assert_refused(Conditions::Ignored).await;
}

/// ▲ A probe in turn passes stores that fail when raced.
#[tokio::test]
async fn a_store_that_checks_first_and_writes_then_is_refused() {
    let (_server, store, _) = open(Conditions::CheckedThenActed).await;
    assert!(store.create("x", "1".into()).await.is_ok());
    assert!(
        store.create("x", "2".into()).await.is_err(),
        "asked in turn it looks right"
    );
    assert_refused(Conditions::CheckedThenActed).await;
}

#[tokio::test]
async fn a_store_that_keeps_its_promises_is_taken() {
    let (_server, _, opened) = open(Conditions::Kept).await;
    assert!(opened.is_ok(), "{opened:?}");
}

#[tokio::test]
async fn seaweed_passes() {
    let Some(seaweed) = shared_seaweed().await else {
        return;
    };
    let bucket = seaweed.new_bucket().await.unwrap();
    assert_passes(s3_store(seaweed.s3(), &bucket), "SeaweedFS").await;
}

#[tokio::test]
async fn azurite_passes() {
    let Some(azurite) = shared_azurite().await else {
        return;
    };
    let container = azurite.new_container().await.unwrap();
    assert_passes(store("azure", azurite.azure().client(&container)), "Azurite").await;
}

async fn assert_passes(store: Arc<dyn Store>, name: &str) {
    let begun = Instant::now();
    ObjectLog::open(store, Access::ReadWrite).await.unwrap();
    println!(
        "figure: a probe of {name} takes {:.1} s",
        begun.elapsed().as_secs_f64()
    );
}
