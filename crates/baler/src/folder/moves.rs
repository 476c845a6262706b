//! Renames that never replace anything. Where the file system has no such rename, two ways round it: one for names
//! that only Baler holds, and one for names that others may take at any moment.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;

/// Which renames a folder's file system offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Moves {
    /// Try to rename without replacing; go round it where the system cannot.
    #[default]
    Native,
    /// Always go round it.
    #[cfg_attr(not(test), expect(dead_code, reason = "chosen only by tests"))]
    Fallback,
}

impl Moves {
    /// Moves a file of Baler's own (`from`) to a name that must be free, else fails with `AlreadyExists`.
    ///
    /// The way round is a second name, then the removal of the first: a crash in between leaves both, and the next
    /// call finishes it. Only for a `from` that nobody else writes to, because it is unlinked by name.
    pub(super) fn move_own(self, from: &Path, to: &Path) -> io::Result<()> {
        let moved = match self.rename_no_replace(from, to) {
            Err(error) if is_unsupported(&error) => {
                fs::hard_link(from, to).and_then(|()| remove_if_there(from))
            }
            result => result,
        };
        match moved {
            Err(error) if is_taken(&error) && same_file(from, to)? => remove_if_there(from),
            result => result,
        }
    }

    /// Moves somebody else's file to a name that only Baler uses, and that must be free.
    ///
    /// A second name and an unlink would not do here: between the two, others may put new data under `from`, and the
    /// unlink would destroy it. So the way round is an ordinary rename, which takes whatever is there, behind a lock
    /// that keeps two of Baler's processes from taking to the same name.
    pub(super) fn take(self, from: &Path, to: &Path, lock: &Path) -> io::Result<()> {
        match self.rename_no_replace(from, to) {
            Err(error) if is_unsupported(&error) => {
                let lock = fs::File::options().create(true).append(true).open(lock)?;
                lock.lock()?;
                if exists(to)? {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                fs::rename(from, to)
            }
            result => result,
        }
    }

    fn rename_no_replace(self, from: &Path, to: &Path) -> io::Result<()> {
        match self {
            Self::Native => native(from, to),
            Self::Fallback => Err(Errno::NOSYS.into()),
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn native(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn native(_: &Path, _: &Path) -> io::Result<()> {
    Err(Errno::NOSYS.into())
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
    )
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
}

/// Whether both are names of one file.
fn same_file(a: &Path, b: &Path) -> io::Result<bool> {
    let place = |path| match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some((metadata.dev(), metadata.ino()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    let (a, b) = (place(a)?, place(b)?);
    Ok(a.is_some() && a == b)
}

fn exists(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a file of Baler's own; gone already is fine.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Moves; 2] = [Moves::Native, Moves::Fallback];

    #[test]
    fn no_move_ever_replaces() {
        for moves in BOTH {
            let dir = tempfile::tempdir().unwrap();
            let (a, b, lock) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("l"));
            fs::write(&a, "old").unwrap();
            fs::write(&b, "new").unwrap();
            assert!(is_taken(&moves.move_own(&a, &b).unwrap_err()), "{moves:?}");
            assert!(is_taken(&moves.take(&a, &b, &lock).unwrap_err()), "{moves:?}");
            assert_eq!(fs::read_to_string(&a).unwrap(), "old");
            assert_eq!(fs::read_to_string(&b).unwrap(), "new");
        }
    }

    #[test]
    fn a_move_cut_off_between_link_and_unlink_is_finished() {
        for moves in BOTH {
            let dir = tempfile::tempdir().unwrap();
            let (a, b) = (dir.path().join("a"), dir.path().join("b"));
            fs::write(&a, "rows").unwrap();
            fs::hard_link(&a, &b).unwrap();
            moves.move_own(&a, &b).unwrap();
            assert!(!a.exists());
            assert_eq!(fs::read_to_string(&b).unwrap(), "rows");
        }
    }

    #[test]
    fn a_missing_file_is_told_apart_from_a_taken_name() {
        for moves in BOTH {
            let dir = tempfile::tempdir().unwrap();
            let (a, b, lock) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("l"));
            assert_eq!(
                moves.move_own(&a, &b).unwrap_err().kind(),
                io::ErrorKind::NotFound
            );
            assert_eq!(
                moves.take(&a, &b, &lock).unwrap_err().kind(),
                io::ErrorKind::NotFound
            );
        }
    }

    /// A writer replaces a file again and again, and knows each version that it replaced itself. Whatever it did not
    /// replace must have been taken, or still be there: an unlink by name would lose one sooner or later.
    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_written_while_a_file_is_taken_is_lost() {
        use std::collections::BTreeSet;

        for moves in BOTH {
            let dir = tempfile::tempdir().unwrap();
            let at = |name: &str| dir.path().join(name);
            let writing =
                || -> BTreeSet<u32> { (0..800).filter_map(|version| write(&at("a"), version)).collect() };
            let mut seen = std::thread::scope(|scope| {
                let writer = scope.spawn(writing);
                let mut taken = 0;
                while !writer.is_finished() {
                    let to = at(&format!("taken-{taken}"));
                    taken += u32::from(moves.take(&at("a"), &to, &at("lock")).is_ok());
                }
                writer.join().unwrap()
            });
            for entry in fs::read_dir(dir.path()).unwrap() {
                seen.extend(fs::read_to_string(entry.unwrap().path()).unwrap().parse::<u32>());
            }
            let lost: Vec<_> = (0..800).filter(|version| !seen.contains(version)).collect();
            assert!(lost.is_empty(), "{moves:?} lost {lost:?}");
        }
    }

    /// Puts a version at a path, and returns the one that it replaced there, if any.
    #[cfg(target_os = "linux")]
    fn write(path: &Path, version: u32) -> Option<u32> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};

        let temporary = path.with_extension("tmp");
        fs::write(&temporary, version.to_string()).unwrap();
        loop {
            if renameat_with(CWD, &temporary, CWD, path, RenameFlags::NOREPLACE).is_ok() {
                return None;
            }
            if renameat_with(CWD, &temporary, CWD, path, RenameFlags::EXCHANGE).is_ok() {
                return fs::read_to_string(&temporary).unwrap().parse().ok();
            }
        }
    }
}
