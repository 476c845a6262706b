//! Whether a root is where it was made. Its journal knows every file by its inode, and a copy of the folder, or one that was
//! restored from a backup, holds none of them: whoever went on there would take all that was set aside for somebody's new data.
//!
//! So each journal of a folder has a record of where it lives, which names its own inode and that of the journal's folder. A
//! rename keeps both; a copy keeps neither. Devices are not compared: their numbers change when a machine starts anew.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use baler_core::file::{FilePath, Identity};
use baler_core::ids::JournalId;
use baler_core::names::BALER_FOLDER;
use baler_journal::host;
use serde::{Deserialize, Serialize};

use crate::folder::identity::is_copy;
use crate::folder::moves::remove_if_there;
use crate::folder::sync::Changed;
use crate::folder::{Folder, FolderError};

/// The only version of the record so far.
const VERSION: u32 = 1;

/// Versions that are looked at where nothing is written down.
const VERSIONS_MAX: usize = 1_000;

/// What is known of where a root was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Nobody wrote it down: there is no journal yet, or versions of Baler made it that did not.
    Unsaid,
    /// Here.
    Here,
    /// In another folder, of which this is a copy.
    Elsewhere,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    home: u32,
    /// Of the record itself.
    inode: u64,
    /// Of the folder of the journal. A folder has one name only: a copy made of hard links shares everything else.
    journal_folder: u64,
}

/// Where the root was made. One record that is right is enough: others are of journals that a repair has replaced.
pub fn home(folder: &Folder) -> Result<Home, FolderError> {
    let Some(journal_folder) = journal_folder(folder)? else {
        return Ok(Home::Unsaid);
    };
    let listed = match fs::read_dir(records(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Home::Unsaid),
        listed => listed.map_err(FolderError::io("list", &records(folder)))?,
    };
    let mut home = Home::Unsaid;
    for entry in listed {
        let entry = entry.map_err(FolderError::io("list", &records(folder)))?;
        let is_record = entry.file_name().to_str().is_some_and(|name| !name.contains('#'));
        if is_record {
            home = Home::Elsewhere;
            if is_right(journal_folder, &entry.path())? {
                return Ok(Home::Here);
            }
        }
    }
    Ok(home)
}

fn is_right(journal_folder: u64, path: &Path) -> Result<bool, FolderError> {
    let mut file = File::open(path).map_err(FolderError::io("open", path))?;
    let metadata = file.metadata().map_err(FolderError::io("look at", path))?;
    let text = io::read_to_string(&mut file).map_err(FolderError::io("read", path))?;
    let now = Record {
        home: VERSION,
        inode: metadata.ino(),
        journal_folder,
    };
    Ok(serde_json::from_str::<Record>(&text).is_ok_and(|record| record == now))
}

/// The same without a record, by some of the versions that the state names: whether each that is there has another inode, and else
/// is as it was.
pub fn are_copies<'a>(
    folder: &Folder,
    named: impl Iterator<Item = (&'a FilePath, &'a Identity)>,
) -> Result<bool, FolderError> {
    let mut copies = false;
    for (path, identity) in named.take(VERSIONS_MAX) {
        match folder.identity_now(path)? {
            Some(now) if now == *identity => return Ok(false),
            Some(now) => copies |= is_copy(identity, &now),
            None => {}
        }
    }
    Ok(copies)
}

/// Writes down that this journal lives here, unless that is said already; returns when it is on disk.
pub fn settle_in(folder: &Folder, journal: JournalId) -> Result<(), FolderError> {
    let record = records(folder).join(journal.to_string());
    let Some(journal_folder) = journal_folder(folder)?.filter(|_| !record.exists()) else {
        return Ok(());
    };
    folder.make_parents(&record)?;
    let unfinished = records(folder).join(format!("{journal}#{}", host::wide_chance()));
    let written = write(journal_folder, &unfinished);
    let moved = written.and_then(|()| match folder.moves.move_own(&unfinished, &record) {
        // Somebody else was quicker, and says the same; a sweep may have taken away what nobody needs then.
        Err(_) if record.exists() => Ok(()),
        result => result.map_err(FolderError::io("create", &record)),
    });
    remove_if_there(&unfinished).map_err(FolderError::io("remove", &unfinished))?;
    moved?;
    let mut changed = Changed::default();
    changed.name(folder, &record);
    changed.sync()
}

fn write(journal_folder: u64, path: &Path) -> Result<(), FolderError> {
    let created = File::options().write(true).create_new(true).open(path);
    let mut file = created.map_err(FolderError::io("create", path))?;
    let metadata = file.metadata().map_err(FolderError::io("look at", path))?;
    let record = Record {
        home: VERSION,
        inode: metadata.ino(),
        journal_folder,
    };
    let text = serde_json::to_string(&record).expect("three numbers are JSON");
    let written = writeln!(file, "{text}").and_then(|()| file.sync_all());
    written.map_err(FolderError::io("write", path))
}

fn records(folder: &Folder) -> PathBuf {
    folder.path().join(BALER_FOLDER).join("home")
}

/// The inode of the folder of the journal, where there is one.
fn journal_folder(folder: &Folder) -> Result<Option<u64>, FolderError> {
    let path = folder.path().join(BALER_FOLDER).join("journal");
    match fs::metadata(&path) {
        Ok(metadata) => Ok(Some(metadata.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FolderError::io("look at", &path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn root(path: &Path) -> Folder {
        fs::create_dir_all(path.join("_baler/journal")).unwrap();
        Folder::open_root(path).unwrap()
    }

    fn copy(how: &str, from: &Path, to: &Path) -> Folder {
        let copied = Command::new("cp").arg(how).args([from, to]).status().unwrap();
        assert!(copied.success());
        Folder::open_root(to).unwrap()
    }

    #[test]
    fn a_copy_is_told_from_the_folder_itself_and_a_rename_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let folder = root(&a);
        assert_eq!(home(&folder).unwrap(), Home::Unsaid);
        settle_in(&folder, JournalId(7)).unwrap();
        settle_in(&folder, JournalId(7)).unwrap();
        assert_eq!(home(&folder).unwrap(), Home::Here);
        for how in ["-a", "-r", "-al"] {
            let copied = copy(how, &a, &dir.path().join(how));
            assert_eq!(home(&copied).unwrap(), Home::Elsewhere, "{how}");
            settle_in(&copied, JournalId(7)).unwrap();
            assert_eq!(home(&copied).unwrap(), Home::Elsewhere, "{how}: the old journal");
            settle_in(&copied, JournalId(8)).unwrap();
            assert_eq!(home(&copied).unwrap(), Home::Here, "{how}: a new journal");
        }
        fs::rename(&a, &b).unwrap();
        assert_eq!(home(&Folder::open_root(&b).unwrap()).unwrap(), Home::Here);
        let names = fs::read_dir(b.join("_baler/home")).unwrap().count();
        assert_eq!(names, 1, "nothing unfinished is left");
    }

    /// A journal that was put back from a backup, in the midst of all that was not.
    #[test]
    fn a_journal_that_was_put_back_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let folder = root(dir.path());
        settle_in(&folder, JournalId(7)).unwrap();
        let journal = dir.path().join("_baler/journal");
        copy("-a", &journal, &dir.path().join("_baler/restored"));
        fs::remove_dir(&journal).unwrap();
        fs::rename(dir.path().join("_baler/restored"), &journal).unwrap();
        assert_eq!(home(&folder).unwrap(), Home::Elsewhere);
    }
}
