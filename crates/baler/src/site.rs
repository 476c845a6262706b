//! Where a table's files lie: the root, and with `--output` the source that they come from.

use std::sync::Arc;

use baler_core::file::{File, FilePath, Place};

use crate::cache::{self, Cache, Key};
use crate::depot::{Depot, Input};
use crate::store::{PriceList, Usage};

/// The depots of a table.
#[derive(Clone, Debug)]
pub struct Site {
    /// Holds the journal and everything that Baler writes.
    pub root: Depot,
    /// Only read, never written to.
    pub source: Option<Depot>,
    /// Where inputs may be found nearer, if somewhere.
    pub cache: Option<Arc<Cache>>,
}

impl Site {
    /// Without a cache.
    pub fn new(root: Depot, source: Option<Depot>) -> Self {
        Self {
            root,
            source,
            cache: None,
        }
    }

    /// An input of this site, through the cache where there is one.
    pub fn cached(&self, file: &File, input: Arc<dyn Input>) -> Arc<dyn Input> {
        match &self.cache {
            Some(cache) => {
                let key = Key::of_file(&self.depot_of(&file.path).to_string(), file);
                cache::through(cache.clone(), key, input)
            }
            None => input,
        }
    }

    /// The depot that new files arrive in.
    pub fn inbox(&self) -> &Depot {
        self.source.as_ref().unwrap_or(&self.root)
    }

    /// The depot that a path is counted from.
    pub fn depot_of(&self, path: &FilePath) -> &Depot {
        match (path.place, &self.source) {
            (Place::Source, Some(source)) => source,
            _ => &self.root,
        }
    }

    /// What each of its buckets was asked so far, with the prices there.
    pub fn usages(&self) -> Vec<(Usage, PriceList)> {
        self.depots().filter_map(Depot::usage).collect()
    }

    /// A child process had asked its buckets for so much before, and has asked for so much now.
    pub fn charge(&self, before: &[Usage], now: &[Usage]) {
        let buckets = self.depots().filter(|depot| depot.usage().is_some());
        for (number, (bucket, now)) in buckets.zip(now).enumerate() {
            match before.get(number) {
                Some(before) => bucket.charge(&now.since(before)),
                None => bucket.charge(now),
            }
        }
    }

    fn depots(&self) -> impl Iterator<Item = &Depot> {
        [Some(&self.root), self.source.as_ref()].into_iter().flatten()
    }
}
