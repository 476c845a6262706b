//! From what the user wrote to a path below the root.

use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use baler_core::file::FilePath;
use baler_core::names::{BALER_FOLDER, TABLES_FOLDER, is_data_path};
use serde::Deserialize;

use crate::depot::Depot;
use crate::folder::Folder;
use crate::store::{BucketUrl, Location};

/// Names, one a line: as they are, or as JSON objects with a `path`. Empty lines are passed over.
pub fn from_lines(input: impl BufRead) -> impl Iterator<Item = Result<String>> {
    let lines = input
        .lines()
        .map(|line| line.context("cannot read the list of files"));
    let lines = lines.filter(|line| !matches!(line, Ok(line) if line.trim().is_empty()));
    lines.map(|line| name_in(&line?))
}

#[derive(Deserialize)]
struct Named {
    path: String,
}

fn name_in(line: &str) -> Result<String> {
    if !line.trim_start().starts_with('{') {
        return Ok(line.trim_end_matches('\r').to_owned());
    }
    let named: Named =
        serde_json::from_str(line).with_context(|| format!("{line}: no JSON object with a \"path\""))?;
    Ok(named.path)
}

/// The path below the root that is meant, if there can be data under it.
pub(super) fn resolve(root: &Depot, name: &str) -> Result<FilePath, String> {
    let below = match root {
        Depot::Folder(folder) => below_folder(folder, name)?,
        Depot::Bucket(bucket) => below_bucket(bucket.bucket().url(), name)?,
    };
    match below.split('/').next() {
        _ if !is_plain(&below) => {
            Err("not a path below the root: no part of it may be empty, . or ..".to_owned())
        }
        Some(BALER_FOLDER) => Err(format!("{BALER_FOLDER} holds what is Baler's own, not data")),
        Some(TABLES_FOLDER) => Err(format!(
            "{TABLES_FOLDER} holds what Baler wrote: it is in its table already"
        )),
        _ if !is_data_path(&below) => {
            Err("names that begin with _ or . are never data: rename it".to_owned())
        }
        _ => Ok(FilePath::in_root(below)),
    }
}

/// Whether a path leads down only, and is spelled in one way.
fn is_plain(below: &str) -> bool {
    below.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn below_folder(folder: &Folder, name: &str) -> Result<String, String> {
    let path = match name.parse() {
        Ok(Location::Local(path)) => path,
        Ok(Location::Bucket(_)) => return Err(format!("not below {}", folder.path().display())),
        Err(error) => return Err(error.to_string()),
    };
    let below = match path.is_absolute() {
        false => path,
        true => below_absolute(folder.path(), &path)
            .ok_or_else(|| format!("not below {}", folder.path().display()))?,
    };
    let text = below.to_str().ok_or("its name is not Unicode")?;
    if is_plain(text) {
        refuse_detour(folder.path(), &below)?;
    }
    Ok(text.to_owned())
}

/// The root may have been named through a link.
fn below_absolute(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = || {
        let parent = fs::canonicalize(path.parent()?).ok()?;
        Some(parent.join(path.file_name()?))
    };
    let below = path.strip_prefix(root).map(Path::to_owned).ok();
    below.or_else(|| Some(real()?.strip_prefix(root).ok()?.to_owned()))
}

/// What lies behind a linked folder is somewhere else, and is not Baler's to delete.
fn refuse_detour(root: &Path, below: &Path) -> Result<(), String> {
    let parent = root.join(below);
    let parent = parent.parent().unwrap_or(root);
    match fs::canonicalize(parent) {
        Ok(real) if real != parent && real.starts_with(root) => {
            Err("behind a link: name the file itself".to_owned())
        }
        Ok(real) if real != parent => Err("behind a link that leads out of the root".to_owned()),
        // A folder that is not there holds no file: that is said when the file is looked for.
        _ => Ok(()),
    }
}

fn below_bucket(root: &BucketUrl, name: &str) -> Result<String, String> {
    if !name.contains("://") {
        return Ok(name.to_owned());
    }
    let url = match name.parse() {
        Ok(Location::Bucket(url)) => url,
        Ok(Location::Local(_)) => return Err(format!("not below {root}")),
        Err(error) => return Err(error.to_string()),
    };
    let same = url.scheme() == root.scheme() && url.bucket() == root.bucket();
    let below = match root.prefix() {
        "" => Some(url.prefix()),
        prefix => url
            .prefix()
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix('/')),
    };
    let below = below.filter(|below| same && !below.is_empty());
    below
        .map(str::to_owned)
        .ok_or_else(|| format!("not below {root}"))
}
