//! What requests are for, and what they are.

use serde::{Deserialize, Serialize};

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Entries, snapshots and boundaries of the journal.
    Journal,
    /// Finding files.
    List,
    /// Reading the footers of files.
    Footer,
    /// Asking whether a file is still there, in the same version.
    Head,
    /// Reading inputs of merges.
    Input,
    /// Writing outputs of merges.
    Output,
    /// Copying outputs to their final names.
    Publish,
    /// Taking away what was replaced or left behind.
    Delete,
    /// Finding out what the store can do.
    Probe,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Self; 9] = [
        Self::Journal,
        Self::List,
        Self::Footer,
        Self::Head,
        Self::Input,
        Self::Output,
        Self::Publish,
        Self::Delete,
        Self::Probe,
    ];
}

/// What a request is, as stores count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Reading an object, or a part of it, or a setting of the bucket.
    Get,
    /// Writing an object.
    Put,
    /// One page of a listing.
    List,
    /// Asking for what is known of an object.
    Head,
    /// Deleting one object or a batch of them.
    Delete,
    /// A server-side copy.
    Copy,
    /// Beginning or ending an upload in parts, or one part.
    Multipart,
}
