//! Looks into the first jobs of a plan: reads the footers of their files, and says which way each stretch of their rows would go.
//! It is the merge engine that says so, by the same rules by which it merges.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use baler_core::admission::memory_estimate;
use baler_core::decide::foreseen_job;
use baler_core::file::KeyRange;
use baler_core::ids::{Partition, TableName};
use baler_core::job::Job;
use baler_core::planner::Proposal;
use baler_core::state::State;
use baler_core::stretch::Way;
use baler_core::table::MergeSpec;
use baler_journal::host;
use baler_merge::{Budget, PlannedRange, PlannedStretch};
use serde::Serialize;

use super::ways;
use crate::depot::Input;
use crate::merge::ParquetMerge;
use crate::report::Cost;
use crate::settings::RunSettings;
use crate::site::Site;
use crate::spec;
use crate::worker::ranges_wanted;

/// Files whose footers are read where nobody says how many jobs to look into. It takes a few seconds on a store, and a thousandth of
/// what it costs to compact them.
const FILES_MAX: usize = 1_000;

/// A job that would be done.
pub(super) struct ChosenJob {
    pub(super) table: TableName,
    pub(super) partition: Partition,
    pub(super) proposal: Proposal,
}

/// A stretch of the rows of a job: they follow one another in the output, and go the same way for the same reason.
#[derive(Debug, Serialize)]
pub(super) struct JobStretch {
    /// Counted from 1.
    pub(super) job: usize,
    /// The range of the job, if it would be cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) range: Option<usize>,
    pub(super) way: Way,
    pub(super) why: &'static str,
    /// What is looked at before rows go that way, as no footer tells it. Where it does not hold they are merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provided: Option<&'static str>,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) row_groups: u64,
    pub(super) files: usize,
    /// Bounds of its keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<KeyRange>,
}

/// What was found in the jobs that were looked into.
#[derive(Debug, Default, Serialize)]
pub(super) struct LookedInto {
    /// The first so many jobs.
    pub(super) jobs: usize,
    /// Their files, each of which was opened for its footer.
    pub(super) footers: usize,
    /// What that took of stores.
    pub(super) requests: u64,
    pub(super) price_usd: f64,
    pub(super) stretches: Vec<JobStretch>,
    /// Jobs of which nothing can be said, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) odd: Vec<OddJob>,
    /// For each file that was looked into which way its rows go.
    #[serde(skip)]
    pub(super) ways: BTreeMap<(usize, String), ways::Way>,
}

/// A job of which nothing can be said.
#[derive(Debug, Serialize)]
pub(super) struct OddJob {
    pub(super) job: usize,
    pub(super) why: String,
}

impl LookedInto {
    /// Bytes that would be copied.
    pub(super) fn bytes_copied(&self) -> u64 {
        let copied = self.stretches.iter().filter(|stretch| stretch.way != Way::Merged);
        copied.map(|stretch| stretch.bytes).sum()
    }
}

/// Looks into the first so many jobs; if nobody says how many, into those that have few enough files together.
pub(super) async fn look_into(
    site: &Site,
    state: &State,
    jobs: &[ChosenJob],
    settings: &RunSettings,
    wanted: Option<usize>,
) -> LookedInto {
    let before = Cost::so_far(site);
    let mut looked = LookedInto::default();
    for (number, chosen) in (1..).zip(jobs) {
        let files = chosen.proposal.inputs.len();
        let is_wanted = match wanted {
            Some(wanted) => number <= wanted,
            None => looked.footers + files <= FILES_MAX,
        };
        if !is_wanted {
            break;
        }
        looked.jobs = number;
        looked.footers += files;
        let job = foreseen_job(state, &chosen.table, &chosen.partition, &chosen.proposal);
        let Some(job) = job else { continue };
        match foresee(site, &job, settings).await {
            Ok(ranges) => looked.take(number, &job, ranges),
            Err(why) => looked.odd.push(OddJob {
                job: number,
                why: format!("{why:#}"),
            }),
        }
    }
    let after = Cost::so_far(site);
    looked.requests = after.requests - before.requests;
    looked.price_usd = after.price_usd - before.price_usd;
    looked
}

async fn foresee(site: &Site, job: &Arc<Job>, settings: &RunSettings) -> Result<Vec<PlannedRange>> {
    let format = job.merge.format();
    if format != MergeSpec::PARQUET {
        return Err(anyhow!("files of the format {format} do not tell"));
    }
    let mut inputs: Vec<Arc<dyn Input>> = Vec::with_capacity(job.inputs.len());
    for file in &job.inputs {
        inputs.push(site.depot_of(&file.path).open_input(file).await?);
    }
    let ranges = ranges_wanted(job, settings.range_bytes);
    let budget = Budget {
        memory_bytes: memory_of(job, settings, ranges).saturating_sub(site.root.output_bytes_held()),
        threads: settings.threads,
    };
    let job = job.clone();
    let looking = host::blocking(move || ParquetMerge::foresee(&job, &inputs, ranges, budget));
    match looking.await {
        Ok(ranges) => Ok(ranges?),
        Err(panic) => Err(anyhow!("looking at its files panicked: {panic}")),
    }
}

/// With how much a range of it would be merged, about: a worker alone gives all that it has, others what a range needs of their share.
fn memory_of(job: &Job, settings: &RunSettings, ranges: usize) -> u64 {
    let even = settings.memory_bytes / settings.workers.max(1) as u64;
    match settings.workers {
        0 | 1 => settings.memory_bytes,
        _ => (memory_estimate(job) / ranges.max(1) as u64).min(even),
    }
}

impl LookedInto {
    fn take(&mut self, number: usize, job: &Job, ranges: Vec<PlannedRange>) {
        let is_cut = ranges.len() > 1;
        for (range, planned) in ranges.into_iter().enumerate() {
            for stretch in planned.stretches {
                for input in &stretch.inputs {
                    self.note_way(number, job, *input, &stretch);
                }
                self.stretches.push(JobStretch {
                    job: number,
                    range: is_cut.then_some(range),
                    way: spec::way_of(stretch.way),
                    why: stretch.why,
                    provided: stretch.provided,
                    rows: stretch.rows,
                    bytes: stretch.bytes,
                    row_groups: stretch.row_groups,
                    files: stretch.inputs.len(),
                    keys: stretch.keys.as_ref().map(spec::key_range_of),
                });
            }
        }
    }

    fn note_way(&mut self, number: usize, job: &Job, input: usize, stretch: &PlannedStretch) {
        let way = match spec::way_of(stretch.way) {
            Way::Merged => ways::Way::Rows,
            Way::Copied | Way::Stitched => ways::Way::Pages,
        };
        let place = (number, job.inputs[input].path.to_string());
        let known = self.ways.entry(place).or_insert(way);
        if *known != way {
            *known = ways::Way::Both;
        }
    }
}
