//! Commands about native tables: those whose catalog is the journal.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::compact::{MergeArgs, ReplacedArgs};
use super::examples;
use super::looking::RootArgs;
use crate::store::Location;

/// `baler table …`
#[derive(Debug, Subcommand)]
pub enum TableCommand {
    /// Make a table; the folder or bucket is made a root where it is none
    #[command(after_help = examples::TABLE_CREATE)]
    Create(Box<TableArgs>),
    /// Change a table. What is not given stays as it was
    #[command(after_help = examples::TABLE_ALTER)]
    Alter(Box<TableArgs>),
    /// List the tables of a root
    #[command(after_help = examples::TABLE_LIST)]
    List(RootArgs),
    /// Drop a table and its files; they are deleted after the grace period
    #[command(after_help = examples::TABLE_DROP)]
    Drop(TableNameArgs),
}

/// `baler table create` and `baler table alter`
#[derive(Debug, Args)]
pub struct TableArgs {
    /// A folder, or a URL like s3://bucket/prefix
    pub root: Location,
    /// The table's name
    pub name: String,
    #[command(flatten)]
    /// What the table is.
    pub native: NativeArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What a native table is.
#[derive(Debug, Default, Args)]
pub struct NativeArgs {
    #[command(flatten)]
    /// How its files are merged.
    pub merge: MergeArgs,
    /// The column that holds a row's time; for plain integers with their unit
    #[arg(long, value_name = "COLUMN[:s|ms|us|ns]")]
    pub row_time: Option<String>,
    /// Drop files whose newest row is older than this, like 30d; `none` keeps them
    #[arg(long, value_name = "TIME")]
    pub retain: Option<String>,
    /// With --key: a row in which this column is true deletes older rows of its key; `none` for no such column
    #[arg(long, value_name = "COLUMN")]
    pub drop_deleted_where: Option<String>,
    /// Drop rows that are older than this, by --row-time or another column; `none` keeps them
    #[arg(long, value_name = "TIME[@COLUMN]")]
    pub expire_after: Option<String>,
    /// The promise that no row comes later than this after its row time
    #[arg(long, value_name = "TIME")]
    pub lateness: Option<String>,
    /// The folder key or column that says whose rows these are, like tenant in tenant=acme/: tenants take turns
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// The folder key or column that merely spreads the load of writing
    #[arg(long, value_name = "NAME")]
    pub shard: Option<String>,
    /// With --shard: files of this level and above are merged across shards
    #[arg(long, value_name = "LEVEL")]
    pub cross_shard_from: Option<u8>,
    /// Which files are merged, and when [default: leveled]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub policy: Option<PolicyArg>,
    /// With --policy time-window: how long a window of row times is [default: 1h]
    #[arg(long, value_name = "TIME")]
    pub window: Option<String>,
    #[command(flatten)]
    /// What becomes of files that were added and then replaced.
    pub replaced: ReplacedArgs,
}

/// Which files are merged, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PolicyArg {
    /// Files climb levels; overlaps are removed
    Leveled,
    /// Files of similar size are merged: fewer bytes are rewritten, overlaps stay longer
    SizeTiered,
    /// Files are merged within windows of their rows' times, once a window is closed
    TimeWindow,
}

/// A table that exists.
#[derive(Debug, Args)]
pub struct TableNameArgs {
    /// The root that holds the table
    pub root: Location,
    /// The table's name
    pub name: String,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `baler add`
#[derive(Debug, Args)]
pub struct AddArgs {
    /// The root that holds the table
    pub root: Location,
    /// The table
    pub table: String,
    /// Files below the root: paths counted from it, or full paths and URLs; `-` reads them from standard input, one a
    /// line, as they are, as JSON: {"path": …}, or as the events that S3 sends
    #[arg(required = true, value_name = "PATH|-")]
    pub paths: Vec<String>,
    /// Print the result as JSON, and no progress
    #[arg(long)]
    pub json: bool,
}

/// `baler pin`
#[derive(Debug, Args)]
pub struct PinArgs {
    /// The root that holds the table
    pub root: Location,
    /// The table
    pub table: String,
    /// The version to read, the number of an entry [default: the table as it stands]
    #[arg(long, value_name = "VERSION")]
    pub at: Option<u64>,
    /// For how long at most
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = humantime::parse_duration)]
    pub lifetime: Duration,
    /// Who reads; for people [default: the user's name]
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Print the pin, the version and its files as JSON
    #[arg(long)]
    pub json: bool,
}

/// `baler unpin`
#[derive(Debug, Args)]
pub struct UnpinArgs {
    /// The root that holds the table
    pub root: Location,
    /// The pin, as `baler pin` named it
    pub pin: String,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
