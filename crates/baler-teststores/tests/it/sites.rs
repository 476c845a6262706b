//! Where the stories take place: a bucket or container of one's own on a server that all share.

use std::sync::Arc;

use baler_core::request::Request;
use baler_core::time::Millis;
use baler_journal::conformance::{BLOCK, Site};
use baler_journal::store::{FaultyStore, ObjectStoreStore, Store};
use baler_journal::{Journal, ObjectLog};
use baler_teststores::{S3, shared_azurite, shared_seaweed};
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::ObjectStore;
use tokio::sync::OnceCell;

/// A store as the journal wants it.
pub(crate) fn store(endpoint: &str, client: Arc<dyn ObjectStore>) -> Arc<dyn Store> {
    Arc::new(ObjectStoreStore::new(endpoint, client))
}

/// The S3 store of a bucket.
pub(crate) fn s3_store(s3: &S3, bucket: &str) -> Arc<dyn Store> {
    store("s3", s3.client(bucket))
}

/// A new bucket on the shared SeaweedFS; `None` where that is not installed.
pub(crate) async fn in_seaweed() -> Option<Site> {
    static PROBED: OnceCell<Record> = OnceCell::const_new();
    let seaweed = shared_seaweed().await?;
    let bucket = seaweed.new_bucket().await.unwrap();
    let store = s3_store(seaweed.s3(), &bucket);
    spare_the_probe(&PROBED, &store).await;
    Some(object_log(store))
}

/// A new container on the shared Azurite; `None` where that is not installed.
pub(crate) async fn in_azurite() -> Option<Site> {
    static PROBED: OnceCell<Record> = OnceCell::const_new();
    let azurite = shared_azurite().await?;
    let container = azurite.new_container().await.unwrap();
    let store = store("azure", azurite.azure().client(&container));
    spare_the_probe(&PROBED, &store).await;
    Some(object_log(store))
}

/// Asks for a pin on table `t` that outlives the test. Each is a promise of its own, so one decided twice shows.
pub(crate) fn pin(owner: &str) -> Request {
    Request::Pin {
        table: "t".into(),
        owner: owner.into(),
        lifetime: Millis::from_secs(1 << 20),
        version: None,
    }
}

type Record = (String, Bytes);

/// The first story's root is probed as a user's would be; the others take over the record, because hundreds of racing
/// writes for each of dozens of stories would only warm the room.
async fn spare_the_probe(probed: &OnceCell<Record>, store: &Arc<dyn Store>) {
    let (path, bytes) = probed.get_or_init(async || probe(store).await).await;
    let _recorded_by_the_probe = store.create(path, bytes.clone()).await;
}

async fn probe(store: &Arc<dyn Store>) -> Record {
    ObjectLog::open(store.clone(), baler_journal::Access::ReadWrite)
        .await
        .unwrap();
    let records: Vec<_> = store.list("_baler/probed", "").try_collect().await.unwrap();
    let [record] = &records[..] else {
        panic!("one endpoint was probed: {records:?}");
    };
    (record.path.clone(), store.get(&record.path).await.unwrap().bytes)
}

fn object_log(store: Arc<dyn Store>) -> Site {
    let store = Arc::new(FaultyStore::new(store));
    let faults = store.clone();
    let open = move |access| {
        let store = store.clone();
        let opening = async move {
            let log = ObjectLog::open(store, access).await?.with_block(BLOCK);
            Ok(Arc::new(log) as Arc<dyn Journal>)
        };
        Box::pin(opening) as _
    };
    Site::new(open).with_faults(faults)
}
