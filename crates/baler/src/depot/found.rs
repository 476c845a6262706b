//! What a listing comes across, wherever it lists.

use std::fmt;

use baler_core::file::{FilePath, Identity};
use baler_core::ids::JournalId;
use baler_core::names::OutputName;

/// Something that a listing came across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A data file.
    Data(DataFile),
    /// Something that looks like data, but is never taken.
    Skipped {
        /// Its path below the place that is listed; where the name is no text, a likeness of it.
        path: String,
        /// Why.
        reason: SkipReason,
    },
}

/// An object, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub path: FilePath,
    /// Which version of that name.
    pub identity: Identity,
}

/// A data file as the listing saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its name.
    pub path: FilePath,
    /// Which version of that name.
    pub identity: Identity,
    /// Who named it.
    pub namer: Namer,
}

/// Who named a data file, as far as the name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namer {
    /// Somebody else.
    Other,
    /// An attempt that this journal granted, or that its name claims it did.
    ThisJournal(OutputName),
    /// An attempt of another journal: a directory copied without its journal, a restored backup.
    AnotherJournal(OutputName),
}

impl Namer {
    /// Who named a file that is called this, in the eyes of the owner of `journal`.
    pub fn of(name: &str, journal: Option<JournalId>) -> Self {
        match OutputName::parse(name) {
            None => Self::Other,
            Some(output) if Some(output.journal) == journal => Self::ThisJournal(output),
            Some(output) => Self::AnotherJournal(output),
        }
    }
}

/// Why something that looks like data is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// Renaming the link aside would not take away what it leads to; and links can form loops.
    Link,
    /// The journal writes names as text.
    NotUtf8,
    /// A device, a pipe, a socket.
    NotAFile,
    /// The name ends in something like `.PARQUET`.
    Spelling,
    /// Mounted from elsewhere, so that nothing in it can be renamed into the root.
    OtherFileSystem,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "a symbolic link: links are not followed; give the real folder as the root",
            Self::NotUtf8 => "its name is not UTF-8: rename it",
            Self::NotAFile => "not an ordinary file",
            Self::Spelling => "only names that end in `.parquet`, in lower case, are data: rename it",
            Self::OtherFileSystem => "mounted from another file system: make it a root of its own",
        })
    }
}
