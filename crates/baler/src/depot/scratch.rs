//! Room on this machine for what does not fit into memory.

use std::io;
use std::path::{Path, PathBuf};

use baler_core::names::Attempt;

/// A folder that goes, with all that is in it, when this is dropped. What a crash leaves is swept with its attempt, or
/// by the system's own cleaning of temporary files.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// A folder among the system's temporary files.
    pub(super) fn temporary(attempt: &Attempt) -> io::Result<Self> {
        let name = format!("baler-{}-{}-{}", std::process::id(), attempt.job, attempt.token);
        Self::create(std::env::temp_dir().join(name))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is found by the sweep of its attempt.
        let _: io::Result<()> = std::fs::remove_dir_all(&self.0);
    }
}
