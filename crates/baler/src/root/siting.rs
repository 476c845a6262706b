//! From what the user named to the depots of a table, with everything checked that could make working there wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use baler_core::file::Place;
use baler_core::names::BALER_FOLDER;
use baler_core::table::Catalog;

use crate::depot::{BucketDepot, Depot, bucket_refuse};
use crate::folder::Folder;
use crate::folder::refuse::{self, Refusal};
use crate::settings::TableSettings;
use crate::site::Site;
use crate::store::{Bucket, Location, environment};

/// The depots of a table, and what kind of table they make it.
pub(super) struct Sited {
    pub(super) site: Site,
    pub(super) catalog: Catalog,
    /// Whether there is a journal already.
    pub(super) known: bool,
}

/// The depots that a compaction works on. With `--output`, the output is made where it is missing.
pub(super) async fn to_compact(location: &Location, settings: &TableSettings) -> Result<Sited> {
    let Some(output) = &settings.output else {
        return in_place(location, settings).await;
    };
    let source = open(location, Place::Source, settings)?;
    check_overlap(&source, output)?;
    let root = match output {
        Location::Local(path) => Depot::Folder(Arc::new(Folder::create_root(path)?)),
        Location::Bucket(_) => open(output, Place::Root, settings)?,
    };
    with_output(source, root).await
}

/// The same for a dry run: an output that does not exist yet is looked at as if it were empty.
pub(super) async fn to_look(location: &Location, settings: &TableSettings) -> Result<Sited> {
    match &settings.output {
        None => {
            let root = open(location, Place::Root, settings)?;
            let known = has_journal(&root).await?;
            // The listing that follows refuses what it meets, and nothing is written before its end.
            match &root {
                Depot::Bucket(bucket) if !known => bucket_refuse::check_above(bucket).await?,
                _ => check_root(&root, known).await?,
            }
            Ok(in_root(root, known))
        }
        Some(output @ Location::Local(path)) if !path.is_dir() => {
            let source = open(location, Place::Source, settings)?;
            check_overlap(&source, output)?;
            check_source(&source).await?;
            Ok(Sited {
                catalog: output_catalog(&source),
                site: Site::new(source.clone(), Some(source)),
                known: false,
            })
        }
        Some(output) => {
            let source = open(location, Place::Source, settings)?;
            check_overlap(&source, output)?;
            with_output(source, open(output, Place::Root, settings)?).await
        }
    }
}

/// The depots of native tables, and whether there is a journal already. A missing folder is made.
pub(super) async fn to_create(location: &Location, settings: &TableSettings) -> Result<(Site, bool)> {
    let missing = match location {
        Location::Local(path) if !path.exists() => Some(path),
        _ => None,
    };
    if let Some(path) = missing {
        Folder::create_root(path)?;
    }
    let sited = in_place(location, settings).await;
    if let (Err(_), Some(path)) = (&sited, missing) {
        // It was made for nothing; should somebody use it by now, it stays.
        let _ = std::fs::remove_dir(path);
    }
    sited.map(|sited| (sited.site, sited.known))
}

async fn in_place(location: &Location, settings: &TableSettings) -> Result<Sited> {
    let root = open(location, Place::Root, settings)?;
    let known = has_journal(&root).await?;
    check_root(&root, known).await?;
    Ok(in_root(root, known))
}

fn in_root(root: Depot, known: bool) -> Sited {
    Sited {
        site: Site::new(root, None),
        catalog: Catalog::InPlace,
        known,
    }
}

async fn with_output(source: Depot, root: Depot) -> Result<Sited> {
    let known = has_journal(&root).await?;
    match &root {
        Depot::Folder(folder) => refuse::check_output(folder)?,
        Depot::Bucket(bucket) if !known => bucket_refuse::check_output(bucket).await?,
        Depot::Bucket(_) => {}
    }
    check_root(&root, known).await?;
    check_source(&source).await?;
    Ok(Sited {
        catalog: output_catalog(&source),
        site: Site::new(root, Some(source)),
        known,
    })
}

/// A depot, which for a folder must exist. Nothing is written.
pub(super) fn open(location: &Location, place: Place, settings: &TableSettings) -> Result<Depot> {
    match (location, place) {
        (Location::Local(path), Place::Root) => Ok(Depot::Folder(Arc::new(Folder::open_root(path)?))),
        (Location::Local(path), Place::Source) => Ok(Depot::Folder(Arc::new(Folder::open_source(path)?))),
        (Location::Bucket(url), place) => {
            let bucket = Bucket::open_with(url, &environment(), settings.outputs.clone())?;
            Ok(Depot::Bucket(Arc::new(BucketDepot::new(bucket, place))))
        }
    }
}

/// Checks a root. In a bucket what lies below is met by every listing, so it is looked for only before the first.
pub(super) async fn check_root(root: &Depot, known: bool) -> Result<()> {
    match root {
        Depot::Folder(folder) => Ok(refuse::check_root(folder)?),
        Depot::Bucket(_) if known => Ok(()),
        Depot::Bucket(bucket) => bucket_refuse::check(bucket).await,
    }
}

async fn check_source(source: &Depot) -> Result<()> {
    match source {
        Depot::Folder(folder) => Ok(refuse::check_source(folder)?),
        Depot::Bucket(bucket) => bucket_refuse::check_source(bucket).await,
    }
}

fn check_overlap(source: &Depot, output: &Location) -> Result<()> {
    match (source, output) {
        (Depot::Folder(source), Location::Local(output)) => Ok(refuse::check_overlap(source, output)?),
        (Depot::Bucket(source), Location::Bucket(output))
            if bucket_refuse::overlaps(source.bucket().url(), output) =>
        {
            Err(Refusal::SourceAndOutputOverlap {
                source_folder: PathBuf::from(source.bucket().url().to_string()),
                output: PathBuf::from(output.to_string()),
            }
            .into())
        }
        _ => Ok(()),
    }
}

/// Whether there is a journal with something in it.
pub(super) async fn has_journal(root: &Depot) -> Result<bool> {
    match root {
        Depot::Folder(folder) => Ok(has_journal_folder(folder.path())),
        Depot::Bucket(bucket) => Ok(bucket.holds_journal().await?),
    }
}

fn has_journal_folder(root: &Path) -> bool {
    root.join(BALER_FOLDER).join("journal").is_dir()
}

fn output_catalog(source: &Depot) -> Catalog {
    Catalog::Output {
        source: source.to_string().into(),
    }
}
