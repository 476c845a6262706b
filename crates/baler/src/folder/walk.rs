//! The listing of a folder's data files, one at a time, in a fixed order: each folder's names sorted by their bytes.
//!
//! Only names that end in `.parquet`, in lower case, are data. That is what `*.parquet` finds: packing an
//! `A.PARQUET` into an output would show readers rows that they did not see before. Such names are reported.
//!
//! Nothing is passed over without a word, except what vanishes meanwhile: names that are not data are counted,
//! names that look like data but cannot be taken are reported with the reason, and a folder that cannot be read is
//! an error that names it. After such an error the listing goes on, but it is not complete.

use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::vec;

use baler_core::file::Place;
use baler_core::ids::JournalId;
use baler_core::names::is_data_path;

use crate::depot::{DataFile, Found, Namer, SkipReason};
use crate::folder::identity::identity;
use crate::folder::{Folder, FolderError};

/// What a listing passed over without reporting each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// Files that are not Parquet by their name.
    pub other_files: u64,
    /// Files and folders whose name begins with `_` or `.`.
    pub hidden: u64,
}

/// Lists a folder. With `journal`, outputs of that journal are told apart from those of others.
pub fn walk(folder: &Folder, journal: Option<JournalId>) -> Walk<'_> {
    let mut walk = Walk {
        folder,
        journal,
        open: Vec::new(),
        failed: None,
        passed_over: PassedOver::default(),
    };
    walk.descend(String::new());
    walk
}

/// A listing under way.
#[derive(Debug)]
pub struct Walk<'a> {
    folder: &'a Folder,
    journal: Option<JournalId>,
    /// The folders above the present one, each with what is left of it.
    open: Vec<OpenFolder>,
    failed: Option<FolderError>,
    passed_over: PassedOver,
}

#[derive(Debug)]
struct OpenFolder {
    /// Its path with a `/` at the end; empty at the top.
    prefix: String,
    entries: vec::IntoIter<(OsString, FileType)>,
}

impl Iterator for Walk<'_> {
    type Item = Result<Found, FolderError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            let innermost = self.open.last_mut()?;
            let Some((name, kind)) = innermost.entries.next() else {
                self.open.pop();
                continue;
            };
            let prefix = innermost.prefix.clone();
            if let Some(found) = self.look_at(&prefix, &name, kind) {
                return Some(found);
            }
        }
    }
}

impl Walk<'_> {
    /// What was passed over so far; whole once the listing has ended.
    pub fn passed_over(&self) -> PassedOver {
        self.passed_over
    }

    fn look_at(&mut self, prefix: &str, name: &OsStr, kind: FileType) -> Option<Result<Found, FolderError>> {
        let path = format!("{prefix}{}", name.to_string_lossy());
        if !is_data_path(&name.to_string_lossy()) {
            self.passed_over.hidden += 1;
            return None;
        }
        let named_as_data = is_parquet(name) || is_parquet_misspelt(name);
        let reason = if kind.is_symlink() && (named_as_data || leads_to_folder(self.folder, &path)) {
            SkipReason::Link
        } else if name.to_str().is_none() && (named_as_data || kind.is_dir()) {
            SkipReason::NotUtf8
        } else if kind.is_dir() {
            return self.enter(path);
        } else if !named_as_data {
            self.passed_over.other_files += 1;
            return None;
        } else if !kind.is_file() {
            SkipReason::NotAFile
        } else if !is_parquet(name) {
            SkipReason::Spelling
        } else {
            return self.data_file(&path).transpose();
        };
        Some(Ok(Found::Skipped { path, reason }))
    }

    fn data_file(&self, path: &str) -> Result<Option<Found>, FolderError> {
        let full = self.folder.path().join(path);
        let metadata = match fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_file() => metadata,
            // It was replaced by something else since its folder was read: the next listing reports that.
            Ok(_) => return Ok(None),
            Err(error) if has_vanished(&error) => return Ok(None),
            Err(error) => return Err(FolderError::io("look at", &full)(error)),
        };
        let path = self.folder.file_path(path);
        Ok(Some(Found::Data(DataFile {
            namer: Namer::of(path.name(), self.journal),
            identity: identity(&metadata),
            path,
        })))
    }

    fn enter(&mut self, path: String) -> Option<Result<Found, FolderError>> {
        if self.folder.place() == Place::Root && self.is_mounted_from_elsewhere(&path) {
            let reason = SkipReason::OtherFileSystem;
            return Some(Ok(Found::Skipped { path, reason }));
        }
        self.descend(path + "/");
        None
    }

    fn is_mounted_from_elsewhere(&self, path: &str) -> bool {
        fs::symlink_metadata(self.folder.path().join(path)).is_ok_and(|now| now.dev() != self.folder.device)
    }

    fn descend(&mut self, prefix: String) {
        let full = self.folder.path().join(&prefix);
        let (mut entries, error) = read_folder(&full);
        let is_top = prefix.is_empty();
        self.failed = error
            .filter(|error| is_top || !has_vanished(error))
            .map(FolderError::io("list", &full));
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.open.push(OpenFolder {
            prefix,
            entries: entries.into_iter(),
        });
    }
}

/// All that could be read of a folder, and what cut it short.
fn read_folder(full: &Path) -> (Vec<(OsString, FileType)>, Option<io::Error>) {
    let mut entries = Vec::new();
    let listing = match fs::read_dir(full) {
        Ok(listing) => listing,
        Err(error) => return (entries, Some(error)),
    };
    for entry in listing {
        match entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))) {
            Ok(entry) => entries.push(entry),
            Err(error) if has_vanished(&error) => {}
            Err(error) => return (entries, Some(error)),
        }
    }
    (entries, None)
}

/// Gone, or something else by now: both are what "others write here too" looks like.
fn has_vanished(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn is_parquet(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".parquet")
}

fn is_parquet_misspelt(name: &OsStr) -> bool {
    name.to_string_lossy().to_lowercase().ends_with(".parquet")
}

fn leads_to_folder(folder: &Folder, path: &str) -> bool {
    fs::metadata(folder.path().join(path)).is_ok_and(|target| target.is_dir())
}

#[cfg(test)]
mod tests;
