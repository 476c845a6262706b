//! Copies what was set aside back to where it lay, for an undo. A copy, not a rename: a process that was stopped while it set
//! this very version aside would take it away again when it wakes; a copy is another version, which nobody touches.

use std::fs;
use std::io;
use std::path::Path;

use baler_core::file::FilePath;
use baler_core::garbage::Original;
use baler_core::names::BALER_FOLDER;

use crate::depot::{Aside, Back, ToSetAside};
use crate::folder::aside::settle;
use crate::folder::moves::remove_if_there;
use crate::folder::publish::checksum;
use crate::folder::sync::Changed;
use crate::folder::{Folder, FolderError};

/// Brings files back. One that fails does not keep the others from it.
pub fn bring_back_all(
    folder: &Folder,
    files: &[ToSetAside],
) -> Result<Vec<Result<Back, FolderError>>, FolderError> {
    let lock = folder.path().join(BALER_FOLDER);
    let held = fs::File::open(&lock).map_err(FolderError::io("open", &lock))?;
    // Two who bring back the same file would write to one copy.
    held.lock().map_err(FolderError::io("lock", &lock))?;
    let backs = files
        .iter()
        .map(|file| bring_back(folder, &file.original, &file.aside));
    Ok(backs.collect())
}

/// Whoever was in the middle of setting it aside is helped first. Called again after a crash, at any point, it ends the same.
fn bring_back(folder: &Folder, original: &Original, aside: &FilePath) -> Result<Back, FolderError> {
    let mut changed = Changed::default();
    if settle(folder, original, aside, &mut changed)? != Aside::Moved {
        return Ok(Back::Gone);
    }
    let (from, to) = (
        folder.writable_path(aside)?,
        folder.writable_path(&original.path)?,
    );
    let copy = from.with_extension("back");
    remove_if_there(&copy).map_err(FolderError::io("remove", &copy))?;
    let taken = match folder.head(&to)? {
        Some(_) => true,
        None => is_taken(folder, &from, &copy, &to)?,
    };
    if taken && checksum(folder, aside)? != checksum(folder, &original.path)? {
        return Ok(Back::Taken);
    }
    changed.name(folder, &from);
    changed.name(folder, &to);
    changed.sync()?;
    Ok(match folder.identity_now(&original.path)? {
        Some(identity) => Back::There { identity },
        None => Back::Gone,
    })
}

/// Makes the copy durable and gives it its name; answers whether somebody else had it.
fn is_taken(folder: &Folder, from: &Path, copy: &Path, to: &Path) -> Result<bool, FolderError> {
    fs::copy(from, copy).map_err(FolderError::io("copy", from))?;
    let synced = fs::File::open(copy).and_then(|file| file.sync_all());
    synced.map_err(FolderError::io("write", copy))?;
    folder.make_parents(to)?;
    match folder.moves.move_own(copy, to) {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove_if_there(copy).map_err(FolderError::io("remove", copy))?;
            Ok(true)
        }
        Err(error) => Err(FolderError::io("bring back", to)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::aside::set_aside;

    fn scene() -> (tempfile::TempDir, Folder, Original, FilePath) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("_baler")).unwrap();
        fs::write(dir.path().join("a.parquet"), "rows").unwrap();
        let folder = Folder::open_root(dir.path()).unwrap();
        let path = FilePath::in_root("a.parquet");
        let identity = folder.identity_now(&path).unwrap().unwrap();
        let aside = FilePath::in_root("_baler/aside/0/0.aside");
        (dir, folder, Original { path, identity }, aside)
    }

    fn back(folder: &Folder, original: &Original, aside: &FilePath) -> Back {
        let file = ToSetAside {
            original: original.clone(),
            aside: aside.clone(),
        };
        bring_back_all(folder, &[file]).unwrap().remove(0).unwrap()
    }

    /// Trap: a rename would bring back the very version that a sleeping process is about to set aside.
    #[test]
    fn a_copy_is_not_taken_by_who_would_set_the_old_version_aside() {
        let (dir, folder, original, aside) = scene();
        assert_eq!(set_aside(&folder, &original, &aside).unwrap(), Aside::Moved);
        let Back::There { identity } = back(&folder, &original, &aside) else {
            panic!("it is not back");
        };
        assert_ne!(identity, original.identity);
        // The sleeper wakes up.
        set_aside(&folder, &original, &aside).unwrap();
        let there = fs::read_to_string(dir.path().join("a.parquet")).unwrap();
        assert_eq!(there, "rows");
        assert_eq!(
            back(&folder, &original, &aside),
            Back::There { identity },
            "twice is once"
        );
    }

    #[test]
    fn what_was_about_to_be_set_aside_comes_back_too() {
        let (dir, folder, original, aside) = scene();
        assert!(matches!(back(&folder, &original, &aside), Back::There { .. }));
        assert_eq!(fs::read_to_string(dir.path().join("a.parquet")).unwrap(), "rows");
        assert!(dir.path().join("_baler/aside/0/0.aside").exists());
    }

    #[test]
    fn a_name_that_somebody_took_is_not_replaced() {
        let (dir, folder, original, aside) = scene();
        set_aside(&folder, &original, &aside).unwrap();
        fs::write(dir.path().join("a.parquet"), "mine").unwrap();
        assert_eq!(back(&folder, &original, &aside), Back::Taken);
        assert_eq!(fs::read_to_string(dir.path().join("a.parquet")).unwrap(), "mine");
        fs::remove_file(dir.path().join("a.parquet")).unwrap();
        assert!(matches!(back(&folder, &original, &aside), Back::There { .. }));
        fs::remove_file(dir.path().join("a.parquet")).unwrap();
        fs::remove_file(dir.path().join("_baler/aside/0/0.aside")).unwrap();
        assert_eq!(back(&folder, &original, &aside), Back::Gone);
    }
}
