//! What can go wrong where files lie, by what the caller should do next.

use std::io;

use baler_core::file::FilePath;

use super::bucket::BucketError;
use crate::folder::FolderError;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum DepotError {
    /// In a folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// In a bucket.
    #[error(transparent)]
    Bucket(#[from] BucketError),
}

impl DepotError {
    /// Whether the place may not be written to, or the file not be read.
    pub fn is_forbidden(&self) -> bool {
        match self {
            Self::Folder(error) => error.is_forbidden(),
            Self::Bucket(error) => error.is_forbidden(),
        }
    }

    /// For those who know only errors of the system; what the system said stays inside.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Folder(FolderError::Io { source, .. }) => source,
            other => io::Error::other(other),
        }
    }
}

/// Why an input could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// Nothing lies there any more.
    #[error("{path} is gone")]
    Gone {
        /// Where it was.
        path: FilePath,
    },
    /// Another version lies there.
    #[error("{path} was overwritten: it had {expected} bytes{}", now(*expected, *found))]
    Changed {
        /// Where it is.
        path: FilePath,
        /// The length of the version that was asked for.
        expected: u64,
        /// The length of the version that was found, where it is known.
        found: Option<u64>,
    },
    /// It lies in an archive, and must be restored before it can be read.
    #[error("{path} is archived ({class}): restore it, and a later run takes it")]
    Archived {
        /// Where it is.
        path: FilePath,
        /// The storage class, in the store's words.
        class: String,
    },
    /// It could not be seen.
    #[error(transparent)]
    Failed(#[from] DepotError),
}

fn now(expected: u64, found: Option<u64>) -> String {
    match found {
        None => String::new(),
        Some(found) if found == expected => ", and has as many now, but is another version".to_owned(),
        Some(found) => format!(", and has {found} now"),
    }
}

impl From<FolderError> for InputError {
    fn from(error: FolderError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<BucketError> for InputError {
    fn from(error: BucketError) -> Self {
        Self::Failed(error.into())
    }
}
