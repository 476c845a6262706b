//! Room on this machine for what does not fit into memory.
//!
//! Beside a directory's journal it lies in the attempt's own folder, and is swept with it. For a bucket it lies among
//! the system's temporary files (`TMPDIR`), where nobody sweeps: so each has a lock file beside it, held for as long as its
//! process lives, and whoever makes room takes away what the dead have left.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use baler_core::names::Attempt;

/// What temporary folders and their locks are called.
const PREFIX: &str = "baler-scratch-";

/// A folder that goes, with all that is in it, when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Shows that the process lives.
    lock: Option<(PathBuf, File)>,
}

impl Scratch {
    /// Makes the folder.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&path)?;
        Ok(Self { path, lock: None })
    }

    /// A folder among the system's temporary files.
    pub(super) fn temporary(attempt: &Attempt) -> io::Result<Self> {
        Self::temporary_in(&std::env::temp_dir(), attempt)
    }

    fn temporary_in(temporary: &Path, attempt: &Attempt) -> io::Result<Self> {
        sweep_dead(temporary);
        // A process may work for several journals, and numbers of jobs and tokens are a journal's own.
        let (process, unique) = (std::process::id(), baler_journal::host::chance());
        let name = format!(
            "{PREFIX}{process}-{unique:016x}-{}-{}",
            attempt.job, attempt.token
        );
        let path = temporary.join(name);
        let held = path.with_added_extension("lock");
        let file = File::create(&held)?;
        file.lock()?;
        fs::create_dir_all(&path)?;
        Ok(Self {
            path,
            lock: Some((held, file)),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is found by the next sweep.
        let _: io::Result<()> = fs::remove_dir_all(&self.path);
        if let Some((held, _)) = &self.lock {
            let _: io::Result<()> = fs::remove_file(held);
        }
    }
}

/// Takes away the folders of processes that died. Best effort: it is only room.
fn sweep_dead(temporary: &Path) {
    let entries = fs::read_dir(temporary).into_iter().flatten().flatten();
    for held in entries.map(|entry| entry.path()).filter(|path| is_lock(path)) {
        let is_dead = File::open(&held).is_ok_and(|file| file.try_lock().is_ok());
        if is_dead {
            let _: io::Result<()> = fs::remove_dir_all(held.with_extension(""));
            let _: io::Result<()> = fs::remove_file(&held);
        }
    }
}

fn is_lock(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.starts_with(PREFIX) && name.ends_with(".lock")
}

#[cfg(test)]
mod tests {
    use baler_core::ids::{JobId, RangeId, Sequence, Token};

    use super::*;

    fn attempt() -> Attempt {
        Attempt {
            job: JobId(12),
            range: RangeId::Keys(0),
            token: Token {
                sequence: Sequence(45),
                index: 3,
            },
        }
    }

    /// Trap: two attempts of one process have the same numbers in two journals, and one waits for the other's room.
    #[test]
    fn attempts_of_two_journals_have_rooms_of_their_own() {
        let temporary = tempfile::tempdir().unwrap();
        let one = Scratch::temporary_in(temporary.path(), &attempt()).unwrap();
        let other = Scratch::temporary_in(temporary.path(), &attempt()).unwrap();
        assert_ne!(one.path(), other.path());
        drop(one);
        assert!(other.path().is_dir());
    }

    #[test]
    fn what_the_dead_left_goes_and_what_the_living_use_stays() {
        let temporary = tempfile::tempdir().unwrap();
        let living = Scratch::temporary_in(temporary.path(), &attempt()).unwrap();
        let dead = temporary.path().join(format!("{PREFIX}1-2-3.4"));
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join("run"), "rows").unwrap();
        fs::write(dead.with_added_extension("lock"), "").unwrap();
        fs::write(temporary.path().join("somebody-elses.lock"), "").unwrap();

        sweep_dead(temporary.path());
        assert!(living.path().exists() && !dead.exists());
        drop(living);
        let left: Vec<_> = fs::read_dir(temporary.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
