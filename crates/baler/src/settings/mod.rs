//! The command line, checked: what is in here is meant and makes sense together.

#[cfg(feature = "cli")]
mod flags;
#[cfg(all(feature = "cli", feature = "http"))]
mod fleet;
mod folders;
mod merging;
#[cfg(feature = "cli")]
mod native;
#[cfg(feature = "cli")]
mod policy;
mod replaced;
#[cfg(feature = "cli")]
mod routing;
mod table;
mod words;

#[cfg(all(feature = "cli", feature = "http"))]
pub use fleet::{Place, ServeSettings, WorkerSettings};
pub use folders::FolderFilter;
pub use merging::{MergeSettings, TARGET_BYTES_MIN};
#[cfg(feature = "cli")]
pub use native::NativeSettings;
#[cfg(feature = "cli")]
pub(crate) use native::table_name;
pub use replaced::ReplacedSettings;
pub use table::TableSettings;
pub use words::{describe_rule, describe_sort, describe_table};

use std::time::Duration;

use baler_core::ids::TableName;
#[cfg(feature = "cli")]
use baler_core::time::Millis;

/// The command line does not make sense: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Merging needs this much, whatever it merges.
pub const MEMORY_BYTES_MIN: u64 = 32 << 20;

/// A smaller range costs more than it is worth.
const RANGE_BYTES_MIN: u64 = 64 << 10;

/// How a run works.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Jobs at once.
    pub workers: usize,
    /// Threads for each.
    pub threads: usize,
    /// Memory for all of them together.
    pub memory_bytes: u64,
    /// A job of at least twice this is cut into ranges of about this.
    pub range_bytes: u64,
    /// Younger files wait.
    pub settle: Duration,
    /// How long a silent process keeps its leases.
    pub lease: Duration,
    /// What part of the table to work on.
    pub scope: ScopeSettings,
    /// How to merge what may kill whoever does.
    pub isolation: Option<crate::worker::child::Isolation>,
}

/// What part of a table to work on.
#[derive(Clone, Debug, Default)]
pub struct ScopeSettings {
    /// Only this native table.
    pub table: Option<TableName>,
    /// Only folders that match.
    pub partition: Option<FolderFilter>,
    /// No more input bytes than this.
    pub bytes_max: Option<u64>,
    /// No more jobs than this.
    pub jobs_max: Option<usize>,
    /// No more jobs once the requests cost this much.
    pub cost_max_usd: Option<f64>,
}

impl ScopeSettings {
    /// Whether a folder is inside.
    pub fn covers(&self, folder: &str) -> bool {
        self.partition.as_ref().is_none_or(|glob| glob.is_match(folder))
    }
}

/// How much of a machine is for merging.
#[derive(Clone, Copy, Debug)]
pub struct Merging {
    /// Attempts at once.
    pub workers: usize,
    /// Threads for each.
    pub threads: usize,
    /// Memory for all of them together.
    pub memory_bytes: u64,
    /// A job of at least twice this is cut into ranges of about this.
    pub range_bytes: u64,
}

impl Merging {
    /// As much of this machine as is good where nothing is said.
    pub fn of_this_machine() -> Result<Self, Usage> {
        Self::new(None, None, 1 << 30, 1 << 30)
    }

    /// Checks what is wanted; what is not said fits this machine.
    pub fn new(
        workers: Option<usize>,
        threads: Option<usize>,
        memory_bytes: u64,
        range_bytes: u64,
    ) -> Result<Self, Usage> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = workers.unwrap_or(if cores >= 4 { 2 } else { 1 });
        let threads = threads.unwrap_or(cores.div_ceil(workers.max(1)));
        refuse_zero("--workers", workers as u64)?;
        refuse_zero("--threads", threads as u64)?;
        if range_bytes < RANGE_BYTES_MIN {
            return Err(Usage("--range-bytes must be at least 64KiB".to_owned()));
        }
        let least = MEMORY_BYTES_MIN.saturating_mul(workers as u64);
        if memory_bytes < least {
            let least = bytesize::ByteSize(least).display().iec();
            return Err(Usage(format!(
                "--memory is too little for {workers} worker(s): give at least {least}"
            )));
        }
        Ok(Self {
            workers,
            threads,
            memory_bytes,
            range_bytes,
        })
    }
}

#[cfg(feature = "cli")]
fn check_lease(lease: Duration) -> Result<(), Usage> {
    match lease < Duration::from_secs(1) {
        true => Err(Usage("--lease must be at least 1s".to_owned())),
        false => Ok(()),
    }
}

fn refuse_zero(flag: &str, value: u64) -> Result<(), Usage> {
    match value {
        0 => Err(Usage(format!("{flag} must be at least 1"))),
        _ => Ok(()),
    }
}

#[cfg(feature = "cli")]
pub(crate) fn millis(length: Duration) -> Millis {
    Millis(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}
