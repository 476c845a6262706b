//! What was typed about a run, checked.

use std::time::Duration;

use baler_core::ids::TableName;
use globset::{GlobBuilder, GlobMatcher};

use super::{FolderFilter, Merging, RunSettings, ScopeSettings, Usage, check_lease, refuse_zero};
use crate::cli::{CompactArgs, MachineArgs, MergingArgs, PlanArgs, ScopeArgs};

impl RunSettings {
    /// Checks what was typed.
    pub fn check(args: &CompactArgs) -> Result<Self, Usage> {
        let Merging {
            workers,
            threads,
            memory_bytes,
            range_bytes,
        } = Merging::on(&args.machine)?;
        check_lease(args.lease)?;
        let scope = ScopeSettings::check(&args.scope)?;
        Ok(Self {
            workers,
            threads,
            memory_bytes,
            range_bytes,
            settle: args.settle,
            lease: args.lease,
            scope,
            isolation: None,
        })
    }

    /// For a dry run, which merges nothing.
    pub fn for_plan(args: &PlanArgs) -> Result<Self, Usage> {
        let Merging {
            workers,
            threads,
            memory_bytes,
            range_bytes,
        } = Merging::on(&args.machine)?;
        let scope = ScopeSettings::check(&args.scope)?;
        let lease = Duration::from_secs(60);
        Ok(Self {
            workers,
            threads,
            memory_bytes,
            range_bytes,
            settle: args.settle,
            lease,
            scope,
            isolation: None,
        })
    }
}

impl Merging {
    fn on(args: &MachineArgs) -> Result<Self, Usage> {
        Self::new(
            args.workers,
            args.threads,
            args.memory.as_u64(),
            args.range_bytes.as_u64(),
        )
    }

    pub(super) fn check(args: &MergingArgs) -> Result<Self, Usage> {
        Self::new(
            args.workers,
            args.threads,
            args.memory.as_u64(),
            args.range_bytes.as_u64(),
        )
    }
}

impl ScopeSettings {
    fn check(args: &ScopeArgs) -> Result<Self, Usage> {
        let glob = |text: &String| {
            let glob = GlobBuilder::new(text).literal_separator(true).build();
            glob.map(|glob| folders_that_match(glob.compile_matcher()))
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

fn folders_that_match(glob: GlobMatcher) -> FolderFilter {
    FolderFilter::new(move |folder| glob.is_match(folder))
}
