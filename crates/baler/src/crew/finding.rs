//! Roots below a place, at any depth that people use: in a folder of folders, or a prefix of prefixes. New ones are noticed; what is
//! no root is looked at less and less often, and a place with more folders than can be looked at is named.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use baler_core::names::BALER_FOLDER;

use super::settled_name;
use crate::root::Root;
use crate::store::{Bucket, Location, Purpose};

/// How deep below the place a root may lie.
const DEPTH_MAX: usize = 8;

/// Folders that are no roots, and are looked into.
const FOLDERS_MAX: usize = 1_000;

/// How soon a folder that is no root is looked into again.
const AGAIN_MIN: Duration = Duration::from_secs(5);
const AGAIN_MAX: Duration = Duration::from_secs(300);

/// Finds roots below one place.
pub(super) struct Finder {
    place: Location,
    bucket: Option<Bucket>,
    known: BTreeSet<String>,
    /// What is no root, by its path below the place.
    folders: BTreeMap<String, Folder>,
    told_that_it_is_too_much: bool,
}

/// A folder that is no root.
struct Folder {
    below: Vec<String>,
    due: Instant,
    pause: Duration,
}

/// What lies in a folder.
struct Inside {
    has_journal: bool,
    folders: Vec<String>,
}

impl Finder {
    /// Nothing is asked yet.
    pub(super) fn open(place: &Location) -> Result<Self> {
        let place = settled_name(place)?;
        Ok(Self {
            bucket: match &place {
                Location::Local(path) => {
                    std::fs::read_dir(path)
                        .with_context(|| format!("--roots-under {place} cannot be listed"))?;
                    None
                }
                Location::Bucket(url) => Some(Bucket::open(url)?),
            },
            place,
            known: BTreeSet::new(),
            folders: BTreeMap::new(),
            told_that_it_is_too_much: false,
        })
    }

    pub(super) fn place(&self) -> &Location {
        &self.place
    }

    /// Those that were not there, or not roots, at the last look. The nearest are looked for first.
    pub(super) async fn new_roots(&mut self) -> Result<Vec<Location>> {
        let place = self.place.clone();
        let below = self.look("", &place).await?.unwrap_or_default();
        let mut queue = VecDeque::from(below);
        let mut met = BTreeSet::from([String::new()]);
        let mut found = Vec::new();
        while let Some(path) = queue.pop_front() {
            let Some(location) = self.location(&path) else {
                continue;
            };
            if self.known.contains(&location.to_string()) {
                continue;
            }
            if met.len() > FOLDERS_MAX {
                self.tell_that_it_is_too_much();
                break;
            }
            match self.look(&path, &location).await {
                Ok(None) => {
                    self.known.insert(location.to_string());
                    found.push(location);
                    continue;
                }
                Ok(Some(below)) if path.split('/').count() < DEPTH_MAX => queue.extend(below),
                Ok(Some(_)) => {}
                Err(error) => tracing::warn!("{location} cannot be looked into now: {error:#}"),
            }
            met.insert(path);
        }
        self.folders.retain(|path, _| met.contains(path));
        Ok(found)
    }

    /// It is found again where it comes back.
    pub(super) fn forget(&mut self, root: &Location) {
        self.known.remove(&root.to_string());
    }

    /// The paths of the folders in one that is no root, as they were when it was last due; `None` for one that is.
    async fn look(&mut self, path: &str, location: &Location) -> Result<Option<Vec<String>>> {
        if let Some(known) = self.folders.get(path).filter(|known| known.due > Instant::now()) {
            return Ok(Some(known.below.clone()));
        }
        let inside = self.inside(path).await?;
        if inside.has_journal && Root::is_there(location).await? {
            return Ok(None);
        }
        let join = |name: &String| match path {
            "" => name.clone(),
            path => format!("{path}/{name}"),
        };
        let below: Vec<String> = inside.folders.iter().map(join).collect();
        let pause = match self.folders.get(path) {
            // Where roots are, others are soon made; and the place itself is looked at each time.
            _ if path.is_empty() => Duration::ZERO,
            Some(known) if !self.has_roots(path) => (known.pause * 2).min(AGAIN_MAX),
            _ => AGAIN_MIN,
        };
        let folder = Folder {
            below: below.clone(),
            due: Instant::now() + pause,
            pause,
        };
        self.folders.insert(path.to_owned(), folder);
        Ok(Some(below))
    }

    fn has_roots(&self, path: &str) -> bool {
        let above = format!("{}/{path}/", self.place);
        self.known.iter().any(|root| root.starts_with(&above))
    }

    fn location(&self, path: &str) -> Option<Location> {
        let location = self.place.join(path);
        location.inspect_err(|error| tracing::debug!("{error}")).ok()
    }

    fn tell_that_it_is_too_much(&mut self) {
        if !std::mem::replace(&mut self.told_that_it_is_too_much, true) {
            tracing::error!(
                "--roots-under {}: there are more than {FOLDERS_MAX} folders that are no roots; what lies behind them is not found. Name a \
                 place nearer to the roots",
                self.place
            );
        }
    }

    async fn inside(&self, path: &str) -> Result<Inside> {
        let names = match (&self.place, &self.bucket) {
            (Location::Local(place), _) => {
                let (folder, follows_links) = (place.join(path), path.is_empty());
                tokio::task::spawn_blocking(move || folders_of(&folder, follows_links)).await??
            }
            (_, Some(bucket)) => {
                let prefix = object_store::path::Path::from(path);
                let objects = bucket.objects(Purpose::List);
                let listed = objects.list_with_delimiter(Some(&prefix)).await?;
                let below = listed.common_prefixes.iter();
                below
                    .filter_map(|prefix| prefix.filename().map(str::to_owned))
                    .collect()
            }
            (Location::Bucket(_), None) => Vec::new(),
        };
        let has_journal = names.iter().any(|name| name == BALER_FOLDER);
        let folders = names.into_iter().filter(|name| !name.starts_with(['_', '.']));
        Ok(Inside {
            has_journal,
            folders: folders.collect(),
        })
    }
}

/// Links are followed right below the place only: deeper ones may lead back.
fn folders_of(path: &Path, follows_links: bool) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() || (follows_links && entry.path().is_dir()) {
            names.extend(entry.file_name().into_string());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(feature = "cloud")]
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;
    use object_store::path::Path as ObjectPath;
    use object_store::{ObjectStore, ObjectStoreExt};

    use super::*;
    use crate::settings::TableSettings;
    use crate::store::BucketUrl;

    async fn make_root(location: &Location) {
        let mut settings = TableSettings::unsaid();
        settings.replaced.names_once = true;
        let root = Root::open_for_compaction(location, &settings).await.unwrap();
        root.replica.close().await;
    }

    fn names(found: &[Location]) -> Vec<String> {
        found.iter().map(ToString::to_string).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn roots_are_found_at_any_depth_of_a_bucket_and_each_once() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let at = |path: &str| Location::Bucket(BucketUrl::in_own(store.clone(), path).unwrap());
        for root in ["dbs/near", "dbs/team/x/far", "elsewhere/one"] {
            make_root(&at(root)).await;
        }
        let data = ObjectPath::from("dbs/near/day=1/part.parquet");
        store.put(&data, "data".into()).await.unwrap();
        let mut finder = Finder::open(&at("dbs")).unwrap();
        let found = finder.new_roots().await.unwrap();
        assert_eq!(
            names(&found),
            ["own://store/dbs/near", "own://store/dbs/team/x/far"]
        );
        assert!(finder.new_roots().await.unwrap().is_empty());
        make_root(&at("dbs/late")).await;
        let found = finder.new_roots().await.unwrap();
        assert_eq!(names(&found), ["own://store/dbs/late"]);
        finder.forget(&found[0]);
        assert_eq!(
            names(&finder.new_roots().await.unwrap()),
            ["own://store/dbs/late"]
        );
    }

    /// Trap: a place full of data is listed without end.
    #[tokio::test(start_paused = true)]
    async fn a_place_with_too_many_folders_is_looked_at_as_far_as_is_bearable() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let at = |path: &str| Location::Bucket(BucketUrl::in_own(store.clone(), path).unwrap());
        make_root(&at("dbs/a")).await;
        for number in 0..2 * FOLDERS_MAX {
            let data = ObjectPath::from(format!("dbs/data/{number:05}/x/part.parquet"));
            store.put(&data, "data".into()).await.unwrap();
        }
        let mut finder = Finder::open(&at("dbs")).unwrap();
        assert_eq!(names(&finder.new_roots().await.unwrap()), ["own://store/dbs/a"]);
        assert!(finder.told_that_it_is_too_much);
        assert!(finder.folders.len() <= FOLDERS_MAX + 1);
    }
}
