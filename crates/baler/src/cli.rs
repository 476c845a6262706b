//! The command line as it is typed. Nothing is checked here beyond its spelling; `settings` does that.

use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::store::Location;

/// Packs the small Parquet files of a folder into few, large, sorted ones. Safe to kill at any moment.
#[derive(Debug, Parser)]
#[command(name = "baler", version, max_term_width = 110, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Merge what is there until nothing is left to do
    #[command(after_help = COMPACT_EXAMPLES)]
    Compact(CompactArgs),
    /// Show what `compact` would do, and why, without doing it
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Show files, jobs, leases, quarantine and garbage
    #[command(after_help = STATUS_EXAMPLES)]
    Status(RootArgs),
    /// List the live files
    #[command(after_help = FILES_EXAMPLES)]
    Files(RootArgs),
    /// Delete what was replaced or left behind, once its grace period is over
    #[command(after_help = GC_EXAMPLES)]
    Gc(GcArgs),
    /// Check that every live file is there, whole, and holds the rows that were written to it
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Try quarantined files again
    #[command(after_help = RETRY_EXAMPLES)]
    Retry(RetryArgs),
    /// Make a folder of small files and compact it before your eyes
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
}

/// `baler compact`
#[derive(Debug, Args)]
pub struct CompactArgs {
    /// The folder that holds the small files
    pub root: Location,
    #[command(flatten)]
    /// What the table is.
    pub table: TableArgs,
    #[command(flatten)]
    /// What part of it to work on.
    pub scope: ScopeArgs,
    /// Jobs to work on at once [default: 1, or 2 with four or more cores]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Threads for each job [default: the cores, shared by the workers]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Memory for merging, shared by the workers
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    pub memory: ByteSize,
    /// Leave files alone that were written less than this ago
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub settle: Duration,
    /// Take over the work of a process that has shown no sign of life for this long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub lease: Duration,
    /// Print the result as JSON, and no progress
    #[arg(long)]
    pub json: bool,
}

/// What a table is. On a known root, what is not given stays as it was.
#[derive(Debug, Default, Args)]
pub struct TableArgs {
    /// Write the result here, and never touch ROOT
    #[arg(long, value_name = "DST")]
    pub output: Option<Location>,
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
    /// With --output: what to do when a file that was compacted already has been rewritten [default: report; add
    /// with --key]
    #[arg(long, value_enum, value_name = "WHAT", requires = "output")]
    pub rewritten: Option<RewrittenArg>,
    /// In a bucket: copy replaced files to this folder below the root before they are deleted, like `_replaced`
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["output", "leave_inputs"])]
    pub keep_inputs: Option<String>,
    /// In a bucket: leave replaced files where they are. Whoever lists the folder then sees their rows twice
    #[arg(long, conflicts_with = "output")]
    pub leave_inputs: bool,
    /// No name in the bucket is ever used twice: needed to delete replaced files where the store cannot delete an object
    /// only if it is still the version that was merged
    #[arg(long)]
    pub names_never_reused: bool,
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
    /// The folder that holds the small files
    pub root: Location,
    #[command(flatten)]
    /// What the table is.
    pub table: TableArgs,
    #[command(flatten)]
    /// What part of it to look at.
    pub scope: ScopeArgs,
    /// Leave files alone that were written less than this ago
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub settle: Duration,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// A command that needs a root and nothing else.
#[derive(Debug, Args)]
pub struct RootArgs {
    /// A folder that `compact` has worked on; with --output, that is DST
    pub root: Location,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `baler gc`
#[derive(Debug, Args)]
pub struct GcArgs {
    /// A folder that `compact` has worked on; with --output, that is DST
    pub root: Location,
    /// Show what would be deleted, and why, without deleting it
    #[arg(long)]
    pub dry_run: bool,
    /// Wait for no grace period: nobody reads the replaced files any more
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
    /// A folder that `compact` has worked on; with --output, that is DST
    pub root: Location,
    /// Look at lengths and footers only, and read no rows
    #[arg(long)]
    pub quick: bool,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `baler retry`
#[derive(Debug, Args)]
pub struct RetryArgs {
    /// A folder that `compact` has worked on; with --output, that is DST
    pub root: Location,
    /// Files below the root; all that are quarantined if none is named
    pub paths: Vec<String>,
    /// Print the result as JSON
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

const COMPACT_EXAMPLES: &str = "\
Examples:
  baler compact ./data --output ./packed             leave ./data untouched; run again to take what is new
  baler compact ./data                               in place: replaced files are set aside, then deleted
  baler compact ./data --sort-by series_id,ts        sorted, so that readers can skip
  baler compact ./data --key id --newest updated_at  keep the newest row of each id
  baler compact ./data --partition 'day=2026-11-*' --max-bytes 10GiB

Exit codes: 0 done, 1 failed or something is quarantined or changed, 2 wrong usage.";

const PLAN_EXAMPLES: &str = "\
Examples:
  baler plan ./data --sort-by series_id,ts
  baler plan ./data --json | jq 'select(.job == null)'   the files that would be left alone, with reasons";

const STATUS_EXAMPLES: &str = "\
Examples:
  baler status ./data
  baler status ./data --json | jq .quarantined";

const FILES_EXAMPLES: &str = "\
Examples:
  baler files ./data
  baler files ./data --json | jq -r .path";

const GC_EXAMPLES: &str = "\
Examples:
  baler gc ./data --dry-run      what would go, and why
  baler gc ./data                what has waited out its grace period
  baler gc ./data --now          without waiting: nobody reads the replaced files any more";

const VERIFY_EXAMPLES: &str = "\
Examples:
  baler verify ./data            read everything, compare with what is on record
  baler verify ./data --quick    lengths and footers only";

const RETRY_EXAMPLES: &str = "\
Examples:
  baler retry ./data                       all that are quarantined
  baler retry ./data day=1/odd.parquet     this one";

const DEMO_EXAMPLES: &str = "\
Examples:
  baler demo
  baler demo --dir /tmp/demo --files 200";
