//! Roots right below a place: a folder of folders, or a prefix of prefixes. New ones are noticed; what is no root is asked less and
//! less often whether it has become one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::settled_name;
use crate::root::Root;
use crate::store::{Bucket, Location, Purpose};

/// How soon a folder that is no root is asked again.
const AGAIN_MIN: Duration = Duration::from_secs(5);
const AGAIN_MAX: Duration = Duration::from_secs(300);

/// Finds roots below one place.
pub(super) struct Finder {
    place: Location,
    bucket: Option<Bucket>,
    known: BTreeSet<String>,
    others: BTreeMap<String, (Instant, Duration)>,
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
            others: BTreeMap::new(),
        })
    }

    pub(super) fn place(&self) -> &Location {
        &self.place
    }

    /// Those that were not there, or not roots, at the last look.
    pub(super) async fn new_roots(&mut self) -> Result<Vec<Location>> {
        let names = self.folders().await?;
        self.others.retain(|name, _| names.contains(name));
        let mut found = Vec::new();
        for name in names {
            let location: Location = match format!("{}/{name}", self.place).parse() {
                Ok(location) => location,
                Err(error) => {
                    tracing::debug!("{error}");
                    continue;
                }
            };
            let due = self.others.get(&name).is_none_or(|(at, _)| *at <= Instant::now());
            if self.known.contains(&location.to_string()) || !due {
                continue;
            }
            match Root::is_there(&location).await {
                Ok(true) => {
                    self.others.remove(&name);
                    self.known.insert(location.to_string());
                    found.push(location);
                }
                Ok(false) => self.ask_later(name),
                Err(error) => {
                    tracing::warn!("{location} may be a root, which cannot be seen now: {error:#}");
                    self.ask_later(name);
                }
            }
        }
        Ok(found)
    }

    /// It is found again where it comes back.
    pub(super) fn forget(&mut self, root: &Location) {
        self.known.remove(&root.to_string());
    }

    fn ask_later(&mut self, name: String) {
        let (at, pause) = self.others.entry(name).or_insert((Instant::now(), AGAIN_MIN));
        *at = Instant::now() + *pause;
        *pause = (*pause * 2).min(AGAIN_MAX);
    }

    async fn folders(&self) -> Result<Vec<String>> {
        let names = match (&self.place, &self.bucket) {
            (Location::Local(path), _) => {
                let path = path.clone();
                tokio::task::spawn_blocking(move || folders_of(&path)).await??
            }
            (_, Some(bucket)) => {
                let listed = bucket.objects(Purpose::List).list_with_delimiter(None).await?;
                let names = listed
                    .common_prefixes
                    .iter()
                    .filter_map(|prefix| prefix.filename());
                names.map(str::to_owned).collect()
            }
            (Location::Bucket(_), None) => Vec::new(),
        };
        Ok(names
            .into_iter()
            .filter(|name| !name.starts_with(['_', '.']))
            .collect())
    }
}

fn folders_of(path: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.path().is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    names.sort();
    Ok(names)
}
