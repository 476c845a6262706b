//! What Baler will not touch, looked for before anything is written. A table of another format whose files were
//! compacted behind its back would be destroyed; two journals over the same files would each replace the other's.
//!
//! Looked at are the folder itself, every folder below it and every folder above it. Folders below whose name begins
//! with `.` are not entered: they hold no data, and some file systems show copies of the whole tree there
//! (`.snapshot`). Links are not followed, because no listing follows them. A folder that cannot be read is passed
//! over here: nothing is compacted in it either, and the listing reports it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::depot::{Found, Namer};
use crate::folder::walk::walk;
use crate::folder::{Folder, FolderError};

/// The folder of a root's journal.
const JOURNAL: &str = "_baler/journal";

/// Formats whose tables list their own files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Delta Lake.
    Delta,
    /// Apache Iceberg.
    Iceberg,
    /// Apache Hudi.
    Hudi,
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delta => "a Delta table",
            Self::Iceberg => "an Iceberg table",
            Self::Hudi => "a Hudi table",
        })
    }
}

/// Why Baler will not work here.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The folder is, holds or lies inside a table of another format.
    #[error(
        "{} belongs to {format} (found {}): changing its files behind its back would destroy it. \
         Compact it with that format's own tools, or choose a folder that neither holds nor lies inside it",
        folder.display(), found.display()
    )]
    OtherFormat {
        /// What was asked for.
        folder: PathBuf,
        /// What kind of table.
        format: TableFormat,
        /// How it shows.
        found: PathBuf,
    },
    /// Another root's journal lies above or below.
    #[error(
        "{} and {} cannot both be roots (found {}): two journals over the same files would undo each other's work. \
         Use {} as the root, or a folder outside of it",
        folder.display(), other.display(), other.join(JOURNAL).display(), other.display()
    )]
    RootsOverlap {
        /// What was asked for.
        folder: PathBuf,
        /// The other root.
        other: PathBuf,
    },
    /// The source of `--output` is, holds or lies inside a root.
    #[error(
        "{} cannot be a source, because Baler compacts {} in place (found {}): while it does, rows may lie in two files \
         at once. Run `baler compact {}` without `--output`, or read from a folder outside of it",
        folder.display(), other.display(), other.join(JOURNAL).display(), other.display()
    )]
    SourceIsARoot {
        /// What was asked for.
        folder: PathBuf,
        /// The root.
        other: PathBuf,
    },
    /// Source and output are one, or one lies in the other.
    #[error(
        "the output {} and the source {} overlap: choose an output outside of the source, \
         or leave out `--output` to compact in place",
        output.display(), source_folder.display()
    )]
    SourceAndOutputOverlap {
        /// Where to read.
        source_folder: PathBuf,
        /// Where to write.
        output: PathBuf,
    },
    /// A new output folder already holds somebody's data.
    #[error(
        "{} already holds data that Baler did not write (found {found}): its rows would be mixed with the output's. \
         Choose an empty or new folder for `--output`",
        output.display()
    )]
    OutputHoldsData {
        /// Where to write.
        output: PathBuf,
        /// One of the files.
        found: String,
    },
    /// A folder holds outputs of Baler's, but no journal that knows of them.
    #[error(
        "{} holds outputs of an earlier run (found {found}), but no journal: what they were made of is not known, \
         and the same rows would be written again. Restore {}, or choose an empty or new folder for `--output`",
        output.display(), output.join("_baler").display()
    )]
    OutputLostItsJournal {
        /// Where to write.
        output: PathBuf,
        /// One of the files.
        found: String,
    },
    /// A folder that was copied with its journal, or restored.
    #[error(
        "{} is a copy of a Baler root, or was restored: to its journal, which was written elsewhere, every file here is another \
         version. Nothing was changed. Go on in the folder that was copied; or stop everybody who works here and run \
         `baler journal repair {}`, after which everything goes on as usual, with the files of this folder and a journal of its own",
        folder.display(), folder.display()
    )]
    Copied {
        /// The copy.
        folder: PathBuf,
    },
    /// It could not be looked at.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Checks a folder that is to be, or is, a root. Again after the journal's first entry is written: two that overlap may
/// have been made at the same time, and then at least one of them sees the other.
pub fn check_root(folder: &Folder) -> Result<(), Refusal> {
    check(folder.path(), |other| Refusal::RootsOverlap {
        folder: folder.path().into(),
        other,
    })
}

/// Checks a folder that is to be read from with `--output`.
pub fn check_source(folder: &Folder) -> Result<(), Refusal> {
    let refusal = |other| Refusal::SourceIsARoot {
        folder: folder.path().into(),
        other,
    };
    if has_name(&folder.path().join(JOURNAL))? {
        return Err(refusal(folder.path().into()));
    }
    check(folder.path(), refusal)
}

/// Checks that nothing would be read from where it is written, whatever links or mounts lead there. `output` need not
/// exist yet.
pub fn check_overlap(source: &Folder, output: &Path) -> Result<(), Refusal> {
    let existing = nearest_existing(output)?;
    let above_output = existing.ancestors().map(|above| (above, source.path()));
    let above_source = source.path().ancestors().map(|above| (above, existing.as_path()));
    // Something above the source is no overlap while the output only shall lie in it.
    let output_exists = output.is_dir();
    let overlap = above_output
        .chain(above_source.filter(|_| output_exists))
        .any(|(above, other)| is_same(above, other));
    if overlap {
        return Err(Refusal::SourceAndOutputOverlap {
            source_folder: source.path().into(),
            output: output.into(),
        });
    }
    Ok(())
}

/// Checks that a folder can become the root of an `--output`: it has a journal already, or no data.
pub fn check_output(folder: &Folder) -> Result<(), Refusal> {
    if has_journal(folder)? {
        return Ok(());
    }
    let output = || folder.path().into();
    let mut own = None;
    for found in walk(folder, None) {
        match found? {
            Found::Data(file) if file.namer == Namer::Other => {
                return Err(Refusal::OutputHoldsData {
                    output: output(),
                    found: file.path.to_string(),
                });
            }
            Found::Data(file) => own = own.or(Some(file.path.to_string())),
            Found::Skipped { .. } => {}
        }
    }
    match own {
        Some(found) => Err(Refusal::OutputLostItsJournal {
            output: output(),
            found,
        }),
        None => Ok(()),
    }
}

/// Whether the folder holds a journal with something in it.
pub fn has_journal(folder: &Folder) -> Result<bool, FolderError> {
    let journal = folder.path().join(JOURNAL);
    match fs::read_dir(&journal) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(FolderError::io("list", &journal)(error)),
    }
}

fn check(top: &Path, journal_found: impl Fn(PathBuf) -> Refusal) -> Result<(), Refusal> {
    let format_found = |(format, found)| Refusal::OtherFormat {
        folder: top.into(),
        format,
        found,
    };
    for above in top.ancestors().skip(1) {
        if has_name(&above.join(JOURNAL))? {
            return Err(journal_found(above.into()));
        }
        if let Some(sign) = sign_in(above)? {
            return Err(format_found(sign));
        }
    }
    let mut waiting = vec![top.to_owned()];
    while let Some(folder) = waiting.pop() {
        for (name, kind) in entries(&folder)? {
            let path = folder.join(&name);
            if kind.is_file() {
                continue;
            }
            if let Some(format) = sign(&name, &path)? {
                return Err(format_found((format, path)));
            }
            if name == "_baler" {
                if folder != top && has_name(&path.join("journal"))? {
                    return Err(journal_found(folder));
                }
            } else if kind.is_dir() && !name.as_encoded_bytes().starts_with(b".") {
                waiting.push(path);
            }
        }
    }
    Ok(())
}

/// What a folder holds; nothing where it is closed to us, or gone.
fn entries(folder: &Path) -> Result<Vec<(OsString, FileType)>, FolderError> {
    let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied || is_absent(error);
    let list = || {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type() {
                Err(error) if is_absent(&error) => {}
                kind => entries.push((entry.file_name(), kind?)),
            }
        }
        Ok(entries)
    };
    match list() {
        Err(error) if is_closed(&error) => Ok(Vec::new()),
        result => result.map_err(FolderError::io("list", folder)),
    }
}

/// The first sign of another format in a folder that need not be readable.
fn sign_in(folder: &Path) -> Result<Option<(TableFormat, PathBuf)>, FolderError> {
    for name in ["_delta_log", ".hoodie", "metadata"] {
        let path = folder.join(name);
        if has_name(&path)?
            && let Some(format) = sign(OsStr::new(name), &path)?
        {
            return Ok(Some((format, path)));
        }
    }
    Ok(None)
}

/// Of which format this folder, or link to one, is a sign.
fn sign(name: &OsStr, path: &Path) -> Result<Option<TableFormat>, FolderError> {
    match name.to_str() {
        Some("_delta_log") => Ok(Some(TableFormat::Delta)),
        Some(".hoodie") => Ok(Some(TableFormat::Hudi)),
        Some("metadata") => Ok(holds_iceberg_metadata(path)?.then_some(TableFormat::Iceberg)),
        _ => Ok(None),
    }
}

fn holds_iceberg_metadata(metadata: &Path) -> Result<bool, FolderError> {
    let entries = match fs::read_dir(metadata) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(false),
        Err(error) => return Err(FolderError::io("list", metadata)(error)),
    };
    for entry in entries {
        let name = entry.map_err(FolderError::io("list", metadata))?.file_name();
        // Compressed ones are named `.gz.metadata.json` or `.metadata.json.gz`.
        if name.to_string_lossy().contains(".metadata.json") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_name(path: &Path) -> Result<bool, FolderError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(FolderError::io("look at", path)(error)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn is_same(a: &Path, b: &Path) -> bool {
    let place = |path| fs::metadata(path).map(|folder| (folder.dev(), folder.ino()));
    a == b || matches!((place(a), place(b)), (Ok(a), Ok(b)) if a == b)
}

/// The canonical path of the longest part that exists.
fn nearest_existing(path: &Path) -> Result<PathBuf, FolderError> {
    let absolute = std::path::absolute(path).map_err(FolderError::io("open", path))?;
    for part in absolute.ancestors() {
        match fs::canonicalize(part) {
            Ok(existing) => return Ok(existing),
            // What lies behind `..` in a folder that does not exist is nowhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if part.components().next_back() == Some(Component::ParentDir) {
                    return Err(FolderError::Missing { path: path.into() });
                }
            }
            Err(error) => return Err(FolderError::io("open", part)(error)),
        }
    }
    Err(FolderError::Missing { path: path.into() })
}

#[cfg(test)]
mod tests;
