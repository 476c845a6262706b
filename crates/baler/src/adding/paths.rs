//! From what the user wrote to a path below the root.

use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use baler_core::file::FilePath;
use baler_core::names::{BALER_FOLDER, TABLES_FOLDER, is_data_path};
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::depot::Depot;
use crate::folder::Folder;
use crate::store::{BucketUrl, Location};

/// Names, one a line: as they are, as JSON objects with a `path`, or as the events that S3 sends. Empty lines are passed
/// over, and so are events about anything but new objects.
pub fn from_lines(input: impl BufRead) -> impl Iterator<Item = Result<String>> {
    let lines = input
        .lines()
        .map(|line| line.context("cannot read the list of files"));
    let lines = lines.filter(|line| !matches!(line, Ok(line) if line.trim().is_empty()));
    lines.flat_map(|line| match line.and_then(|line| names_in(&line)) {
        Ok(names) => names.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    })
}

/// A line of JSON.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Named {
        path: String,
    },
    Events {
        #[serde(rename = "Records")]
        records: Vec<Record>,
    },
    /// S3 sends this when notifications are switched on.
    Test {
        #[serde(rename = "Event")]
        _event: String,
    },
}

/// An event of S3.
#[derive(Deserialize)]
struct Record {
    #[serde(rename = "eventName")]
    event: String,
    s3: Entity,
}

#[derive(Deserialize)]
struct Entity {
    bucket: Bucket,
    object: Object,
}

#[derive(Deserialize)]
struct Bucket {
    name: String,
}

#[derive(Deserialize)]
struct Object {
    key: String,
}

fn names_in(line: &str) -> Result<Vec<String>> {
    if !line.trim_start().starts_with('{') {
        return Ok(vec![line.trim_end_matches('\r').to_owned()]);
    }
    let said: Line = serde_json::from_str(line)
        .map_err(|_| anyhow!("{line}: no JSON object with a \"path\", and no event of S3"))?;
    match said {
        Line::Named { path } => Ok(vec![path]),
        Line::Events { records } => {
            let created = records.iter().filter(|record| is_creation(&record.event));
            created.map(|record| url_of(&record.s3)).collect()
        }
        Line::Test { .. } => Ok(Vec::new()),
    }
}

/// With and without the `s3:` that documentation writes in front.
fn is_creation(event: &str) -> bool {
    event.trim_start_matches("s3:").starts_with("ObjectCreated:")
}

/// Events carry keys as forms do: a space is a plus sign, and what is not plain is escaped.
fn url_of(entity: &Entity) -> Result<String> {
    let key = entity.object.key.replace('+', " ");
    let key = percent_decode_str(&key).decode_utf8();
    let key = key.with_context(|| format!("the key {} is not Unicode", entity.object.key))?;
    Ok(format!("s3://{}/{key}", entity.bucket.name))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>> {
        from_lines(text.as_bytes()).collect()
    }

    #[test]
    fn lines_objects_and_events_of_s3_name_files() {
        let event = r#"{"Records":[
            {"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"day%3D1/a+b%2B.parquet","size":3}}},
            {"eventName":"ObjectRemoved:Delete","s3":{"bucket":{"name":"b"},"object":{"key":"gone.parquet"}}}]}"#
            .replace('\n', "");
        let text = format!(
            "plain.parquet\n\n{{\"path\":\"named.parquet\"}}\n{event}\n{{\"Event\":\"s3:TestEvent\"}}\n"
        );
        assert_eq!(
            names(&text).unwrap(),
            ["plain.parquet", "named.parquet", "s3://b/day=1/a b+.parquet"]
        );
    }

    #[test]
    fn other_json_is_an_error_that_says_what_is_expected() {
        let error = names("{\"file\":1}").unwrap_err().to_string();
        assert!(error.contains("path") && error.contains("S3"), "{error}");
    }
}
