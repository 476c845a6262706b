//! One file against what is on record of it.

use std::fmt;
use std::sync::Arc;

use baler_core::file::{Digest, File};
use baler_core::table::MergeSpec;
use baler_merge::{Budget, RowHash, Unwatched};

use crate::audit::is_version;
use crate::depot::{DepotError, Input, InputError};
use crate::site::Site;
use crate::spec::{self, Asked};

/// How closely files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Lengths and footers.
    Quick,
    /// Bytes and rows, where there is a digest to compare them with.
    Usual,
    /// Bytes and rows of every file.
    Deep,
}

/// What is wrong with a file.
#[derive(Debug)]
pub(super) enum Wrong {
    /// It is not there, or another version is.
    Gone(String),
    /// It does not hold what was written to it.
    Damaged(String),
    /// Nobody can tell.
    Unread(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Gone(why) | Self::Damaged(why) | Self::Unread(why)) = self;
        f.write_str(why)
    }
}

impl From<InputError> for Wrong {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Gone { .. } => Self::Gone("it is missing".to_owned()),
            InputError::Changed { expected, found, .. } if found.is_none_or(|found| found == expected) => {
                Self::Gone(
                    "another version lies there: somebody wrote over it, or the folder was copied".to_owned(),
                )
            }
            InputError::Changed { .. } => Self::Gone(error.to_string()),
            _ => Self::Unread(error.to_string()),
        }
    }
}

impl From<DepotError> for Wrong {
    fn from(error: DepotError) -> Self {
        Self::Unread(error.to_string())
    }
}

pub(super) async fn check(site: &Site, file: &File, merge: &MergeSpec, depth: Depth) -> Result<(), Wrong> {
    let depot = site.depot_of(&file.path);
    if depth == Depth::Deep {
        match depot.version_now(file).await? {
            None => return Err(Wrong::Gone("it is missing".to_owned())),
            Some(now) if !is_version(file, &now) => {
                return Err(Wrong::Gone("another file lies under its name".to_owned()));
            }
            Some(_) => {}
        }
    }
    let input = depot.open_input(file).await?;
    let digest = file.digest.filter(|_| depth != Depth::Quick);
    let bytes_matter = depth == Depth::Deep || digest.is_some();
    if let Some(checksum) = file.checksum.filter(|_| bytes_matter)
        && depot.checksum(&file.path).await? != checksum
    {
        let why = "its bytes are not those that were written to it";
        return Err(Wrong::Damaged(why.to_owned()));
    }
    // Rows of a format of the owner's are for its owner to read.
    if merge.format() != MergeSpec::PARQUET {
        return Ok(());
    }
    let (rows, reads) = (file.rows, depth == Depth::Deep || digest.is_some());
    let hash = spec::hash_for_engine(merge.hash);
    let checking = tokio::task::spawn_blocking(move || check_rows(&input, hash, rows, reads, digest));
    checking
        .await
        .map_err(|panic| Wrong::Damaged(format!("reading it panicked: {panic}")))?
}

fn check_rows(
    input: &Arc<dyn Input>,
    hash: RowHash,
    on_record: u64,
    reads: bool,
    digest: Option<Digest>,
) -> Result<(), Wrong> {
    let damaged = |error: String| Wrong::Damaged(error);
    let facts = Asked::nothing()
        .inspect(input)
        .map_err(|error| damaged(error.to_string()))?;
    if facts.rows != on_record {
        let found = facts.rows;
        return Err(damaged(format!(
            "{found} rows in its footer, {on_record} on record"
        )));
    }
    if !reads {
        return Ok(());
    }
    let input = spec::input_for_engine(input.clone());
    let (rows, found) = baler_merge::digest_of(&input, hash, Budget::default(), &Unwatched)
        .map_err(|error| damaged(error.to_string()))?;
    if rows != on_record {
        return Err(damaged(format!(
            "{rows} rows could be read, {on_record} are on record"
        )));
    }
    match digest.is_none_or(|recorded| spec::digest_of(found) == recorded) {
        true => Ok(()),
        false => Err(damaged(
            "its rows are not those that were written to it".to_owned(),
        )),
    }
}
