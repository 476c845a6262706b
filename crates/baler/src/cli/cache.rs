//! A cache near the process.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::Args;

/// Where files may be found nearer than in the store.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// Keep what is read and written in this folder too, and read it there the next time. Processes and machines may
    /// share one
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// The most that may lie there; what was not used for longest goes
    #[arg(long, value_name = "SIZE", default_value = "10GiB", requires = "cache")]
    pub cache_bytes: ByteSize,
}
