//! What can go wrong in a bucket, in words that say what to do next.

use baler_core::file::FilePath;
use baler_journal::store::StoreError;

/// Why an operation on a bucket failed.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// The store said no, or nothing.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something was about to be written to the source of a table with `--output`.
    #[error("{path} belongs to the source, which is never written to")]
    SourceIsReadOnly {
        /// The path.
        path: FilePath,
    },
    /// A name that cannot be asked for.
    #[error("{path} is no name that stores agree on: copy the object under a plain name")]
    OddPath {
        /// The path.
        path: FilePath,
    },
    /// Only what Baler named itself may be deleted by its name.
    #[error("refused to delete {path}: Baler did not name it")]
    NotOurs {
        /// The path.
        path: FilePath,
    },
    /// The final name of an output holds something else.
    #[error("{path} exists, but is not the output that belongs there ({what}): move it away and run again")]
    Taken {
        /// The name.
        path: FilePath,
        /// Expected and found.
        what: String,
    },
    /// A staged output is not as it was written.
    #[error("{path} is damaged: {what}; leave it where it is and run `baler verify`")]
    Damaged {
        /// The object.
        path: FilePath,
        /// Expected and found.
        what: String,
    },
    /// A file was to be set aside.
    #[error("{path} cannot be set aside: stores have no renames")]
    NoRenames {
        /// The object.
        path: FilePath,
    },
    /// Baler does not work here.
    #[error(transparent)]
    Refused(Box<crate::folder::refuse::Refusal>),
    /// The store cannot delete one version of an object.
    #[error(
        "{path} is replaced, but stays: this store cannot delete an object only if it is still the version that was \
         merged. If names in this bucket are never used twice, say so with --names-never-reused"
    )]
    NoConditionalDelete {
        /// The object.
        path: FilePath,
    },
}

impl BucketError {
    /// What an `object_store` error means.
    pub(super) fn from_object_store(path: &FilePath, error: &object_store::Error) -> Self {
        Self::Store(StoreError::from_object_store(&path.path, error))
    }

    /// Whether a right is missing.
    pub fn is_forbidden(&self) -> bool {
        matches!(
            self,
            Self::Store(StoreError::Denied { .. } | StoreError::ReadOnly { .. })
        )
    }
}
