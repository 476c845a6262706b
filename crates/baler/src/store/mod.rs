//! Cloud stores: S3, Google Cloud Storage, Azure.
//!
//! A `Bucket` hands out stores of the `object_store` crate, one for each purpose, all rooted at one prefix. Each is a
//! stack with one wrapper a concern. Above the client stand stores around stores (lengths checked, broken bodies
//! resumed, output settings); below it stand HTTP services around HTTP services (words for errors, retries with a
//! budget, counters, the concurrency limit, the rate limit), because only there a page of a listing, a part of an
//! upload and a bulk delete are what they are: one request each.
//!
//! The journal's store has its own stack, in which nothing tries again.

mod faults;
mod location;
mod output_settings;
mod price;
mod purpose;
mod unreliable_journal;
mod usage;

#[cfg(feature = "cloud")]
mod bucket;
#[cfg(feature = "cloud")]
mod checked;
#[cfg(feature = "cloud")]
mod client;
#[cfg(feature = "cloud")]
mod completion;
#[cfg(feature = "cloud")]
mod conditional;
#[cfg(feature = "cloud")]
mod facts;
#[cfg(feature = "cloud")]
mod http;
#[cfg(feature = "cloud")]
mod layer;
#[cfg(feature = "cloud")]
mod outputs;
#[cfg(feature = "cloud")]
mod resume;
#[cfg(feature = "cloud")]
mod uniform;
#[cfg(feature = "cloud")]
mod unreliable;
#[cfg(feature = "cloud")]
mod uploads;

#[cfg(not(feature = "cloud"))]
#[path = "bucket_absent.rs"]
mod bucket;

use std::collections::BTreeMap;

pub use bucket::Bucket;
pub(crate) use faults::Faults;
#[cfg(all(feature = "cli", feature = "http"))]
pub(crate) use faults::{FAULTS, TALLY, tallied};
pub use location::{BucketUrl, Location, LocationError, Scheme};
pub use output_settings::OutputSettings;
pub use price::PriceList;
pub use purpose::{Kind, Purpose};
pub(crate) use unreliable_journal::UnreliableJournal;
pub use usage::{Traffic, Usage};

/// The settings that a store's client is built from: the names and values of environment variables.
pub type Variables = BTreeMap<String, String>;

/// The environment of this process, as far as it is text.
pub fn environment() -> Variables {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Why a bucket could not be opened. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// This binary was built without cloud stores.
    #[error("{url}: this baler was built without cloud stores; build it with the feature `cloud`")]
    NotBuiltIn {
        /// The bucket.
        url: String,
    },
    /// A setting is missing or wrong.
    #[error("{url}: {reason}")]
    Settings {
        /// The bucket.
        url: String,
        /// What is wrong, and what to set.
        reason: String,
    },
}

/// What became of a conditional delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteIf {
    /// The object was that version, and is gone.
    Deleted,
    /// There is another version under the name. It was left alone.
    Changed,
    /// There is nothing under the name.
    Missing,
    /// The store cannot delete by condition. Nothing was deleted.
    Unsupported,
}

/// What a store tells of an object beside its identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectFacts {
    /// The storage class or access tier, where it is not the store's default.
    pub storage_class: Option<String>,
    /// Its bytes cannot be read before somebody restores it.
    pub archived: bool,
    /// User metadata.
    pub metadata: BTreeMap<String, String>,
    /// How many tags it has. Their text takes another request and another right.
    pub tags: u64,
}
