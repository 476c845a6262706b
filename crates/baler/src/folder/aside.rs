//! Taking replaced inputs out of the readers' sight, and bringing back what should not have been taken.
//!
//! A directory has no "remove, if it is still this version". So a file is renamed to a name that the journal already
//! knows, and looked at there, where nobody else can replace it. What turns out to be another version is somebody's
//! new data, and is put back without replacing anything.
//!
//! ```text
//! look at the aside name:  the consumed version ─▶ Moved        another ─▶ put back        nothing ─┐
//! look at the file:        nothing ─▶ Gone       another ─▶ Overwritten       the consumed one ─────▶ rename, look again
//! ```
//!
//! Every round begins with the same look, so a crash at any point is taken up by whoever calls next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use baler_core::file::FilePath;
use baler_core::garbage::Original;

use crate::depot::{Aside, ToSetAside};
use crate::folder::moves::remove_if_there;
use crate::folder::sync::Changed;
use crate::folder::{Folder, FolderError};

/// How often others may change the names between a look and a move.
const TRIES_MAX: usize = 16;

/// Fresh names tried before giving up.
const FRESH_NAMES_MAX: u32 = 10_000;

/// Bytes of the old name that a fresh one keeps; file systems end names at 255.
const STEM_BYTES_MAX: usize = 200;

/// Held while files are set aside where the file system cannot rename without replacing.
const LOCK: &str = "_baler/aside.lock";

/// Sets one consumed file aside, and returns when that is on disk.
pub fn set_aside(folder: &Folder, original: &Original, aside: &FilePath) -> Result<Aside, FolderError> {
    let mut changed = Changed::default();
    let outcome = settle(folder, original, aside, &mut changed)?;
    changed.sync()?;
    Ok(outcome)
}

/// Sets many files aside with few syncs. One that fails does not keep the others from it; the error outside says
/// that nothing of it is known to be on disk.
pub fn set_aside_all<'a>(
    folder: &Folder,
    files: impl IntoIterator<Item = &'a ToSetAside>,
) -> Result<Vec<Result<Aside, FolderError>>, FolderError> {
    let mut changed = Changed::default();
    let outcomes = files
        .into_iter()
        .map(|file| settle(folder, &file.original, &file.aside, &mut changed))
        .collect();
    changed.sync()?;
    Ok(outcomes)
}

pub(super) fn settle(
    folder: &Folder,
    original: &Original,
    aside: &FilePath,
    changed: &mut Changed,
) -> Result<Aside, FolderError> {
    let from = folder.writable_path(&original.path)?;
    let to = folder.writable_path(aside)?;
    let consumed = Some(&original.identity);
    for _ in 0..TRIES_MAX {
        let now_aside = folder.head(&to)?;
        if now_aside.is_some() {
            changed.name(folder, &from);
            changed.name(folder, &to);
        }
        if now_aside.is_some() && now_aside.as_ref() != consumed {
            if let Some(under) = put_back(folder, &to, &original.path, changed)? {
                return Ok(Aside::PutBack { under });
            }
            continue;
        }
        let now = folder.head(&from)?;
        match (now_aside, now) {
            // One file under both names, as somebody's link may make it. Its own name is not ours to unlink; the
            // other is, and then the file can be taken as usual.
            (Some(_), now) if now.as_ref() == consumed => {
                remove_if_there(&to).map_err(FolderError::io("remove", &to))?;
            }
            (Some(_), _) => return Ok(Aside::Moved),
            (None, now) if now.as_ref() == consumed => take(folder, &from, &to)?,
            // Somebody else may have taken it between the two looks: what lies aside must not be forgotten there.
            (None, _) if folder.head(&to)?.is_some() => {}
            (None, None) => return Ok(Aside::Gone),
            (None, Some(_)) => return Ok(Aside::Overwritten),
        }
    }
    Err(FolderError::Contended { path: from })
}

fn take(folder: &Folder, from: &Path, to: &Path) -> Result<(), FolderError> {
    folder.make_parents(to)?;
    match folder.moves.take(from, to, &folder.path().join(LOCK)) {
        // Whoever was quicker left a trace that the next look finds.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
            ) =>
        {
            Ok(())
        }
        result => result.map_err(FolderError::io("set aside", from)),
    }
}

/// Moves what lies aside to the first free name: its own, or a fresh one beside it. `None` if somebody else did.
fn put_back(
    folder: &Folder,
    aside: &Path,
    original: &FilePath,
    changed: &mut Changed,
) -> Result<Option<FilePath>, FolderError> {
    for attempt in 0..FRESH_NAMES_MAX {
        let under = match attempt {
            0 => original.clone(),
            number => fresh_name(original, number),
        };
        let full: PathBuf = folder.writable_path(&under)?;
        folder.make_parents(&full)?;
        match folder.moves.move_own(aside, &full) {
            Ok(()) => {
                changed.name(folder, &full);
                return Ok(Some(under));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(aside) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                _ => {}
            },
            Err(error) => return Err(FolderError::io("put back", &full)(error)),
        }
    }
    Err(FolderError::Contended { path: aside.into() })
}

/// A data name in the same folder. It is never one of an output's form, so a listing takes it for ordinary data.
fn fresh_name(original: &FilePath, number: u32) -> FilePath {
    let name = original.name();
    let stem = name.strip_suffix(".parquet").unwrap_or(name);
    let end = (0..=stem.len().min(STEM_BYTES_MAX))
        .rev()
        .find(|&end| stem.is_char_boundary(end))
        .unwrap_or(0);
    let fresh = format!("{}-put-back-{number}.parquet", &stem[..end]);
    let path = match original.folder() {
        "" => fresh,
        folder => format!("{folder}/{fresh}"),
    };
    FilePath {
        place: original.place,
        path: path.into(),
    }
}

#[cfg(test)]
mod tests;
