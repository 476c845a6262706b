//! The synthetic store, as a client sees it.

use std::time::{Duration, Instant};

use baler_teststores::{BUCKET, Conditions, Objects, Synthetic};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutPayload};

fn objects(count: u64, folders: u64) -> Objects {
    let bodies = vec![Bytes::from_static(b"first body"), Bytes::from_static(b"second")];
    Objects::new(count, folders, bodies)
}

async fn start(objects: Objects, latency: Duration) -> Synthetic {
    Synthetic::start(objects, latency, Conditions::Kept)
        .await
        .unwrap()
}

#[tokio::test]
async fn every_object_is_listed_once_in_order_whatever_was_written_between() {
    let objects = objects(2_500, 3);
    let synthetic = start(objects.clone(), Duration::ZERO).await;
    let client = synthetic.s3().client(BUCKET);
    let paths = |prefix: &'static str| {
        client
            .list(Some(&Path::from(prefix)))
            .map_ok(|meta| meta.location.to_string())
    };
    let mut expected: Vec<String> = (0..2_500).map(|number| objects.key(number)).collect();
    assert_eq!(paths("data").try_collect::<Vec<_>>().await.unwrap(), expected);
    assert_eq!(synthetic.counts().lists, 3, "1,000 a page");

    let added = "data/part=00000/000000000 & 'b'.parquet";
    client
        .put(&added.into(), PutPayload::from_static(b"x"))
        .await
        .unwrap();
    client.delete(&objects.key(1_234).into()).await.unwrap();
    client.delete(&"data/nothing".into()).await.unwrap();
    client
        .put(&objects.key(7).into(), PutPayload::from_static(b"other"))
        .await
        .unwrap();
    expected.retain(|path| *path != objects.key(1_234));
    expected.push(added.to_owned());
    expected.sort();
    assert_eq!(paths("data").try_collect::<Vec<_>>().await.unwrap(), expected);
    let rewritten = client.get(&objects.key(7).into()).await.unwrap();
    assert_eq!(rewritten.bytes().await.unwrap(), "other");

    let after = Path::from(objects.key(2_400));
    let rest = client.list_with_offset(None, &after).count().await;
    assert_eq!(rest, 99);
    let folders = client.list_with_delimiter(Some(&"data".into())).await.unwrap();
    let names: Vec<_> = folders.common_prefixes.iter().map(Path::as_ref).collect();
    assert_eq!(names, ["data/part=00000", "data/part=00001", "data/part=00002"]);
    assert!(folders.objects.is_empty());
}

#[tokio::test]
async fn ranges_and_conditions_are_kept() {
    let synthetic = start(objects(10, 1), Duration::ZERO).await;
    let client = synthetic.s3().client(BUCKET);
    let path = Path::from(objects(10, 1).key(0));
    let read = async |range: GetRange| {
        let options = GetOptions {
            range: Some(range),
            ..GetOptions::default()
        };
        client
            .get_opts(&path, options)
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap()
    };
    assert_eq!(read(GetRange::Bounded(2..5)).await, "rst");
    assert_eq!(read(GetRange::Offset(6)).await, "body");
    assert_eq!(read(GetRange::Suffix(4)).await, "body");
    let meta = client.head(&path).await.unwrap();
    assert_eq!((meta.size, meta.last_modified.timestamp()), (10, 1_700_000_000));
    let listed: Vec<_> = client.list(None).try_collect().await.unwrap();
    assert_eq!(listed[0], meta, "a listing and a HEAD say the same");

    let create = async |path: &Path| client.put_opts(path, "x".into(), PutMode::Create.into()).await;
    assert!(matches!(
        create(&path).await,
        Err(object_store::Error::AlreadyExists { .. })
    ));
    let new = Path::from("_baler/x");
    create(&new).await.unwrap();
    assert!(matches!(
        create(&new).await,
        Err(object_store::Error::AlreadyExists { .. })
    ));
    let counts = synthetic.counts();
    assert_eq!(
        (counts.gets, counts.heads, counts.lists, counts.puts),
        (3, 1, 1, 3)
    );
}

#[tokio::test]
async fn large_objects_come_in_parts_and_are_copied() {
    let synthetic = start(Objects::none(), Duration::ZERO).await;
    let client = synthetic.s3().client(BUCKET);
    let (path, copy) = (Path::from("a/large"), Path::from("b/copy"));
    let mut upload = client.put_multipart(&path).await.unwrap();
    upload.put_part("first ".into()).await.unwrap();
    upload.put_part("second".into()).await.unwrap();
    assert!(client.head(&path).await.is_err(), "not before it is complete");
    upload.complete().await.unwrap();
    client.copy(&path, &copy).await.unwrap();
    assert_eq!(
        client.get(&copy).await.unwrap().bytes().await.unwrap(),
        "first second"
    );
    let mut aborted = client.put_multipart(&"a/aborted".into()).await.unwrap();
    aborted.put_part("x".into()).await.unwrap();
    aborted.abort().await.unwrap();
    assert_eq!(client.list(None).count().await, 2);
}

/// The time is the store's, not the server's own: 128 wait at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_wait_at_once() {
    let (requests, at_once, latency) = (3_000, 128, Duration::from_millis(30));
    let objects = objects(requests, 10);
    let synthetic = start(objects.clone(), latency).await;
    let client = synthetic.s3().client(BUCKET);
    let begun = Instant::now();
    let reads = futures::stream::iter(0..requests).map(|number| {
        let (client, path) = (client.clone(), Path::from(objects.key(number)));
        async move { client.get_range(&path, 0..4).await.map(drop) }
    });
    reads.buffer_unordered(at_once).try_collect::<()>().await.unwrap();
    let took = begun.elapsed();
    println!("figure: {requests} reads of {latency:?} each, {at_once} at once, took {took:.1?}");
    let counts = synthetic.counts();
    assert_eq!(counts.gets, requests);
    assert!(counts.at_once_max > 64 && counts.at_once_max <= 128, "{counts:?}");
    assert!(
        took < latency * requests as u32 / 8,
        "they waited together: {took:?}"
    );
}
