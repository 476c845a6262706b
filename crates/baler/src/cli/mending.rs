//! Commands for a journal that may be damaged, or of another level.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::{MergeArgs, ReplacedArgs, RootArgs, examples};
use crate::store::Location;

/// `baler journal`
#[derive(Debug, Subcommand)]
pub enum JournalCommand {
    /// Read the whole journal and say what is wrong with it, what that means, and what to do; writes nothing
    #[command(after_help = examples::JOURNAL_CHECK)]
    Check(RootArgs),
    /// Rebuild a damaged journal from what is whole and from the data; copies the old one first and deletes nothing
    #[command(after_help = examples::JOURNAL_REPAIR)]
    Repair(RepairArgs),
}

/// `baler journal repair`
#[derive(Debug, Args)]
pub struct RepairArgs {
    /// A folder or bucket that Baler has worked on; with --output, that is DST
    pub root: Location,
    /// Show what would be done, without doing it
    #[arg(long)]
    pub dry_run: bool,
    /// Also while others are at work: what they are merging is thrown away, and they are told to start again
    #[arg(long)]
    pub force: bool,
    /// How long to look whether others still write
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    pub wait: Duration,
    #[command(flatten)]
    /// What the table was, where the journal has lost that too; see `compact`.
    pub merge: MergeArgs,
    #[command(flatten)]
    /// What becomes of its replaced files.
    pub replaced: ReplacedArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
