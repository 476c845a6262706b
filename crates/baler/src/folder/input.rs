//! Reading one version of a file. All reads go through the one handle that was checked when it was opened, so a file
//! that is replaced by another under the same name is never read half and half. One that is written in place is
//! caught by [`Folder::identity_now`] after the merge.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::thread;
use std::time::SystemTime;

use baler_core::file::{FilePath, Identity};
use bytes::Bytes;
use rustix::fs::OFlags;

use crate::depot::InputError;
use crate::folder::identity::{blind_for, identity};
use crate::folder::rooms::Rooms;
use crate::folder::{Folder, FolderError};

/// An open file of known identity.
#[derive(Debug)]
pub struct FolderInput {
    file: File,
    path: PathBuf,
    bytes: u64,
    rooms: Rooms,
}

impl FolderInput {
    /// Opens the file if it is still this version of it.
    pub fn open(folder: &Folder, path: &FilePath, expected: &Identity) -> Result<Self, InputError> {
        let full = folder.full_path(path)?;
        let changed = |found: Identity| InputError::Changed {
            path: path.clone(),
            expected: expected.bytes,
            found: Some(found.bytes),
        };
        // Without following a link, and without waiting for the other end of a pipe.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = File::options()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&full);
        let file = match opened {
            Ok(file) => file,
            Err(error) => {
                // A link in the file's place does not open either: say what is there now.
                return Err(match folder.head(&full)? {
                    None => InputError::Gone { path: path.clone() },
                    Some(found) if found != *expected => changed(found),
                    Some(_) => FolderError::io("open", &full)(error).into(),
                });
            }
        };
        let look = || file.metadata().map_err(FolderError::io("look at", &full));
        if let Some(tick) = blind_for(&look()?, SystemTime::now()) {
            thread::sleep(tick);
        }
        let found = identity(&look()?);
        if found != *expected {
            return Err(changed(found));
        }
        Ok(Self {
            file,
            path: full,
            bytes: found.bytes,
            rooms: folder.rooms.clone(),
        })
    }

    /// Length of the file.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Exactly this stretch of the file. One byte less is an error: the file was cut, or the request is wrong.
    pub fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > self.bytes) {
            return Err(self.too_short(offset, length));
        }
        let read = |into: &mut [u8]| self.file.read_exact_at(into, offset);
        match self.rooms.filled(length, read) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.too_short(offset, length)),
            Err(error) => Err(error),
        }
    }

    fn too_short(&self, offset: u64, length: usize) -> io::Error {
        let what = format!(
            "{}: {length} bytes at {offset} are not all there; it had {} when it was opened",
            self.path.display(),
            self.bytes
        );
        io::Error::new(io::ErrorKind::UnexpectedEof, what)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::folder::tests::{put, root};

    #[test]
    fn a_stretch_is_read_whole_or_not_at_all() {
        let (_dir, folder) = root();
        let path = put(&folder, "a.parquet", "0123456789");
        let now = folder.identity_now(&path).unwrap().unwrap();
        let input = FolderInput::open(&folder, &path, &now).unwrap();
        assert_eq!(input.len(), 10);
        assert_eq!(&input.read_at(3, 4).unwrap()[..], b"3456");
        for (offset, length) in [(7, 4), (11, 1), (u64::MAX, 2)] {
            let error = input.read_at(offset, length).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        fs::write(folder.path().join("a.parquet"), "01234").unwrap();
        let error = input.read_at(3, 4).unwrap_err();
        assert!(error.to_string().contains("a.parquet"), "{error}");
    }

    #[test]
    fn a_file_replaced_while_it_is_read_is_read_in_its_old_version_to_the_end() {
        let (_dir, folder) = root();
        let path = put(&folder, "a.parquet", "old");
        let old = folder.identity_now(&path).unwrap().unwrap();
        let input = FolderInput::open(&folder, &path, &old).unwrap();
        put(&folder, "new", "new");
        fs::rename(folder.path().join("new"), folder.path().join("a.parquet")).unwrap();
        assert_eq!(&input.read_at(0, 3).unwrap()[..], b"old");
        assert_ne!(folder.identity_now(&path).unwrap(), Some(old));
    }

    #[test]
    fn only_the_planned_version_is_opened() {
        let (_dir, folder) = root();
        let path = put(&folder, "a.parquet", "old");
        let old = folder.identity_now(&path).unwrap().unwrap();
        put(&folder, "a.parquet", "newer");
        let open = || FolderInput::open(&folder, &path, &old);
        assert!(matches!(open(), Err(InputError::Changed { .. })));

        let full = folder.path().join("a.parquet");
        fs::remove_file(&full).unwrap();
        assert!(matches!(open(), Err(InputError::Gone { .. })));
        std::os::unix::fs::symlink("elsewhere", &full).unwrap();
        assert!(matches!(open(), Err(InputError::Changed { .. })));
        fs::remove_file(&full).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &full, 0o600.into()).unwrap();
        assert!(matches!(open(), Err(InputError::Changed { .. })));
    }

    #[test]
    fn a_file_written_this_very_moment_is_read_only_when_its_clock_has_moved_on() {
        let (_dir, folder) = root();
        let path = put(&folder, "a.parquet", "rows");
        let now = folder.identity_now(&path).unwrap().unwrap();
        let before = folder
            .path()
            .join("a.parquet")
            .metadata()
            .unwrap()
            .modified()
            .unwrap();
        FolderInput::open(&folder, &path, &now).unwrap();
        let age = SystemTime::now().duration_since(before).unwrap();
        assert!(
            age.as_millis() >= 20,
            "a second write would not have shown: {age:?}"
        );
    }
}
