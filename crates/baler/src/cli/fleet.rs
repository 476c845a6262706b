//! Commands that go on until they are stopped: coordinators and workers.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;

use super::cache::CacheArgs;
use super::compact::{PlainArgs, VerifyArg};
use crate::store::Location;

/// `baler serve`
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The folder or bucket that holds the small files, or native tables
    pub root: Location,
    #[command(flatten)]
    /// What the table is.
    pub plain: PlainArgs,
    #[command(flatten)]
    /// How it merges.
    pub merging: MergingArgs,
    #[command(flatten)]
    /// What it is willing to work on.
    pub routing: RoutingArgs,
    #[command(flatten)]
    /// How it looks for new files.
    pub rescan: RescanArgs,
    /// Where to answer workers and people; beyond this machine only with --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    pub listen: SocketAddr,
    /// Merge nothing in this process: workers elsewhere do
    #[arg(long)]
    pub no_worker: bool,
    /// The file that holds the token which everybody who asks must show
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Let go of the work of a process that has shown no sign of life for this long
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = humantime::parse_duration)]
    pub lease: Duration,
}

/// `baler worker`
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Roots, to work without a coordinator; or coordinators, of one root or of several, like http://host:7070
    #[arg(required_unless_present = "roots_under", value_name = "ROOT|URL")]
    pub places: Vec<String>,
    /// Work for every root below this folder or prefix, also for those that come later; may be repeated
    #[arg(long, value_name = "PLACE")]
    pub roots_under: Vec<Location>,
    /// Ranges of one root to work on at once, where there are several roots [default: as many as --workers]
    #[arg(long, value_name = "N")]
    pub workers_per_root: Option<usize>,
    #[command(flatten)]
    /// How it merges.
    pub merging: MergingArgs,
    /// What this worker asks of the files that it writes before they count, whatever their table says [default: as the
    /// table says]
    #[arg(long, value_enum, value_name = "HOW")]
    pub verify: Option<VerifyArg>,
    #[command(flatten)]
    /// What it is willing to work on.
    pub routing: RoutingArgs,
    #[command(flatten)]
    /// How it looks for new files.
    pub rescan: RescanArgs,
    /// With coordinators: where this machine finds the root, if not where they do
    #[arg(long, value_name = "ROOT")]
    pub root: Option<Location>,
    /// Answer with this worker's own metrics here: a port of this machine, or an address; beyond this machine only
    /// with --token-file
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen_address)]
    pub listen: Option<SocketAddr>,
    /// The file that holds the token to show to coordinators; and with --listen, the one that others must show here
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Without a coordinator: take over the work of a process that has shown no sign of life for this long
    /// [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub lease: Option<Duration>,
}

/// A port alone is one of this machine.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text
        .parse()
        .map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    port.or_else(|_| text.parse())
        .map_err(|_| "give a port, or an address and a port like 127.0.0.1:7071".to_owned())
}

/// How a process merges.
#[derive(Debug, Args)]
pub struct MergingArgs {
    /// Ranges to work on at once [default: 1, or 2 with four or more cores]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Threads for each [default: the cores, shared by the workers]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Memory for merging, all workers together: each range takes what it needs of it
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    pub memory: ByteSize,
    /// Cut jobs of at least twice this size into ranges of about this size, to be merged apart; never below the size of the
    /// files to write
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub range_bytes: ByteSize,
    /// Merge in child processes with a limit of memory: a file that kills whoever reads it ends a child, and is set
    /// aside. On Linux
    #[arg(long)]
    pub isolate: bool,
    #[command(flatten)]
    /// What lies nearer than the store.
    pub cache: CacheArgs,
}

/// What a worker is willing to work on. Publishing what others merged is short, and for anybody.
#[derive(Debug, Default, Args)]
pub struct RoutingArgs {
    /// Merge only files of these levels: 0, or 0-1. Files arrive at level 0 and climb with each merge
    #[arg(long, value_name = "LEVELS")]
    pub levels: Option<String>,
    /// Merge only jobs with at most this many bytes of inputs
    #[arg(long, value_name = "SIZE")]
    pub max_job_bytes: Option<ByteSize>,
    /// Merge only these native tables
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tables: Option<Vec<String>>,
}

impl RoutingArgs {
    /// Whether anything was said.
    pub fn is_given(&self) -> bool {
        self.levels.is_some() || self.max_job_bytes.is_some() || self.tables.is_some()
    }
}

/// How a process looks for new files in a plain root.
#[derive(Debug, Args)]
pub struct RescanArgs {
    /// List a plain root for new files this often; `never` to leave it to others
    #[arg(long, value_name = "TIME|never", default_value = "5m")]
    pub rescan: String,
    /// Leave files alone that were written less than this ago
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub settle: Duration,
}
