//! What a process that died in the middle of writing to the journal leaves beside it: an entry or a receipt under the temporary name
//! that it is written to first (`<name>#<n>`), and the objects of an unfinished probe. No reader ever takes them for
//! anything.

use std::fs;
use std::io;
use std::path::Path;

use baler_core::ids::Sequence;
use baler_core::names::BALER_FOLDER;

use crate::folder::{Folder, FolderError};

/// Removes it, and answers how many objects that were. An entry's temporary name goes only once its slot is filled:
/// before that, a living process may be about to give it its final name.
pub fn sweep(folder: &Folder, filled: Sequence) -> Result<u64, FolderError> {
    let baler = folder.path().join(BALER_FOLDER);
    let mut removed = 0;
    let journal = ["journal", "snapshots", "boundary", "format", "probed", "home"];
    let journal = journal.into_iter().map(|name| baler.join(name));
    let receipts = entries(&baler.join("receipts"))?;
    for folder in journal.chain(receipts.into_iter().filter(|path| path.is_dir())) {
        for path in entries(&folder)? {
            if is_abandoned(&path, filled) {
                removed += u64::from(fs::remove_file(&path).is_ok());
            }
        }
    }
    for round in entries(&baler.join("probe"))? {
        for path in entries(&round)? {
            removed += u64::from(fs::remove_file(&path).is_ok());
        }
        let _ = fs::remove_dir(&round);
    }
    Ok(removed)
}

fn is_abandoned(path: &Path, filled: Sequence) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let Some((base, number)) = name.split_once('#') else {
        return false;
    };
    let temporary = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let decided = match base.parse::<u64>() {
        Ok(sequence) => sequence <= filled.0,
        Err(_) => path.with_file_name(base).exists(),
    };
    temporary && decided
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, FolderError> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(FolderError::io("list", folder)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_can_be_writing_any_more_goes() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open_root(dir.path()).unwrap();
        let journal = dir.path().join("_baler/journal");
        fs::create_dir_all(&journal).unwrap();
        for name in [
            "00000000000000000002",
            "00000000000000000002#1",
            "00000000000000000003#1",
            "2#x",
        ] {
            fs::write(journal.join(name), "").unwrap();
        }
        assert_eq!(sweep(&folder, Sequence(2)).unwrap(), 1);
        let mut left: Vec<_> = entries(&journal).unwrap();
        left.sort();
        let left: Vec<_> = left
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(left, ["00000000000000000002", "00000000000000000003#1", "2#x"]);
    }
}
