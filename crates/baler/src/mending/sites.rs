//! What else lies below a root: the source of `--output`, and what attempts left in Baler's own folders.

use std::sync::Arc;

use anyhow::{Context, Result};
use baler_core::file::Place;
use baler_core::ids::{JobId, RangeId, Sequence, Token};
use baler_core::names::{Attempt, BALER_FOLDER};
use baler_core::state::State;
use baler_core::table::Catalog;
use baler_journal::store::Store;
use futures::TryStreamExt;

use super::list;
use crate::depot::{DataFile, Depot};
use crate::root::Root;
use crate::site::Site;

/// The depots of a root with this state. A source that cannot be read is an error: what is in it may be in the root already.
pub(super) fn site(root: Depot, state: &State) -> Result<Site> {
    let catalogs = state.tables.values().map(|table| &table.spec.catalog);
    let source = catalogs.into_iter().find_map(|catalog| match catalog {
        Catalog::Output { source } => Some(source.clone()),
        _ => None,
    });
    let source = source.map(|source| {
        let location = source.parse()?;
        let opened = Root::depot_at(&location, Place::Source);
        opened.with_context(|| format!("{source}, which this root's files come from, is needed too"))
    });
    Ok(Site::new(root, source.transpose()?))
}

/// The data below the root, and below its source.
pub(super) async fn all_data(site: &Site, below_root: &[DataFile]) -> Result<Vec<DataFile>> {
    let mut data = below_root.to_vec();
    if let Some(source) = &site.source {
        data.extend(list(source).await?);
    }
    Ok(data)
}

/// Attempts that have a folder for what they write before it is published.
pub(super) async fn staged(store: &Arc<dyn Store>) -> Result<Vec<Attempt>> {
    let names = folders(store, "staging").await?;
    Ok(names.iter().filter_map(|name| attempt(name)).collect())
}

/// Jobs whose inputs were set aside, and are still there.
pub(super) async fn set_aside(store: &Arc<dyn Store>) -> Result<Vec<JobId>> {
    let names = folders(store, "aside").await?;
    Ok(names
        .iter()
        .filter_map(|name| name.parse().ok())
        .map(JobId)
        .collect())
}

/// The folders with something in them, right below one of Baler's own.
async fn folders(store: &Arc<dyn Store>, name: &str) -> Result<Vec<String>> {
    let folder = format!("{BALER_FOLDER}/{name}");
    let listed: Vec<_> = store.list(&folder, "").try_collect().await?;
    let below = |path: &str| {
        let below = path.strip_prefix(&folder)?.strip_prefix('/')?;
        Some(below.split_once('/')?.0.to_owned())
    };
    let mut names: Vec<String> = listed.iter().filter_map(|meta| below(&meta.path)).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// `<job>-<range>-<entry>.<event>`
fn attempt(name: &str) -> Option<Attempt> {
    let mut parts = name.split('-');
    let job = JobId(parts.next()?.parse().ok()?);
    let range = match parts.next()? {
        "publish" => RangeId::Publish,
        number => RangeId::Keys(number.parse().ok()?),
    };
    let (sequence, index) = parts.next()?.split_once('.')?;
    let token = Token {
        sequence: Sequence(sequence.parse().ok()?),
        index: index.parse().ok()?,
    };
    parts.next().is_none().then_some(Attempt { job, range, token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staging_folder_names_its_attempt() {
        for (range, name) in [
            (RangeId::Keys(3), "12-3-45.6"),
            (RangeId::Publish, "12-publish-45.6"),
        ] {
            let token = Token {
                sequence: Sequence(45),
                index: 6,
            };
            let job = JobId(12);
            assert_eq!(attempt(name), Some(Attempt { job, range, token }));
        }
        for name in ["", "12", "12-0", "12-0-45", "12-0-45.6-7", "a-0-45.6", "due-17"] {
            assert_eq!(attempt(name), None, "{name}");
        }
    }
}
