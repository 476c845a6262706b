//! What outputs are marked with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Storage class, tags and metadata of the objects that merges write. Empty: the store's own defaults.
///
/// They are set when an output is written. A server-side copy keeps metadata and tags on S3, and metadata on Google
/// and Azure. It does not keep the storage class: on S3 the copy names it again; on Google and Azure a published copy
/// gets the default class of the bucket or account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputSettings {
    /// The storage class, or Azure's access tier, in the store's own words.
    pub storage_class: Option<String>,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// User metadata.
    pub metadata: BTreeMap<String, String>,
}
