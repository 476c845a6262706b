//! The command line, checked: what is in here is meant and makes sense together.

mod fleet;
mod merging;
mod native;
mod policy;
mod replaced;
mod table;
mod words;

pub use fleet::{Place, ServeSettings, WorkerSettings};
pub use merging::{MergeSettings, TARGET_BYTES_MIN};
pub use native::NativeSettings;
pub(crate) use native::table_name;
pub use replaced::ReplacedSettings;
pub use table::TableSettings;
pub use words::{describe_rule, describe_sort, describe_table};

use std::time::Duration;

use baler_core::ids::TableName;
use baler_core::time::Millis;
use globset::{GlobBuilder, GlobMatcher};

use crate::cli::{CompactArgs, MergingArgs, PlanArgs, ScopeArgs};

/// The command line does not make sense: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Merging needs this much, whatever it merges.
pub const MEMORY_BYTES_MIN: u64 = 32 << 20;

/// How a run works.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Jobs at once.
    pub workers: usize,
    /// Threads for each.
    pub threads: usize,
    /// Memory for each.
    pub memory_bytes: u64,
    /// Younger files wait.
    pub settle: Duration,
    /// How long a silent process keeps its leases.
    pub lease: Duration,
    /// What part of the table to work on.
    pub scope: ScopeSettings,
}

/// What part of a table to work on.
#[derive(Clone, Debug, Default)]
pub struct ScopeSettings {
    /// Only this native table.
    pub table: Option<TableName>,
    /// Only folders that match.
    pub partition: Option<GlobMatcher>,
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

impl RunSettings {
    /// Checks what was typed.
    pub fn check(args: &CompactArgs) -> Result<Self, Usage> {
        let Merging {
            workers,
            threads,
            memory_bytes,
        } = Merging::new(args.workers, args.threads, args.memory.as_u64())?;
        check_lease(args.lease)?;
        let scope = ScopeSettings::check(&args.scope)?;
        Ok(Self {
            workers,
            threads,
            memory_bytes,
            settle: args.settle,
            lease: args.lease,
            scope,
        })
    }

    /// For a dry run, which merges nothing.
    pub fn for_plan(args: &PlanArgs) -> Result<Self, Usage> {
        let scope = ScopeSettings::check(&args.scope)?;
        let lease = Duration::from_secs(60);
        Ok(Self {
            workers: 1,
            threads: 1,
            memory_bytes: MEMORY_BYTES_MIN,
            settle: args.settle,
            lease,
            scope,
        })
    }
}

/// How much of a machine is for merging.
#[derive(Clone, Copy, Debug)]
pub struct Merging {
    /// Attempts at once.
    pub workers: usize,
    /// Threads for each.
    pub threads: usize,
    /// Memory for each.
    pub memory_bytes: u64,
}

impl Merging {
    fn check(args: &MergingArgs) -> Result<Self, Usage> {
        Self::new(args.workers, args.threads, args.memory.as_u64())
    }

    fn new(workers: Option<usize>, threads: Option<usize>, memory: u64) -> Result<Self, Usage> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = workers.unwrap_or(if cores >= 4 { 2 } else { 1 });
        let threads = threads.unwrap_or(cores.div_ceil(workers.max(1)));
        refuse_zero("--workers", workers as u64)?;
        refuse_zero("--threads", threads as u64)?;
        let memory_bytes = memory / workers as u64;
        if memory_bytes < MEMORY_BYTES_MIN {
            let least = bytesize::ByteSize(MEMORY_BYTES_MIN * workers as u64)
                .display()
                .iec();
            return Err(Usage(format!(
                "--memory is too little for {workers} worker(s): give at least {least}"
            )));
        }
        Ok(Self {
            workers,
            threads,
            memory_bytes,
        })
    }
}

fn check_lease(lease: Duration) -> Result<(), Usage> {
    match lease < Duration::from_secs(1) {
        true => Err(Usage("--lease must be at least 1s".to_owned())),
        false => Ok(()),
    }
}

impl ScopeSettings {
    fn check(args: &ScopeArgs) -> Result<Self, Usage> {
        let glob = |text: &String| {
            let glob = GlobBuilder::new(text).literal_separator(true).build();
            glob.map(|glob| glob.compile_matcher())
                .map_err(|error| Usage(format!("--partition: {error}")))
        };
        let partition = args.partition.as_ref().map(glob).transpose()?;
        let bytes_max = args.max_bytes.map(|size| size.as_u64());
        refuse_zero("--max-bytes", bytes_max.unwrap_or(1))?;
        refuse_zero("--limit-jobs", args.limit_jobs.unwrap_or(1) as u64)?;
        let cost_max_usd = args.max_cost;
        if cost_max_usd.is_some_and(|usd| usd.is_nan() || usd <= 0.0) {
            return Err(Usage(
                "--max-cost must be above 0, in US dollars like 0.50".to_owned(),
            ));
        }
        Ok(Self {
            table: args.table.as_deref().map(TableName::from),
            partition,
            bytes_max,
            jobs_max: args.limit_jobs,
            cost_max_usd,
        })
    }
}

fn refuse_zero(flag: &str, value: u64) -> Result<(), Usage> {
    match value {
        0 => Err(Usage(format!("{flag} must be at least 1"))),
        _ => Ok(()),
    }
}

pub(crate) fn millis(length: Duration) -> Millis {
    Millis(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}
