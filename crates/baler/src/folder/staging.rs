//! Files that are being written, or wait to be published: `_baler/staging/<attempt>/<part>.staged`.
//!
//! A staged file is whole only once [`StagedFile::finish`] has returned and the journal says so. One that a crash cut
//! short is named by no entry, so nobody publishes it, and the collector finds it under its attempt.

use std::fs::{self, File, FileType};
use std::io::{self, Write};
use std::path::PathBuf;

use baler_core::file::{Digest, FilePath};
use baler_core::names::{STAGING_FOLDER, TABLES_FOLDER};
use xxhash_rust::xxh3::Xxh3Default;

use crate::depot::Staged;
use crate::folder::sync::Changed;
use crate::folder::{Folder, FolderError};

/// How often the folder may be swept away before the file in it is created.
const TRIES_MAX: usize = 8;

/// An output under its own first name, while it is written. Every write goes straight to the file: hand it large
/// pieces.
#[derive(Debug)]
pub struct StagedFile {
    file: File,
    folder: Folder,
    path: FilePath,
    full: PathBuf,
    written: Written,
}

/// What went into the file.
struct Written {
    bytes: u64,
    hash: Xxh3Default,
    /// After a failed write nobody knows what the file holds.
    failed: bool,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Written({} bytes)", self.bytes)
    }
}

impl StagedFile {
    /// Creates the file for one part of an attempt's output. It must not exist: an attempt writes each part once.
    pub fn create(folder: &Folder, path: FilePath) -> Result<Self, FolderError> {
        let full = folder.writable_path(&path)?;
        let mut tries = 0;
        let file = loop {
            folder.make_parents(&full)?;
            match File::create_new(&full) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES_MAX => tries += 1,
                result => break result.map_err(FolderError::io("create", &full))?,
            }
        };
        Ok(Self::over(file, folder, path, full))
    }

    fn over(file: File, folder: &Folder, path: FilePath, full: PathBuf) -> Self {
        let written = Written {
            bytes: 0,
            hash: Xxh3Default::new(),
            failed: false,
        };
        Self {
            file,
            folder: folder.clone(),
            path,
            full,
            written,
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &FilePath {
        &self.path
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.written.bytes
    }

    /// Returns when the file and its name are on disk. There is no second try: after a failed sync the system may
    /// have dropped the pages that it could not write, and a later sync would succeed without them.
    pub fn finish(self) -> Result<Staged, FolderError> {
        if self.written.failed {
            let error = io::Error::other("an earlier write to it failed");
            return Err(FolderError::io("finish", &self.full)(error));
        }
        self.file
            .sync_all()
            .map_err(FolderError::io("sync", &self.full))?;
        let on_disk = self
            .file
            .metadata()
            .map_err(FolderError::io("look at", &self.full))?;
        if on_disk.len() != self.written.bytes {
            let what = format!("{} bytes written, {} there", self.written.bytes, on_disk.len());
            return Err(FolderError::Damaged {
                path: self.full,
                what,
            });
        }
        let mut changed = Changed::default();
        changed.name(&self.folder, &self.full);
        changed.sync()?;
        Ok(Staged {
            path: self.path,
            bytes: self.written.bytes,
            checksum: Digest(self.written.hash.digest128()),
        })
    }
}

impl Write for StagedFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self.file.write(buffer) {
            Ok(count) => {
                self.written.hash.update(&buffer[..count]);
                self.written.bytes += count as u64;
                Ok(count)
            }
            Err(error) => {
                self.written.failed |= error.kind() != io::ErrorKind::Interrupted;
                Err(error)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// All that an attempt has left in its folders, in order: for the sweep after it ended.
pub fn left_behind(folder: &Folder, folders: &[String]) -> Result<Vec<FilePath>, FolderError> {
    let mut found = Vec::new();
    for below in folders {
        found.extend(files_in(folder, below)?);
    }
    Ok(found)
}

/// Every staged file of every attempt, in order: for `gc --full`.
pub fn all_staged(folder: &Folder) -> Result<Vec<FilePath>, FolderError> {
    let mut found = Vec::new();
    for attempt in names_in(folder, STAGING_FOLDER, FileType::is_dir)? {
        found.extend(files_in(folder, &format!("{STAGING_FOLDER}/{attempt}"))?);
    }
    Ok(found)
}

/// All files in the folders of attempts below those of tables.
pub fn in_tables(folder: &Folder) -> Result<Vec<FilePath>, FolderError> {
    let mut found = Vec::new();
    for table in names_in(folder, TABLES_FOLDER, FileType::is_dir)? {
        let table = format!("{TABLES_FOLDER}/{table}");
        for attempt in names_in(folder, &table, FileType::is_dir)? {
            found.extend(files_in(folder, &format!("{table}/{attempt}"))?);
        }
    }
    Ok(found)
}

fn files_in(folder: &Folder, below: &str) -> Result<Vec<FilePath>, FolderError> {
    let names = names_in(folder, below, FileType::is_file)?;
    Ok(names
        .iter()
        .map(|name| folder.file_path(&format!("{below}/{name}")))
        .collect())
}

/// The names of one kind in a folder of Baler's own, sorted; none where there is no such folder. A name that is no
/// text was put there by somebody else, and stays.
fn names_in(
    folder: &Folder,
    below: &str,
    is_kind: fn(&FileType) -> bool,
) -> Result<Vec<String>, FolderError> {
    let full = folder.path().join(below);
    let list = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&full)? {
            let entry = entry?;
            if is_kind(&entry.file_type()?) {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    };
    match list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            folder.check_still_there()?;
            Ok(Vec::new())
        }
        result => result.map_err(FolderError::io("list", &full)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::folder::tests::{attempt, ran_as_ordinary_user, root};

    #[test]
    fn a_staged_file_knows_its_length_and_checksum() {
        let (_dir, folder) = root();
        let mut file = StagedFile::create(&folder, attempt().staged(3)).unwrap();
        file.write_all(b"PAR1").unwrap();
        file.write_all(b"rows").unwrap();
        let staged = file.finish().unwrap();
        assert_eq!(&*staged.path.path, "_baler/staging/12-0-45.3/3.staged");
        assert_eq!(staged.bytes, 8);
        assert_eq!(staged.checksum, Digest(xxhash_rust::xxh3::xxh3_128(b"PAR1rows")));
        let found = left_behind(&folder, &[attempt().staging_folder()]).unwrap();
        assert_eq!(found, all_staged(&folder).unwrap());
        assert_eq!(found, [staged.path]);
    }

    /// Workers delete nothing: an attempt that fails may be one whose result counts already.
    #[test]
    fn what_a_failed_attempt_wrote_is_left_to_the_collector() {
        let (_dir, folder) = root();
        let mut file = StagedFile::create(&folder, attempt().staged(0)).unwrap();
        file.write_all(b"rows").unwrap();
        drop(file);
        let found = left_behind(&folder, &[attempt().staging_folder()]).unwrap();
        assert_eq!(found, [attempt().staged(0)]);
    }

    #[test]
    fn an_attempt_writes_each_part_once() {
        let (_dir, folder) = root();
        StagedFile::create(&folder, attempt().staged(0)).unwrap();
        let error = StagedFile::create(&folder, attempt().staged(0)).unwrap_err();
        assert!(error.to_string().contains("0.staged"), "{error}");
    }

    #[test]
    fn on_a_full_disk_nothing_half_written_is_taken_for_whole() {
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            println!("skipped: this system has no /dev/full");
            return;
        };
        let (_dir, folder) = root();
        let path = attempt().staged(0);
        let at = folder.path().join(&*path.path);
        let mut file = StagedFile::over(full, &folder, path, at);
        let error = file.write_all(b"rows").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(file.finish().is_err());
    }

    #[test]
    fn a_file_whose_bytes_are_not_all_there_is_not_finished() {
        let (_dir, folder) = root();
        let mut file = StagedFile::create(&folder, attempt().staged(0)).unwrap();
        file.write_all(b"rows").unwrap();
        file.file.set_len(2).unwrap();
        assert!(matches!(file.finish(), Err(FolderError::Damaged { .. })));
    }

    #[test]
    fn nothing_is_left_behind_where_nothing_was_written() {
        let (_dir, folder) = root();
        assert!(
            left_behind(&folder, &[attempt().staging_folder()])
                .unwrap()
                .is_empty()
        );
        assert!(all_staged(&folder).unwrap().is_empty());
        fs::remove_dir_all(folder.path()).unwrap();
        assert!(
            left_behind(&folder, &[attempt().staging_folder()]).is_err(),
            "an unmounted root was not swept"
        );
    }

    #[test]
    fn a_root_that_may_not_be_written_to_says_what_to_do() {
        if ran_as_ordinary_user("folder::staging::tests::a_root_that_may_not_be_written_to_says_what_to_do") {
            return;
        }
        let (_dir, folder) = root();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let error = StagedFile::create(&folder, attempt().staged(0)).unwrap_err();
        assert!(
            error.is_forbidden() && error.to_string().contains("--output"),
            "{error}"
        );
    }

    #[test]
    fn nothing_is_written_to_a_source() {
        let (_dir, folder) = root();
        let source = Folder::open_source(folder.path()).unwrap();
        assert!(StagedFile::create(&source, attempt().staged(0)).is_err());
        assert_eq!(fs::read_dir(source.path()).unwrap().count(), 0);
    }
}
