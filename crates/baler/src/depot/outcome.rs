//! What became of names that were to be changed.

use std::sync::Arc;

use baler_core::file::{Digest, FilePath, Identity};
use baler_core::garbage::Original;
use baler_core::ids::Sequence;

/// An output that is written and durable, before it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Where it lies.
    pub path: FilePath,
    /// Its length.
    pub bytes: u64,
    /// XXH3-128 of what was written.
    pub checksum: Digest,
}

/// What became of an output that was to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publication {
    /// It lies under its final name, durably.
    Published {
        /// Its identity there.
        identity: Identity,
    },
    /// It lies under neither name as it was written: somebody removed it, or cut it short. Its job cannot commit.
    Missing,
}

/// A consumed file, and the name under which it is to wait for its deletion.
#[derive(Clone, Debug)]
pub struct ToSetAside {
    /// Which version of which file was consumed.
    pub original: Original,
    /// The name to wait under.
    pub aside: FilePath,
}

/// What became of a file that was to be set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aside {
    /// The consumed version lies at the aside name, and at its own no longer.
    Moved,
    /// Nothing lies at either name.
    Gone,
    /// Another version lies at the file's own name, and was not touched; the consumed one is gone.
    Overwritten,
    /// Another version was found aside, and lies among the data again.
    PutBack {
        /// Where: under its own name, or a fresh one beside it where that was taken. Tell the user.
        under: FilePath,
    },
}

/// What became of a file that was to be brought back from aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Back {
    /// Its bytes lie under its own name again.
    There {
        /// As this version.
        identity: Identity,
    },
    /// Another file has its name.
    Taken,
    /// It is not where it was set aside.
    Gone,
}

/// Something on a deletion list.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// The name to delete.
    pub path: FilePath,
    /// For a replaced file: the version that may be deleted. `None` for what an attempt left behind.
    pub original: Option<Original>,
    /// The entry that replaced it.
    pub replaced: Sequence,
    /// No name is ever used twice, so that a look before the deletion is enough.
    pub names_once: bool,
    /// Where a replaced file is copied to before it goes, if it is to be kept.
    pub keep: Option<Arc<str>>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// Nothing lies there any more.
    Gone,
    /// What lay there was not the consumed version, and is among the data again.
    PutBack {
        /// Where. Tell the user.
        under: FilePath,
    },
}
