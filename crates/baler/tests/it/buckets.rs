//! What a bucket promises, on real servers. Without servers the stories are skipped, and say so.

mod place;

use std::collections::BTreeMap;

use baler::store::{Bucket, DeleteIf, Kind, OutputSettings, Purpose};
use baler_core::file::Identity;
use baler_journal::store::{StoreError, identity_of};
use futures::TryStreamExt;
use futures::future::join_all;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutPayload};
use place::Place;

async fn write(bucket: &Bucket, path: &str, text: &str) -> Identity {
    let objects = bucket.objects(Purpose::Output);
    objects
        .put(&Path::from(path), PutPayload::from(text.to_owned()))
        .await
        .unwrap();
    bucket.identity(path).await.unwrap().unwrap()
}

async fn read(bucket: &Bucket, path: &str) -> Option<String> {
    match bucket.objects(Purpose::Input).get(&Path::from(path)).await {
        Ok(result) => Some(String::from_utf8(result.bytes().await.unwrap().to_vec()).unwrap()),
        Err(Error::NotFound { .. }) => None,
        Err(error) => panic!("{path}: {error}"),
    }
}

#[tokio::test]
async fn an_object_has_one_identity_however_it_is_learned() {
    for place in Place::all().await {
        let bucket = place.open("some/prefix");
        let told = write(&bucket, "day=1/a.parquet", "rows").await;
        assert_eq!(told.bytes, 4);
        let listed: Vec<_> = bucket
            .objects(Purpose::List)
            .list(None)
            .try_collect()
            .await
            .unwrap();
        assert_eq!(listed.len(), 1, "{}", place.url);
        assert_eq!(listed[0].location.as_ref(), "day=1/a.parquet");
        assert_eq!(identity_of(&listed[0]), told, "{}", place.url);
        let journal = bucket.journal_store().head("day=1/a.parquet").await.unwrap();
        assert_eq!(journal.identity, told);
        let whole = read(&place.open("some"), "prefix/day=1/a.parquet").await;
        assert_eq!(whole.as_deref(), Some("rows"));
    }
}

/// Trap: a listing or a journal with an object of no bytes in it ended the process.
#[tokio::test]
async fn an_object_without_bytes_is_read() {
    for place in Place::all().await {
        let bucket = place.open("p");
        write(&bucket, "empty", "").await;
        assert_eq!(read(&bucket, "empty").await.as_deref(), Some(""), "{}", place.url);
        let entry = bucket.journal_store().get("empty").await.unwrap();
        assert!(entry.bytes.is_empty());
    }
}

#[tokio::test]
async fn only_a_missing_object_is_missing() {
    for place in Place::all().await {
        let bucket = place.open("p");
        assert_eq!(bucket.identity("nothing").await, Ok(None));
        assert_eq!(bucket.describe("nothing").await, Ok(None));
        let error = place.open_missing().identity("nothing").await.unwrap_err();
        assert!(error.to_string().contains("there is no"), "{error}");
        let error = place
            .open_missing()
            .journal_store()
            .get("_baler/journal/1")
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::Unknown { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn an_object_overwritten_between_read_and_delete_survives() {
    for place in Place::all().await {
        let bucket = place.open("p");
        if !bucket.can_delete_if().await.unwrap() {
            println!("skipped: {} does not delete by condition", place.url);
            continue;
        }
        let merged = write(&bucket, "a", "old").await;
        let newer = write(&bucket, "a", "newer").await;
        assert_eq!(bucket.delete_if("a", &merged).await, Ok(DeleteIf::Changed));
        assert_eq!(read(&bucket, "a").await.as_deref(), Some("newer"));
        assert_eq!(bucket.delete_if("a", &newer).await, Ok(DeleteIf::Deleted));
        assert_eq!(read(&bucket, "a").await, None);
        assert_eq!(bucket.delete_if("a", &newer).await, Ok(DeleteIf::Missing));
        let left: Vec<_> = bucket
            .objects(Purpose::List)
            .list(None)
            .try_collect()
            .await
            .unwrap();
        assert!(left.is_empty(), "the probe left {left:?}");
    }
}

#[tokio::test]
async fn what_is_deleted_is_gone_and_may_be_deleted_again() {
    for place in Place::all().await {
        let bucket = place.open("p");
        write(&bucket, "a b/c=1", "x").await;
        let journal = bucket.journal_store();
        for _ in 0..2 {
            journal.delete("a b/c=1").await.unwrap();
            assert_eq!(bucket.identity("a b/c=1").await, Ok(None), "{}", place.url);
        }
    }
}

#[tokio::test]
async fn one_of_many_creators_wins() {
    for place in Place::all().await {
        let store = place.open("p").journal_store();
        for round in 0..20 {
            let path = format!("_baler/journal/{round:020}");
            let tries = (0..16).map(|writer| store.create(&path, format!("writer {writer}").into()));
            let answers = join_all(tries).await;
            assert_eq!(
                answers.iter().filter(|answer| answer.is_ok()).count(),
                1,
                "{answers:?}"
            );
        }
    }
}

#[tokio::test]
async fn incomplete_uploads_of_one_folder_are_aborted() {
    for place in Place::all().await {
        let bucket = place.open("p");
        let objects = bucket.objects(Purpose::Output);
        let mut uploads = Vec::new();
        for path in ["tmp/1/out", "tmp/10/out"] {
            let options = PutMultipartOptions::default();
            let mut upload = objects
                .put_multipart_opts(&Path::from(path), options)
                .await
                .unwrap();
            upload.put_part(PutPayload::from(vec![7; 1000])).await.unwrap();
            uploads.push(upload);
        }
        let aborted = bucket.abort_uploads("tmp/1").await.unwrap();
        let is_azure = place.url.starts_with("az:");
        assert_eq!(aborted, u64::from(!is_azure), "{}", place.url);
        assert_eq!(bucket.abort_uploads("tmp/1").await, Ok(0));
        uploads[1].complete().await.unwrap();
        assert_eq!(bucket.identity("tmp/10/out").await.unwrap().unwrap().bytes, 1000);
        if !is_azure {
            uploads[0].complete().await.unwrap_err();
            assert_eq!(bucket.identity("tmp/1/out").await, Ok(None));
        }
    }
}

#[tokio::test]
async fn outputs_carry_their_marks() {
    for place in Place::all().await {
        let settings = OutputSettings {
            metadata: BTreeMap::from([("made_by".to_owned(), "baler".to_owned())]),
            tags: BTreeMap::from([("team".to_owned(), "data".to_owned())]),
            ..OutputSettings::default()
        };
        let bucket = place.open_marked("p", settings);
        write(&bucket, "staged", "rows").await;
        let publish = bucket.objects(Purpose::Publish);
        publish
            .copy(&Path::from("staged"), &Path::from("published"))
            .await
            .unwrap();
        for path in ["staged", "published"] {
            let facts = bucket.describe(path).await.unwrap().unwrap();
            assert_eq!(
                facts.metadata.get("made_by").map(String::as_str),
                Some("baler"),
                "{} {path}",
                place.url
            );
            assert!(!facts.archived);
        }
    }
}

#[tokio::test]
async fn requests_are_counted_by_what_they_are_for() {
    for place in Place::all().await {
        let bucket = place.open("p");
        for number in 0..5 {
            write(&bucket, &format!("f{number}"), "12345678").await;
        }
        read(&bucket, "f1").await;
        let _found: Vec<_> = bucket
            .objects(Purpose::List)
            .list(None)
            .try_collect()
            .await
            .unwrap();
        let usage = bucket.usage();
        let of = |purpose, kind| usage.of(purpose).requests.get(&kind).copied().unwrap_or(0);
        assert_eq!(of(Purpose::Output, Kind::Put), 5);
        assert_eq!(usage.of(Purpose::Output).bytes_out, 40);
        assert_eq!(of(Purpose::Head, Kind::Head), 5);
        assert_eq!(of(Purpose::Input, Kind::Get), 1);
        assert_eq!(usage.of(Purpose::Input).bytes_in, 8);
        assert_eq!(of(Purpose::List, Kind::List), 1);
        assert_eq!((usage.requests(), usage.retries, usage.throttled), (12, 0, 0));
    }
}

#[tokio::test]
async fn a_delete_that_races_an_overwrite_never_takes_the_new_version() {
    for place in Place::all().await {
        let bucket = place.open("p");
        if !bucket.can_delete_if().await.unwrap() {
            println!("skipped: {} does not delete by condition", place.url);
            continue;
        }
        let writer = bucket.objects(Purpose::Output);
        for round in 0..40 {
            let path = format!("o{round}");
            let merged = write(&bucket, &path, "old").await;
            let location = Path::from(path.as_str());
            let overwrite = writer.put(&location, PutPayload::from("newer".to_owned()));
            let (written, deleted) = futures::join!(overwrite, bucket.delete_if(&path, &merged));
            written.unwrap();
            let left = read(&bucket, &path).await;
            assert_eq!(left.as_deref(), Some("newer"), "{} {deleted:?}", place.url);
        }
    }
}

#[tokio::test]
async fn publishing_never_replaces_what_is_there() {
    for place in Place::all().await {
        let bucket = place.open("p");
        write(&bucket, "staged", "rows").await;
        write(&bucket, "taken", "somebody's").await;
        let publish = bucket.objects(Purpose::Publish);
        let staged = Path::from("staged");
        let refused = publish.copy_if_not_exists(&staged, &Path::from("taken")).await;
        assert!(
            matches!(refused, Err(Error::AlreadyExists { .. })),
            "{} {refused:?}",
            place.url
        );
        assert_eq!(read(&bucket, "taken").await.as_deref(), Some("somebody's"));
        publish
            .copy_if_not_exists(&staged, &Path::from("free"))
            .await
            .unwrap();
        assert_eq!(read(&bucket, "free").await.as_deref(), Some("rows"));
    }
}
