//! Deleting. By its name alone, only what Baler named itself: a staged file, or an output of this journal. A file that
//! was set aside has Baler's name but somebody's data, so it is compared once more.
//!
//! Everything else is refused with an error, whatever list it was on.

use std::fs;
use std::io;
use std::path::Path;

use baler_core::file::FilePath;
use baler_core::garbage::Original;
use baler_core::ids::{JournalId, Sequence};
use baler_core::names;

use crate::depot::own::is_own_name;
use crate::depot::{Aside, Deleted, Deletion};
use crate::folder::aside::settle;
use crate::folder::moves::remove_if_there;
use crate::folder::sync::Changed;
use crate::folder::{Folder, FolderError};

const STAGING: &str = "_baler/staging/";
const ASIDE: &str = "_baler/aside/";

/// Deletes what is on a durable list, and returns when that is on disk. One that fails does not keep the others
/// from it; the error outside says that nothing of it is known to be on disk.
pub fn delete_all<'a>(
    folder: &Folder,
    journal: JournalId,
    list: impl IntoIterator<Item = &'a Deletion>,
) -> Result<Vec<Result<Deleted, FolderError>>, FolderError> {
    let mut changed = Changed::default();
    let outcomes = list
        .into_iter()
        .map(|deletion| match &deletion.original {
            Some(original) if deletion.path.path.starts_with(ASIDE) => {
                delete_aside(folder, &deletion.path, original, &mut changed)
            }
            Some(original) if !is_own_name(&deletion.path, journal) => {
                delete_in_sight(folder, original, deletion.replaced, &mut changed)
            }
            _ => delete_own(folder, journal, &deletion.path, &mut changed),
        })
        .collect();
    changed.sync()?;
    Ok(outcomes)
}

fn delete_own(
    folder: &Folder,
    journal: JournalId,
    path: &FilePath,
    changed: &mut Changed,
) -> Result<Deleted, FolderError> {
    if !is_own_name(path, journal) {
        return Err(FolderError::NotOurs { path: path.clone() });
    }
    remove(folder, path, changed)
}

/// A file of a native table that Baler did not name: it is set aside first, under a name that the entry that replaced it
/// has fixed, so that a crash in between leaves it where the next collector looks.
fn delete_in_sight(
    folder: &Folder,
    original: &Original,
    replaced: Sequence,
    changed: &mut Changed,
) -> Result<Deleted, FolderError> {
    let aside = names::aside_when_due(replaced, &original.path);
    match settle(folder, original, &aside, changed)? {
        Aside::Moved => delete_aside(folder, &aside, original, changed),
        Aside::Gone | Aside::Overwritten => Ok(Deleted::Gone),
        Aside::PutBack { under } => Ok(Deleted::PutBack { under }),
    }
}

fn delete_aside(
    folder: &Folder,
    aside: &FilePath,
    original: &Original,
    changed: &mut Changed,
) -> Result<Deleted, FolderError> {
    if folder
        .identity_now(aside)?
        .is_some_and(|now| now != original.identity)
        && let Aside::PutBack { under } = settle(folder, original, aside, changed)?
    {
        remove_folder_if_empty(&folder.writable_path(aside)?);
        return Ok(Deleted::PutBack { under });
    }
    remove(folder, aside, changed)
}

fn remove(folder: &Folder, path: &FilePath, changed: &mut Changed) -> Result<Deleted, FolderError> {
    let full = folder.writable_path(path)?;
    if folder.head(&full)?.is_some() {
        remove_if_there(&full).map_err(FolderError::io("delete", &full))?;
        changed.name(folder, &full);
    }
    if path.path.starts_with(STAGING) || path.path.starts_with(ASIDE) {
        remove_folder_if_empty(&full);
    }
    Ok(Deleted::Gone)
}

/// The folder of one attempt, or of one job's inputs. The folders above it are shared with the living, and stay.
fn remove_folder_if_empty(full: &Path) {
    if let Some(parent) = full.parent() {
        // Not empty, or gone: both are fine, and an empty folder left behind is no orphan.
        let _: io::Result<()> = fs::remove_dir(parent);
    }
}

#[cfg(test)]
mod tests {
    use baler_core::ids::{JobId, Partition};

    use super::*;
    use crate::folder::aside::set_aside;
    use crate::folder::tests::{attempt, content, put, root};

    const JOURNAL: JournalId = JournalId(7);

    fn own(path: &FilePath) -> Deletion {
        Deletion {
            path: path.clone(),
            original: None,
            replaced: Sequence(1),
            names_once: false,
            keep: None,
        }
    }

    fn delete(folder: &Folder, deletion: &Deletion) -> Result<Deleted, FolderError> {
        delete_all(folder, JOURNAL, [deletion]).unwrap().remove(0)
    }

    #[test]
    fn own_objects_are_deleted_and_missing_is_fine() {
        let (_dir, folder) = root();
        let output = attempt().output(JOURNAL, &Partition::from("day=1"), 0);
        for path in [attempt().staged(0), output] {
            put(&folder, &path.path, "rows");
            for _ in 0..2 {
                assert_eq!(delete(&folder, &own(&path)).unwrap(), Deleted::Gone);
                assert_eq!(content(&folder, &path), None);
            }
        }
        assert!(!folder.path().join("_baler/staging/12-0-45.3").exists());
        assert!(folder.path().join("_baler/staging").exists());
        assert!(
            folder.path().join("day=1").exists(),
            "a partition is not ours to remove"
        );
    }

    #[test]
    fn nothing_that_baler_did_not_name_is_deleted() {
        let (_dir, folder) = root();
        let foreign = attempt().output(JournalId(8), &Partition::from(""), 0);
        let hidden = attempt().output(JOURNAL, &Partition::from("_kept"), 0);
        for path in [
            "a.parquet",
            "_baler/journal/00000000000000000001",
            "_baler/aside/1/0.aside",
            "_baler/staging/../../a.parquet",
            &foreign.path,
            &hidden.path,
        ] {
            let full = folder.path().join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(&full, "rows").unwrap();
            let path = FilePath::in_root(path);
            assert!(delete(&folder, &own(&path)).is_err(), "{path}");
            assert!(full.exists(), "{path}");
        }
    }

    #[test]
    fn a_file_set_aside_is_deleted_only_as_the_version_that_was_consumed() {
        let (_dir, folder) = root();
        let path = put(&folder, "a.parquet", "consumed");
        let identity = folder.identity_now(&path).unwrap().unwrap();
        let original = Original { path, identity };
        let aside = names::aside(JobId(1), 0);
        set_aside(&folder, &original, &aside).unwrap();
        let deletion = &Deletion {
            path: aside.clone(),
            original: Some(original.clone()),
            replaced: Sequence(1),
            names_once: false,
            keep: None,
        };

        put(&folder, &aside.path, "written through an old handle");
        let under = original.path.clone();
        assert_eq!(delete(&folder, deletion).unwrap(), Deleted::PutBack { under });
        assert_eq!(
            content(&folder, &original.path).as_deref(),
            Some("written through an old handle")
        );
        assert_eq!(delete(&folder, deletion).unwrap(), Deleted::Gone);
        assert!(
            content(&folder, &original.path).is_some(),
            "only what lies aside is deleted"
        );
    }

    #[test]
    fn one_bad_name_does_not_stop_the_sweep() {
        let (_dir, folder) = root();
        let bad = put(&folder, "a.parquet", "rows");
        let good = put(&folder, &attempt().staged(0).path, "rows");
        let list = [own(&bad), own(&good)];
        let outcomes = delete_all(&folder, JOURNAL, &list).unwrap();
        assert!(matches!(outcomes[0], Err(FolderError::NotOurs { .. })));
        assert!(matches!(outcomes[1], Ok(Deleted::Gone)));
        assert_eq!(content(&folder, &good), None);
    }
}
