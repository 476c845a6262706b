//! Some of a root's folders, told apart by their paths.

use std::fmt;
use std::sync::Arc;

/// Says which folders are meant.
#[derive(Clone)]
pub struct FolderFilter(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl FolderFilter {
    /// Those for which this is true.
    pub fn new(is_meant: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_meant))
    }

    /// Whether this one is meant.
    pub fn is_match(&self, folder: &str) -> bool {
        (self.0)(folder)
    }
}

impl fmt::Debug for FolderFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FolderFilter")
    }
}
