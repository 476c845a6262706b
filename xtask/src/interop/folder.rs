//! A directory as it stands at a moment, to see later whether anything changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};

/// Where Baler keeps its state; what lies there is no data.
const STATE: &str = "_baler";

/// Every file outside Baler's state: bytes and time of change.
#[derive(Debug)]
pub(crate) struct Folder(BTreeMap<PathBuf, (u64, SystemTime)>);

impl Folder {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        walk(root, &mut |path| {
            let meta = fs::metadata(path)?;
            files.insert(path.to_owned(), (meta.len(), meta.modified()?));
            Ok(())
        })?;
        Ok(Self(files))
    }

    /// The Parquet files that a reader would take for data, with their bytes.
    pub(crate) fn data(&self) -> BTreeMap<PathBuf, u64> {
        let files = self
            .0
            .iter()
            .filter(|(path, _)| path.extension().is_some_and(|end| end == "parquet"));
        files.map(|(path, (bytes, _))| (path.clone(), *bytes)).collect()
    }

    pub(crate) fn same_as(&self, later: &Self) -> Result<()> {
        let paths: BTreeSet<_> = self.0.keys().chain(later.0.keys()).collect();
        let changed: Vec<_> = paths
            .into_iter()
            .filter(|path| self.0.get(*path) != later.0.get(*path))
            .collect();
        ensure!(changed.is_empty(), "new, gone or changed: {changed:?}");
        Ok(())
    }
}

/// The names of the journal's entries.
pub(crate) fn journal(root: &Path) -> Result<BTreeSet<OsString>> {
    let folder = root.join(STATE).join("journal");
    let entries = fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))?;
    let names: BTreeSet<_> = entries
        .map(|entry| Ok(entry?.file_name()))
        .collect::<Result<_>>()?;
    ensure!(!names.is_empty(), "{} is empty", folder.display());
    Ok(names)
}

/// Copies a directory with all that is in it; never links, since both sides must be free to change.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    walk(from, &mut |path| {
        let target = to.join(path.strip_prefix(from)?);
        fs::create_dir_all(target.parent().context("a file lies in a folder")?)?;
        fs::copy(path, target)?;
        Ok(())
    })
}

fn walk(folder: &Path, each: &mut impl FnMut(&Path) -> Result<()>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true if entry.file_name() == STATE => {}
            true => walk(&entry.path(), each)?,
            false => each(&entry.path())?,
        }
    }
    Ok(())
}
