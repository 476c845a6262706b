//! Bringing an output to its final name, where readers see it. Calling it again after a crash, at any point, ends the
//! same as calling it once; two callers at once do no harm.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use baler_core::file::{Digest, FilePath};
use xxhash_rust::xxh3::Xxh3Default;

use crate::depot::{Publication, Staged};
use crate::folder::sync::Changed;
use crate::folder::{Folder, FolderError};

/// How often others may change the two names between a look and a move.
const TRIES_MAX: usize = 8;

const READ_BYTES: usize = 1 << 20;

/// How closely an output is looked at before it is taken for the one that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Its length.
    Length,
    /// Its length and, by reading it again, its checksum.
    Checksum,
}

/// Moves a staged output to its final name, without replacing anything, and returns when that is on disk.
pub fn publish(
    folder: &Folder,
    staged: &Staged,
    output: &FilePath,
    check: Check,
) -> Result<Publication, FolderError> {
    let from = folder.writable_path(&staged.path)?;
    let to = folder.writable_path(output)?;
    for _ in 0..TRIES_MAX {
        // In this order: a move by somebody else between the two looks is then seen, and not taken for a loss.
        let staged_there = folder.head(&from)?.is_some();
        let published = folder.head(&to)?;
        match (staged_there, published) {
            (false, None) => return Ok(Publication::Missing),
            (false, Some(identity)) => {
                if let Some(what) = difference(&to, staged, check)? {
                    return Err(FolderError::Taken { path: to, what });
                }
                let mut changed = Changed::default();
                changed.name(folder, &to);
                changed.name(folder, &from);
                changed.sync()?;
                return Ok(Publication::Published { identity });
            }
            (true, None) => {
                // It will not become whole by being tried again: as little is there as if it were gone.
                if let Some(what) = difference(&from, staged, check)? {
                    tracing::error!("{} is damaged: {what}", from.display());
                    return Ok(Publication::Missing);
                }
                folder.make_parents(&to)?;
                move_staged(folder, &from, &to)?;
            }
            // One file under two names, and this finishes the move; or somebody else's, and this fails.
            (true, Some(_)) => move_staged(folder, &from, &to)?,
        }
    }
    Err(FolderError::Contended { path: to })
}

fn move_staged(folder: &Folder, from: &Path, to: &Path) -> Result<(), FolderError> {
    match folder.moves.move_own(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match folder.head(from)? {
            // Somebody else has just finished the same move.
            None => Ok(()),
            Some(_) => Err(FolderError::Taken {
                path: to.into(),
                what: "its own staged file is still there".into(),
            }),
        },
        result => result.map_err(FolderError::io("publish", to)),
    }
}

/// In what the file differs from what was written, if it does.
fn difference(path: &Path, staged: &Staged, check: Check) -> Result<Option<String>, FolderError> {
    let look = || -> io::Result<Option<String>> {
        let metadata = path.symlink_metadata()?;
        if !metadata.is_file() {
            return Ok(Some("it is not an ordinary file".into()));
        }
        if metadata.len() != staged.bytes {
            return Ok(Some(format!(
                "{} bytes written, {} there",
                staged.bytes,
                metadata.len()
            )));
        }
        if check == Check::Checksum && read_checksum(path)? != staged.checksum {
            return Ok(Some("its checksum is not the one that was written".into()));
        }
        Ok(None)
    };
    match look() {
        // Moved on by somebody else: the next look at both names tells.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map_err(FolderError::io("read", path)),
    }
}

/// XXH3-128 of a file's bytes.
pub fn checksum(folder: &Folder, path: &FilePath) -> Result<Digest, FolderError> {
    let full = folder.full_path(path)?;
    read_checksum(&full).map_err(FolderError::io("read", &full))
}

fn read_checksum(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    let mut hash = Xxh3Default::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Digest(hash.digest128())),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use baler_core::ids::{JournalId, Partition};

    use super::*;
    use crate::folder::staging::StagedFile;
    use crate::folder::tests::{attempt, both, content, put, root};

    fn staged(folder: &Folder) -> (Staged, FilePath) {
        let mut file = StagedFile::create(folder, attempt().staged(0)).unwrap();
        file.write_all(b"rows").unwrap();
        let output = attempt().output(JournalId(7), &Partition::from("day=1/hour=2"), 0);
        (file.finish().unwrap(), output)
    }

    #[test]
    fn publishing_twice_is_the_same_as_once() {
        for (_dir, folder) in both() {
            let (staged, output) = staged(&folder);
            let first = publish(&folder, &staged, &output, Check::Checksum).unwrap();
            let identity = folder.identity_now(&output).unwrap().unwrap();
            assert_eq!(first, Publication::Published { identity });
            assert_eq!(folder.identity_now(&staged.path).unwrap(), None);
            let second = publish(&folder, &staged, &output, Check::Checksum).unwrap();
            assert_eq!(second, first);
            assert_eq!(checksum(&folder, &output).unwrap(), staged.checksum);
        }
    }

    #[test]
    fn a_publish_cut_off_between_link_and_unlink_is_finished() {
        for (_dir, folder) in both() {
            let (staged, output) = staged(&folder);
            let (from, to) = (folder.full_path(&staged.path), folder.full_path(&output));
            fs::create_dir_all(to.as_ref().unwrap().parent().unwrap()).unwrap();
            fs::hard_link(from.unwrap(), to.unwrap()).unwrap();
            let done = publish(&folder, &staged, &output, Check::Length).unwrap();
            assert!(matches!(done, Publication::Published { .. }));
            assert_eq!(folder.identity_now(&staged.path).unwrap(), None);
            assert_eq!(content(&folder, &output).as_deref(), Some("rows"));
        }
    }

    #[test]
    fn an_output_that_somebody_removed_is_missing_and_not_published() {
        for (_dir, folder) in both() {
            let (staged, output) = staged(&folder);
            fs::remove_file(folder.full_path(&staged.path).unwrap()).unwrap();
            let done = publish(&folder, &staged, &output, Check::Length).unwrap();
            assert_eq!(done, Publication::Missing);
        }
    }

    #[test]
    fn publishing_never_replaces() {
        for (_dir, folder) in both() {
            let (staged, output) = staged(&folder);
            put(&folder, &output.path, "not ours");
            let error = publish(&folder, &staged, &output, Check::Length).unwrap_err();
            assert!(matches!(error, FolderError::Taken { .. }), "{error}");
            assert_eq!(content(&folder, &output).as_deref(), Some("not ours"));
            assert_eq!(content(&folder, &staged.path).as_deref(), Some("rows"));
        }
    }

    #[test]
    fn a_file_cut_short_is_never_published() {
        for (_dir, folder) in both() {
            let (staged, output) = staged(&folder);
            put(&folder, &staged.path.path, "row");
            let done = publish(&folder, &staged, &output, Check::Length).unwrap();
            assert_eq!(done, Publication::Missing, "what is short stays short");
            assert_eq!(folder.identity_now(&output).unwrap(), None);
        }
    }

    #[test]
    fn a_file_of_the_right_length_and_the_wrong_bytes_is_found_by_its_checksum() {
        let (_dir, folder) = root();
        let (staged, output) = staged(&folder);
        put(&folder, &staged.path.path, "rawr");
        let done = publish(&folder, &staged, &output, Check::Checksum).unwrap();
        assert_eq!(done, Publication::Missing);
        fs::remove_file(folder.full_path(&staged.path).unwrap()).unwrap();
        put(&folder, &output.path, "rawr");
        let error = publish(&folder, &staged, &output, Check::Checksum).unwrap_err();
        assert!(matches!(error, FolderError::Taken { .. }), "{error}");
    }

    #[test]
    fn many_publishers_at_once_publish_once() {
        for (_dir, folder) in both() {
            let (staged, output) = staged(&folder);
            let outcomes: Vec<_> = std::thread::scope(|scope| {
                let publisher = || publish(&folder, &staged, &output, Check::Length).unwrap();
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(publisher)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let identity = folder.identity_now(&output).unwrap().unwrap();
            let published = Publication::Published { identity };
            assert!(
                outcomes.iter().all(|outcome| *outcome == published),
                "{outcomes:?}"
            );
        }
    }

    #[test]
    fn a_partition_folder_that_became_a_link_is_not_written_through() {
        let (dir, folder) = root();
        let (staged, output) = staged(&folder);
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("day=1")).unwrap();
        let error = publish(&folder, &staged, &output, Check::Length).unwrap_err();
        assert!(matches!(error, FolderError::BehindALink { .. }), "{error}");
        assert_eq!(content(&folder, &staged.path).as_deref(), Some("rows"));
    }
}
