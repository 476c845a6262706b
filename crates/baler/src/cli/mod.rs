//! The command line as it is typed. Nothing is checked here beyond its spelling; `settings` does that.

mod cache;
#[cfg(feature = "http")]
mod chaos;
mod compact;
mod examples;
mod fleet;
mod jobs;
mod looking;
mod mending;
mod tables;

pub use cache::CacheArgs;
#[cfg(feature = "http")]
pub use chaos::ChaosArgs;
pub use compact::{
    CompactArgs, DemoArgs, MachineArgs, MergeArgs, PlainArgs, PlanArgs, ReplacedArgs, RewrittenArg,
    ScopeArgs, VerifyArg,
};
pub use fleet::{MergingArgs, RescanArgs, RoutingArgs, ServeArgs, WorkerArgs};
pub use jobs::{CancelArgs, JobsArgs, ReceiptsArgs, UndoArgs};
pub use looking::{FilesArgs, GcArgs, LookAt, RetryArgs, RootArgs, StatusArgs, TableRootArgs, VerifyArgs};
pub use mending::{JournalCommand, RepairArgs};
pub use tables::{
    AddArgs, NativeArgs, PinArgs, PolicyArg, TableArgs, TableCommand, TableNameArgs, UnpinArgs,
};

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

/// Packs small Parquet files in folders and buckets into few, large, sorted ones. Safe to kill any time.
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
    #[command(after_help = examples::COMPACT)]
    Compact(Box<CompactArgs>),
    /// Show what `compact` would do, and why, without doing it
    #[command(after_help = examples::PLAN)]
    Plan(Box<PlanArgs>),
    /// Go on compacting: look for new files, grant work, merge, and answer workers over HTTP
    #[cfg(feature = "http")]
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// Work for a root until stopped: through its coordinators, or with nothing but the bucket
    #[cfg(feature = "http")]
    #[command(after_help = examples::WORKER)]
    Worker(Box<WorkerArgs>),
    /// Show files, jobs, workers and how far they are, quarantine and garbage
    #[command(after_help = examples::STATUS)]
    Status(StatusArgs),
    /// List the live files, or those of an older version
    #[command(after_help = examples::FILES)]
    Files(FilesArgs),
    /// Make, change, list and drop native tables: those whose readers ask Baler which files there are
    #[command(subcommand, after_help = examples::TABLE)]
    Table(TableCommand),
    /// Hand files over to a native table
    #[command(after_help = examples::ADD)]
    Add(AddArgs),
    /// Promise to be reading a version of a native table: its files stay
    #[command(after_help = examples::PIN)]
    Pin(PinArgs),
    /// Say that a pinned version is read no more
    #[command(after_help = examples::UNPIN)]
    Unpin(UnpinArgs),
    /// List jobs: those that are open, and the last that ended
    #[command(after_help = examples::JOBS)]
    Jobs(JobsArgs),
    /// Show what committed jobs did: files, rows, digests, drops, attempts, cost
    #[command(after_help = examples::RECEIPTS)]
    Receipts(ReceiptsArgs),
    /// Take a committed job back: its inputs are live again, and left alone until `retry`
    #[command(after_help = examples::UNDO)]
    Undo(UndoArgs),
    /// End a job without effect; its files are left alone until `retry`
    #[command(after_help = examples::CANCEL)]
    Cancel(CancelArgs),
    /// Plan and begin nothing new until `resume`; what is under way goes on
    #[command(after_help = examples::PAUSE)]
    Pause(TableRootArgs),
    /// Go on after `pause`
    #[command(after_help = examples::RESUME)]
    Resume(TableRootArgs),
    /// Delete what was replaced or left behind, once its grace period is over
    #[command(after_help = examples::GC)]
    Gc(GcArgs),
    /// Check that every live file is there, whole, and holds the rows that were written to it
    #[command(after_help = examples::VERIFY)]
    Verify(VerifyArgs),
    /// Compare the bucket with the journal, and change nothing: what is missing, and what nobody knows
    #[command(after_help = examples::AUDIT)]
    Audit(RootArgs),
    /// Try again what is quarantined, or was left alone after `cancel`
    #[command(after_help = examples::RETRY)]
    Retry(RetryArgs),
    /// Check a journal, and rebuild a damaged one
    #[command(subcommand, after_help = examples::JOURNAL)]
    Journal(JournalCommand),
    /// Raise a root's format level to this version's; level 1 is the only one so far
    #[command(after_help = examples::UPGRADE)]
    Upgrade(RootArgs),
    /// Find out whether Baler keeps its word on your store: kills, faults, and every row counted
    #[cfg(feature = "http")]
    #[command(after_help = examples::CHAOS)]
    Chaos(ChaosArgs),
    /// Make a folder of small files and compact it before your eyes
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Print a script that completes commands and flags in a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write manual pages, one a command
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
    /// Merge what another process of Baler asks for on standard input
    #[command(name = crate::worker::child::COMMAND, hide = true)]
    MergeChild,
}

/// `baler completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// `baler man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder to write them to; it is made where it is missing
    pub dir: PathBuf,
}
