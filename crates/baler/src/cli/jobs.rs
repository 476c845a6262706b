//! Commands about jobs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::looking::LookAt;
use crate::store::Location;

/// `baler jobs`
#[derive(Debug, Args)]
pub struct JobsArgs {
    /// A folder or bucket that Baler has worked on (with --output, that is DST), or a coordinator of it
    #[arg(value_name = "ROOT|URL")]
    pub place: LookAt,
    /// The file that holds the token to show to a coordinator
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Only of this native table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Show them again every two seconds, until stopped
    #[arg(long)]
    pub watch: bool,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `baler receipts`
#[derive(Debug, Args)]
pub struct ReceiptsArgs {
    /// A folder or bucket that Baler has worked on (with --output, that is DST), or a coordinator of it
    #[arg(value_name = "ROOT|URL")]
    pub place: LookAt,
    /// The job's number; the receipts of all jobs, youngest first, if none is named
    pub job: Option<u64>,
    /// The file that holds the token to show to a coordinator
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Only of this native table
    #[arg(long, value_name = "NAME", conflicts_with = "job")]
    pub table: Option<String>,
    /// Only those of the last hours or days, like 36h, by this machine's clock
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, conflicts_with = "job")]
    pub since: Option<Duration>,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `baler undo`
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// A folder or bucket that Baler has worked on; with --output, that is DST
    pub root: Location,
    /// The job's number, as `baler jobs` and `baler receipts` show it
    pub job: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `baler cancel`
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// A folder or bucket that Baler has worked on; with --output, that is DST
    pub root: Location,
    /// The job's number, as `baler jobs` shows it
    pub job: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
