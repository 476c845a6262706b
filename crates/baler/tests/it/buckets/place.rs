//! Fresh buckets on the servers that are installed. `cargo xtask test` installs them.

use baler::store::{Bucket, Location, OutputSettings, Variables};
use baler_teststores::{shared_azurite, shared_seaweed};

/// A bucket on a server of one kind, and how to reach it.
pub(super) struct Place {
    pub(super) url: String,
    variables: Variables,
}

impl Place {
    /// A new bucket on each server there is.
    pub(super) async fn all() -> Vec<Self> {
        let places = [("SeaweedFS", Self::s3().await), ("Azurite", Self::azure().await)];
        let there = |(server, place): (_, Option<Self>)| {
            if place.is_none() {
                println!("skipped: {server} is not installed");
            }
            place
        };
        places.into_iter().filter_map(there).collect()
    }

    /// Opens a prefix of the bucket.
    pub(super) fn open(&self, prefix: &str) -> Bucket {
        self.open_marked(prefix, OutputSettings::default())
    }

    pub(super) fn open_marked(&self, prefix: &str, settings: OutputSettings) -> Bucket {
        open(&format!("{}/{prefix}", self.url), &self.variables, settings)
    }

    /// Opens a bucket that does not exist.
    pub(super) fn open_missing(&self) -> Bucket {
        let url = format!("{}-not", self.url);
        open(&url, &self.variables, OutputSettings::default())
    }

    async fn s3() -> Option<Self> {
        let server = shared_seaweed().await?;
        Some(Self {
            url: format!("s3://{}", server.new_bucket().await.unwrap()),
            variables: owned(server.s3().env()),
        })
    }

    async fn azure() -> Option<Self> {
        let server = shared_azurite().await?;
        Some(Self {
            url: format!("az://{}", server.new_container().await.unwrap()),
            variables: owned(server.azure().env()),
        })
    }
}

fn open(url: &str, variables: &Variables, settings: OutputSettings) -> Bucket {
    let Ok(Location::Bucket(url)) = url.parse() else {
        panic!("{url} is no bucket");
    };
    Bucket::open_with(&url, variables, settings).unwrap()
}

fn owned(variables: impl IntoIterator<Item = (&'static str, String)>) -> Variables {
    let pairs = variables.into_iter();
    pairs.map(|(name, value)| (name.to_owned(), value)).collect()
}
