//! Commands that work on what lies in a folder or bucket.

use std::path::PathBuf;
use std::time::Duration;

use baler_core::table::Verify;
use bytesize::ByteSize;
use clap::{Args, ValueEnum};

use super::cache::CacheArgs;
use crate::store::Location;

/// `baler compact`
#[derive(Debug, Args)]
pub struct CompactArgs {
    /// The folder or bucket that holds the small files
    pub root: Location,
    #[command(flatten)]
    /// What the table is.
    pub plain: PlainArgs,
    #[command(flatten)]
    /// What part of it to work on.
    pub scope: ScopeArgs,
    #[command(flatten)]
    /// How much of this machine is for it.
    pub machine: MachineArgs,
    /// Merge in child processes with a limit of memory: a file that kills whoever reads it ends a child, and is set
    /// aside. On Linux
    #[arg(long)]
    pub isolate: bool,
    /// Leave files alone that were written less than this ago
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub settle: Duration,
    /// Take over the work of a process that has shown no sign of life for this long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub lease: Duration,
    #[command(flatten)]
    /// What lies nearer than the store.
    pub cache: CacheArgs,
    /// Print the result as JSON, and no progress
    #[arg(long)]
    pub json: bool,
}

/// How much of this machine is for merging.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Jobs to work on at once [default: 1, or 2 with four or more cores]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Threads for each job [default: the cores, shared by the workers]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Memory for merging, all workers together: each range takes what it needs of it
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    pub memory: ByteSize,
    /// Cut jobs of at least twice this size into ranges of about this size, to be merged apart; never below the size of the
    /// files to write
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub range_bytes: ByteSize,
}

/// What a plain table is. On a known root, what is not given stays as it was.
#[derive(Debug, Default, Args)]
pub struct PlainArgs {
    /// Write the result here, and never touch ROOT
    #[arg(long, value_name = "DST", conflicts_with_all = ["keep_inputs", "leave_inputs"])]
    pub output: Option<Location>,
    #[command(flatten)]
    /// How its files are merged.
    pub merge: MergeArgs,
    /// With --output: what to do when a file that was compacted already has been rewritten [default: report; add
    /// with --key]
    #[arg(long, value_enum, value_name = "WHAT", requires = "output")]
    pub rewritten: Option<RewrittenArg>,
    #[command(flatten)]
    /// What becomes of replaced files.
    pub replaced: ReplacedArgs,
    /// In a bucket: the storage class (or Azure's access tier) of the files to write
    #[arg(long, value_name = "CLASS")]
    pub storage_class: Option<String>,
    /// In a bucket: a tag on each file that is written; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub tag: Vec<String>,
    /// In a bucket: metadata of each file that is written; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub metadata: Vec<String>,
    /// Take files that another Baler root wrote (a copied or restored folder) as ordinary inputs
    #[arg(long)]
    pub adopt_foreign: bool,
}

/// How files are merged.
#[derive(Clone, Debug, Default, Args)]
pub struct MergeArgs {
    /// Sort by these columns: a,b or a:desc,b:asc:nulls-first
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub sort_by: Option<Vec<String>>,
    /// Keep one row for each value of these columns: the one with the greatest --newest
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "newest")]
    pub key: Option<Vec<String>>,
    /// The column that says which row of a key is the newest
    #[arg(long, value_name = "COLUMN", requires = "key")]
    pub newest: Option<String>,
    /// Size of the files to write [default: 512MiB]
    #[arg(long, value_name = "SIZE")]
    pub target_size: Option<ByteSize>,
    /// How long replaced files are kept aside before they are deleted [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub grace: Option<Duration>,
    /// What is asked of the files that are written before they count [default: none]
    #[arg(long, value_enum, value_name = "HOW")]
    pub verify: Option<VerifyArg>,
}

/// What is asked of outputs before they count, beside the proof that every commit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VerifyArg {
    /// Nothing beyond the digests that every commit compares
    None,
    /// Each is read back from the store, and its rows are compared with those that were merged
    Reread,
}

impl VerifyArg {
    /// What was said.
    pub fn said(self) -> Verify {
        match self {
            Self::None => Verify::None,
            Self::Reread => Verify::Reread,
        }
    }
}

/// In a bucket, where nothing can be renamed: what becomes of replaced files.
#[derive(Clone, Debug, Default, Args)]
pub struct ReplacedArgs {
    /// In a bucket: copy replaced files to this folder below the root before they are deleted, like `_replaced`
    #[arg(long, value_name = "FOLDER", conflicts_with = "leave_inputs")]
    pub keep_inputs: Option<String>,
    /// In a bucket: leave replaced files where they are. Whoever lists the folder then sees their rows twice
    #[arg(long)]
    pub leave_inputs: bool,
    /// No name in the bucket is ever used twice: needed to delete replaced files where the store cannot delete an object
    /// only if it is still the version that was merged
    #[arg(long)]
    pub names_never_reused: bool,
}

/// What to do with a rewritten source file.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum RewrittenArg {
    /// Leave it, name it, and exit with 1
    Report,
    /// Take it as a new file
    Add,
}

/// What part of a table to work on.
#[derive(Debug, Default, Args)]
pub struct ScopeArgs {
    /// Work only on this native table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Work only on folders that match, like 'day=2026-11-*'
    #[arg(long, value_name = "GLOB")]
    pub partition: Option<String>,
    /// Stop after planning this many bytes of inputs
    #[arg(long, value_name = "SIZE")]
    pub max_bytes: Option<ByteSize>,
    /// Begin no more jobs than this
    #[arg(long, value_name = "N")]
    pub limit_jobs: Option<usize>,
    /// In a bucket: begin no more jobs once the requests of this run cost so much, at list price
    #[arg(long, value_name = "USD")]
    pub max_cost: Option<f64>,
}

/// `baler plan`
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The folder or bucket that holds the small files
    pub root: Location,
    #[command(flatten)]
    /// What the table is.
    pub plain: PlainArgs,
    #[command(flatten)]
    /// What part of it to look at.
    pub scope: ScopeArgs,
    #[command(flatten)]
    /// How much of this machine would be for it: the ways of rows depend on it.
    pub machine: MachineArgs,
    /// Read the footers of the files of the first N jobs, and say which way each stretch of their rows would go [default: as many
    /// jobs as have 1000 files]
    #[arg(long, value_name = "N")]
    pub look_into: Option<usize>,
    /// Leave files alone that were written less than this ago
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub settle: Duration,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `baler demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where to make the files
    #[arg(long, value_name = "DIR", default_value = "./baler-demo")]
    pub dir: PathBuf,
    /// How many small files to make
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub files: u32,
    /// Print the result as JSON, and no progress
    #[arg(long)]
    pub json: bool,
}
