//! What can go wrong in a directory, in words that say what to do next.

use std::io;
use std::path::{Path, PathBuf};

use baler_core::file::FilePath;
use rustix::io::Errno;

/// Why an operation on a directory failed.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// No such directory.
    #[error("{} does not exist: check the spelling, or make it first", path.display())]
    Missing {
        /// As it was given.
        path: PathBuf,
    },
    /// Something else has that name.
    #[error("{} is not a directory: name the folder that holds the files", path.display())]
    NotADirectory {
        /// What was found.
        path: PathBuf,
    },
    /// The directory vanished, or another took its name.
    #[error("{} is no longer the directory it was: if a disk was unmounted or the folder moved, bring it back and run again", path.display())]
    Replaced {
        /// Where it was.
        path: PathBuf,
    },
    /// A path that does not belong to this folder, or would lead out of it.
    #[error("{path} is no path inside {}", folder.display())]
    NotInside {
        /// The path.
        path: FilePath,
        /// The folder.
        folder: PathBuf,
    },
    /// Something was about to be written to the source of a table with `--output`.
    #[error("{path} belongs to the source, which is never written to")]
    SourceIsReadOnly {
        /// The path.
        path: FilePath,
    },
    /// A folder has become a link, or lies behind one.
    #[error("{} is a link to {}: Baler does not write through links; make it a real folder, or use {} as the root", path.display(), real.display(), real.display())]
    BehindALink {
        /// The folder's name.
        path: PathBuf,
        /// What it leads to.
        real: PathBuf,
    },
    /// Only what Baler named itself may be deleted by its name.
    #[error("refused to delete {path}: Baler did not name it")]
    NotOurs {
        /// The path.
        path: FilePath,
    },
    /// A file of Baler's own is not as it was written.
    #[error("{} is damaged: {what}; leave it where it is and run `baler verify`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Expected and found.
        what: String,
    },
    /// The final name of an output holds something else.
    #[error("{} exists, but is not the output that belongs there ({what}): move it away and run again", path.display())]
    Taken {
        /// The name.
        path: PathBuf,
        /// Expected and found.
        what: String,
    },
    /// Others kept changing the same names.
    #[error("{} was changed by others again and again: run again when they are done", path.display())]
    Contended {
        /// The name.
        path: PathBuf,
    },
    /// The operating system said no.
    #[error("cannot {doing} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// The verb.
        doing: &'static str,
        /// The object of it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl FolderError {
    /// Wraps what the system said with what was being done to which path.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// Whether there is no room left: no fault of any input, and over when there is room again.
    pub fn is_full(&self) -> bool {
        self.errno()
            .is_some_and(|e| [Errno::NOSPC, Errno::DQUOT].contains(&e))
    }

    /// Whether the place may not be written to, or the file not be read.
    pub fn is_forbidden(&self) -> bool {
        self.errno()
            .is_some_and(|e| [Errno::ROFS, Errno::ACCESS, Errno::PERM].contains(&e))
    }

    fn errno(&self) -> Option<Errno> {
        match self {
            Self::Io { source, .. } => Errno::from_io_error(source),
            _ => None,
        }
    }
}

/// What to do about an error of the system, as the end of a sentence; empty where there is nothing to say.
pub fn advice(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::ROFS) => {
            " (mounted read-only: mount it writable, or write elsewhere with `--output`; nothing was changed)"
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            " (run as a user who may read and write there, or write elsewhere with `--output`)"
        }
        Some(Errno::NOSPC) => {
            " (free some space and run again: finished work is kept, and `baler gc` removes what is past its grace)"
        }
        Some(Errno::DQUOT) => {
            " (your quota is used up: raise it or free some space, then run again; finished work is kept)"
        }
        Some(Errno::XDEV) => {
            " (the two lie on different file systems: a folder below the root is mounted from elsewhere; make it a root of its own)"
        }
        Some(Errno::MFILE | Errno::NFILE) => {
            " (too many open files: raise `ulimit -n`, or use fewer workers)"
        }
        Some(Errno::STALE) => " (the network file system lost it: mount it anew and run again)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_or_read_only_place_is_told_with_what_to_do() {
        for (errno, word, full, forbidden) in [
            (Errno::NOSPC, "free some space", true, false),
            (Errno::DQUOT, "quota", true, false),
            (Errno::ROFS, "--output", false, true),
            (Errno::ACCESS, "run as a user", false, true),
            (Errno::XDEV, "root of its own", false, false),
        ] {
            let error = FolderError::io("create", Path::new("/data/x"))(errno.into());
            let text = error.to_string();
            assert!(text.starts_with("cannot create /data/x: "), "{text}");
            assert!(text.contains(word), "{text}");
            assert_eq!(
                (error.is_full(), error.is_forbidden()),
                (full, forbidden),
                "{text}"
            );
        }
    }
}
