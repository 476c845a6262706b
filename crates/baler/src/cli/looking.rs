//! Commands that look at a root, and the few that tidy it.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::store::{Location, LocationError};

/// A command that needs a root and nothing else.
#[derive(Debug, Args)]
pub struct RootArgs {
    /// A folder or bucket that Baler has worked on; with --output, that is DST
    pub root: Location,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A command for one table of a root, or for all.
#[derive(Debug, Args)]
pub struct TableRootArgs {
    /// A folder or bucket that Baler has worked on; with --output, that is DST
    pub root: Location,
    /// Only this native table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Who is asked how a root stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookAt {
    /// Its journal.
    Root(Location),
    /// One of its coordinators, which knows besides how far its workers are.
    Coordinator(String),
}

impl FromStr for LookAt {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        Ok(match is_url {
            true => Self::Coordinator(text.to_owned()),
            false => Self::Root(text.parse()?),
        })
    }
}

/// `baler status`
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// A folder or bucket that Baler has worked on (with --output, that is DST), or a coordinator of it
    #[arg(value_name = "ROOT|URL")]
    pub place: LookAt,
    /// The file that holds the token to show to a coordinator
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Only this native table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Show it again every two seconds, until stopped
    #[arg(long)]
    pub watch: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `baler files`
#[derive(Debug, Args)]
pub struct FilesArgs {
    /// A folder or bucket that Baler has worked on; with --output, that is DST
    pub root: Location,
    /// Only this native table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// The files of an older version: the number of an entry, or the name of a pin
    #[arg(long, value_name = "VERSION|PIN")]
    pub at: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `baler gc`
#[derive(Debug, Args)]
pub struct GcArgs {
    /// A folder or bucket that Baler has worked on; with --output, that is DST
    pub root: Location,
    /// Show what would be deleted, and why, without deleting it
    #[arg(long)]
    pub dry_run: bool,
    /// Wait for no grace period: nobody reads the replaced files any more. What is pinned stays
    #[arg(long)]
    pub now: bool,
    /// Look through the whole root for what ended attempts wrote late
    #[arg(long)]
    pub full: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `baler verify`
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A folder or bucket that Baler has worked on; with --output, that is DST
    pub root: Location,
    /// Only this native table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Look at lengths and footers only, and read no rows
    #[arg(long)]
    pub quick: bool,
    /// Read every byte and every row of every live file, follow the receipts, and look for what does not belong
    #[arg(long, conflicts_with = "quick")]
    pub deep: bool,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `baler retry`
#[derive(Debug, Args)]
pub struct RetryArgs {
    /// A folder or bucket that Baler has worked on; with --output, that is DST
    pub root: Location,
    /// Files below the root; all that are quarantined or left alone if none is named
    pub paths: Vec<String>,
    /// Only in this native table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
