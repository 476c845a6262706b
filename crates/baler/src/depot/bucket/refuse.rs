//! What Baler will not touch in a bucket: the same as in a directory. Names above the prefix are asked for one by one,
//! names below it are met by listings, each of which looks for them.

use std::path::PathBuf;

use anyhow::Result;
use baler_core::file::Place;
use baler_core::names::is_data_path;
use baler_journal::store::StoreError;
use futures::TryStreamExt;

use super::walk::holds_anything;
use super::{BucketDepot, BucketError};
use crate::depot::Namer;
use crate::folder::refuse::{Refusal, TableFormat};
use crate::store::{Bucket, BucketUrl, Purpose};

/// The first object of every journal; it is never deleted.
const FORMAT: &str = "_baler/format/1";

/// Checks a prefix that is to become a root, or the source of one: above it and below it. Whoever may not look above is
/// not kept from working.
pub(crate) async fn check(depot: &BucketDepot) -> Result<()> {
    check_above(depot).await?;
    let mut listing = depot.objects(Purpose::List).list(None);
    while let Some(meta) = listing
        .try_next()
        .await
        .map_err(|error| BucketError::Store(StoreError::from_object_store("the listing", &error)))?
    {
        if let Some(refusal) = sign_in(depot, meta.location.as_ref()) {
            return Err(refusal.into());
        }
    }
    Ok(())
}

/// Checks a prefix that is to be read from with `--output`. What lies below is met by the listing that follows.
pub(crate) async fn check_source(depot: &BucketDepot) -> Result<()> {
    if depot.holds_journal().await? {
        return Err(overlap(depot, depot.bucket.url().to_string()).into());
    }
    check_above(depot).await
}

/// Checks what lies above, where a listing of everything follows anyway.
pub(crate) async fn check_above(depot: &BucketDepot) -> Result<()> {
    let url = depot.bucket.url();
    for above in url.above() {
        let bucket = Bucket::open(&above)?;
        let above = BucketDepot::new(bucket, Place::Source);
        match look_above(depot, &above).await {
            Ok(None) => {}
            Ok(Some(refusal)) => return Err(refusal.into()),
            Err(error) if error.is_forbidden() => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

async fn look_above(depot: &BucketDepot, above: &BucketDepot) -> Result<Option<Refusal>, BucketError> {
    if above.bucket.identity(FORMAT).await?.is_some() {
        return Ok(Some(overlap(depot, above.bucket.url().to_string())));
    }
    let other_format = |format, name: &str| Refusal::OtherFormat {
        folder: shown(depot),
        format,
        found: PathBuf::from(format!("{}/{name}", above.bucket.url())),
    };
    for (name, format) in [("_delta_log", TableFormat::Delta), (".hoodie", TableFormat::Hudi)] {
        if holds_anything(above, name).await? {
            return Ok(Some(other_format(format, name)));
        }
    }
    let metadata = super::walk::names_below(above, "metadata").await?;
    let iceberg = metadata.iter().any(|path| is_iceberg_metadata(&path.path));
    Ok(iceberg.then(|| other_format(TableFormat::Iceberg, "metadata")))
}

/// What an object below the prefix is a sign of.
pub(super) fn sign_in(depot: &BucketDepot, path: &str) -> Option<Refusal> {
    let mut below = "";
    for part in path.split_inclusive('/') {
        let end = below.len() + part.len();
        let (folder, is_folder) = (&path[..end], part.ends_with('/'));
        let format = match part {
            "_delta_log/" => Some(TableFormat::Delta),
            ".hoodie/" => Some(TableFormat::Hudi),
            "metadata/" if is_iceberg_metadata(path) => Some(TableFormat::Iceberg),
            _ => None,
        };
        if let Some(format) = format {
            return Some(Refusal::OtherFormat {
                folder: shown(depot),
                format,
                found: PathBuf::from(format!("{}/{}", depot.bucket.url(), folder.trim_end_matches('/'))),
            });
        }
        if part == "_baler/" && is_folder {
            let another = !below.is_empty() && path[end..].starts_with("format/");
            let root = || format!("{}/{}", depot.bucket.url(), below.trim_end_matches('/'));
            return another.then(|| overlap(depot, root()));
        }
        if part.starts_with('.') {
            return None;
        }
        below = folder;
    }
    None
}

/// Compressed ones are named `.gz.metadata.json` or `.metadata.json.gz`.
fn is_iceberg_metadata(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    name.contains(".metadata.json") && parts.next() == Some("metadata")
}

fn overlap(depot: &BucketDepot, other: String) -> Refusal {
    let (folder, other) = (shown(depot), PathBuf::from(other));
    match depot.place {
        Place::Root => Refusal::RootsOverlap { folder, other },
        Place::Source => Refusal::SourceIsARoot { folder, other },
    }
}

/// Checks that a prefix can become the root of an `--output`: it has no data of others.
pub(crate) async fn check_output(depot: &BucketDepot) -> Result<()> {
    let mut listing = depot.objects(Purpose::List).list(None);
    while let Some(meta) = listing
        .try_next()
        .await
        .map_err(|error| BucketError::Store(StoreError::from_object_store("the listing", &error)))?
    {
        let path: &str = meta.location.as_ref();
        if !is_data_path(path) || !path.ends_with(".parquet") {
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let (output, found) = (shown(depot), path.to_owned());
        return Err(match Namer::of(name, None) {
            Namer::Other => Refusal::OutputHoldsData { output, found },
            _ => Refusal::OutputLostItsJournal { output, found },
        }
        .into());
    }
    Ok(())
}

/// Whether one of two prefixes lies in the other.
pub(crate) fn overlaps(a: &BucketUrl, b: &BucketUrl) -> bool {
    let within = |inner: &str, outer: &str| {
        outer.is_empty()
            || inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    a.is_in_the_store_of(b) && (within(a.prefix(), b.prefix()) || within(b.prefix(), a.prefix()))
}

fn shown(depot: &BucketDepot) -> PathBuf {
    PathBuf::from(depot.bucket.url().to_string())
}
