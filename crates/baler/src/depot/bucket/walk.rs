//! The listing of a bucket's data files: in the order of their names, so each folder is a whole stretch of it. The same
//! names are data as in a directory.

use baler_core::file::FilePath;
use baler_core::ids::JournalId;
use baler_core::names::is_data_path;
use baler_journal::store::{StoreError, identity_of};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectMeta;
use object_store::path::Path;

use super::refuse::sign_in;
use super::{BucketDepot, BucketError};
use crate::depot::{DataFile, DepotError, Found, Namer, Object, SkipReason};
use crate::store::Purpose;

pub(super) fn walk(
    depot: &BucketDepot,
    journal: Option<JournalId>,
) -> BoxStream<'static, Result<Found, DepotError>> {
    let (listed, depot) = (depot.objects(Purpose::List).list(None), depot.clone());
    let found = listed.filter_map(move |listed| {
        let found = match listed {
            Ok(meta) => match sign_in(&depot, meta.location.as_ref()) {
                None => found(&depot, journal, &meta).map(Ok),
                Some(refusal) => Some(Err(BucketError::Refused(Box::new(refusal)).into())),
            },
            Err(error) => Some(Err(listing_failed(&error).into())),
        };
        futures::future::ready(found)
    });
    found.boxed()
}

fn found(depot: &BucketDepot, journal: Option<JournalId>, meta: &ObjectMeta) -> Option<Found> {
    let path: &str = meta.location.as_ref();
    if !is_data_path(path) {
        return None;
    }
    if path.ends_with(".parquet") {
        let path = depot.file_path(path);
        return Some(Found::Data(DataFile {
            namer: Namer::of(path.name(), journal),
            identity: identity_of(meta),
            path,
        }));
    }
    path.to_lowercase().ends_with(".parquet").then(|| Found::Skipped {
        path: path.to_owned(),
        reason: SkipReason::Spelling,
    })
}

/// Every object, whatever it is called.
pub(super) async fn everything(depot: &BucketDepot) -> Result<Vec<Object>, BucketError> {
    let listed = depot.objects(Purpose::List).list(None);
    let objects = listed.map_ok(|meta| Object {
        path: depot.file_path(meta.location.as_ref()),
        identity: identity_of(&meta),
    });
    let objects: Result<Vec<Object>, object_store::Error> = objects.try_collect().await;
    objects.map_err(|error| listing_failed(&error))
}

/// Every object below a folder, in order of their names.
pub(super) async fn names_below(depot: &BucketDepot, folder: &str) -> Result<Vec<FilePath>, BucketError> {
    let listed = depot.objects(Purpose::List).list(Some(&Path::from(folder)));
    let names = listed.map_ok(|meta| depot.file_path(meta.location.as_ref()));
    let mut names: Vec<FilePath> = names
        .try_collect()
        .await
        .map_err(|error| listing_failed(&error))?;
    names.sort();
    Ok(names)
}

/// Whether anything lies below a folder.
pub(super) async fn holds_anything(depot: &BucketDepot, folder: &str) -> Result<bool, BucketError> {
    let listed = depot.objects(Purpose::List).list(Some(&Path::from(folder)));
    let first = stream::StreamExt::take(listed, 1).try_next().await;
    Ok(first.map_err(|error| listing_failed(&error))?.is_some())
}

fn listing_failed(error: &object_store::Error) -> BucketError {
    BucketError::Store(StoreError::from_object_store("the listing", error))
}
