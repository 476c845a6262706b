//! `baler plan`: what `compact` would do, and why each file was chosen or not. Nothing is written.

mod looking;
mod print;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use baler_core::file::{File, FilePath};
use baler_core::ids::{Partition, Sequence, TableName};
use baler_core::planner::{self, Proposal, Verdict};
use baler_core::request::{Reply, Request};
use baler_core::state::{State, Table};
use baler_core::table::TableSpec;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::cli::PlanArgs;
use crate::discovery::{self, Findings, Look, Step};
use crate::estimate::{Looked, PlannedJob, estimate};
use crate::report::{Cost, ProgressView};
use crate::root::{self, Root, machine_now, plain_table, pretend};
use crate::settings::{RunSettings, TableSettings};
use crate::site::Site;
use looking::{ChosenJob, LookedInto, look_into};
use ways::Way;

/// A line of the plan: a file, and what would become of it.
#[derive(Debug, Serialize)]
struct PlannedFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<String>,
    path: String,
    partition: String,
    bytes: u64,
    rows: u64,
    level: u8,
    /// The job that it would be in, counted from 1; none if it would be left alone.
    job: Option<usize>,
    why: String,
    /// How its rows would get into the output, if it is in a job.
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<Way>,
}

impl PlannedFile {
    fn left_alone(file: &File, why: String) -> Self {
        Self {
            table: None,
            path: file.path.to_string(),
            partition: file.partition.to_string(),
            bytes: file.bytes(),
            rows: file.rows,
            level: file.level.0,
            job: None,
            why,
            way: None,
        }
    }
}

#[derive(Debug, Default, Serialize)]
struct PlanSummary {
    jobs: usize,
    files_chosen: u64,
    bytes_to_read: u64,
    /// Those among them that need not be decoded, as far as can be told.
    bytes_copied: u64,
    files_left_alone: u64,
    files_waiting: u64,
    files_quarantined: u64,
    /// Files of native tables whose rows are all past the retention.
    files_expired: u64,
    /// Which way the rows of the first jobs would go, stretch by stretch.
    looked_into: LookedInto,
    /// What doing it would ask of stores, listing and footers included.
    cost: Cost,
    /// Ages are judged by this machine's clock, so this is an estimate.
    estimate: bool,
}

impl PlanSummary {
    fn count(&mut self, file: &PlannedFile) {
        match file.job {
            Some(_) => {
                self.files_chosen += 1;
                self.bytes_to_read += file.bytes;
            }
            None => self.files_left_alone += 1,
        }
    }
}

/// A plan, before anybody looked into its jobs.
#[derive(Default)]
struct Plan {
    files: Vec<PlannedFile>,
    jobs: Vec<ChosenJob>,
    summary: PlanSummary,
}

impl Plan {
    /// What footers say counts for more than what the bounds of keys let expect.
    fn take(&mut self, mut looked: LookedInto) {
        let ways = std::mem::take(&mut looked.ways);
        let mut copied = looked.bytes_copied();
        for file in &mut self.files {
            let Some(job) = file.job else { continue };
            let told = ways.get(&(job, file.path.clone()));
            if let Some(way) = told {
                file.way = Some(*way);
            } else if file.way == Some(Way::Pages) {
                copied += file.bytes;
            }
        }
        self.summary.bytes_copied = copied;
        self.summary.looked_into = looked;
    }
}

/// Runs it.
pub async fn run(args: &PlanArgs) -> Result<ExitCode> {
    let settings = RunSettings::for_plan(args)?;
    let table = TableSettings::check(&args.plain)?;
    let (site, mut state) = Root::look(&args.root, &table).await?;
    root::tables(&state, settings.scope.table.as_ref())?;
    let progress = if args.json {
        ProgressView::silent()
    } else {
        ProgressView::on_terminal()
    };
    let native = root::is_native(&state);
    let (findings, expired) = match native {
        true => (Findings::default(), pretend_to_drop(&mut state, &settings)?),
        false => {
            let look = look(&state, &settings, &table);
            (pretend_to_adopt(&site, &mut state, &look, &progress).await?, 0)
        }
    };
    progress.end();
    let tables = root::tables(&state, settings.scope.table.as_ref())?;
    let mut plan = plan(&tables, &findings, &settings, native);
    state.time = state.time.max(machine_now());
    let looked = look_into(&site, &state, &plan.jobs, &settings, args.look_into).await;
    plan.take(looked);
    let Plan {
        files, mut summary, ..
    } = plan;
    summary.files_expired = expired;
    let looked = Looked {
        listed: findings.listed,
        fresh: findings.fresh,
    };
    summary.cost = estimate(&site, looked, &jobs(&files, &tables));
    match args.json {
        true => print::lines(&files, &summary)?,
        false => print::for_people(&files, &summary, &tables, &findings),
    }
    Ok(ExitCode::SUCCESS)
}

fn look(state: &State, settings: &RunSettings, table: &TableSettings) -> Look {
    Look {
        table: plain_table(),
        // The state is open at an entry that will never be written.
        evidence: Sequence(state.sequence.0.saturating_sub(1)),
        settle: settings.settle,
        now: machine_now(),
        scope: settings.scope.clone(),
        adopt_foreign: table.adopt_foreign,
    }
}

/// What retention would drop by this machine's clock, dropped in a state that nobody shares.
fn pretend_to_drop(state: &mut State, settings: &RunSettings) -> Result<u64> {
    state.open_batch(None);
    state.time = state.time.max(machine_now());
    let tables = root::tables(state, settings.scope.table.as_ref())?;
    let mut dropped = 0;
    for (name, _) in tables.iter().filter(|(_, table)| table.spec.retention.is_some()) {
        while let Reply::Expired(expired) = pretend(state, &Request::ApplyRetention(name.clone())) {
            dropped += expired.files;
            if !expired.more {
                break;
            }
        }
    }
    Ok(dropped)
}

/// Looks at everything, and has a state that nobody shares take it.
async fn pretend_to_adopt(
    site: &Site,
    state: &mut State,
    look: &Look,
    progress: &ProgressView,
) -> Result<Findings> {
    progress.begin_counting("looking at");
    let (sender, mut steps) = mpsc::channel(1);
    let known = Arc::new(state.clone());
    let looking = discovery::look(site, &known, look, progress, sender);
    let taking = async {
        while let Some(step) = steps.recv().await {
            if let Step::Ask(request) = step
                && let Reply::Refused(refusal) = pretend(state, &request)
            {
                anyhow::bail!("{refusal}");
            }
        }
        Ok(())
    };
    let (findings, taken) = futures::join!(looking, taking);
    taken?;
    findings
}

fn plan(tables: &[(TableName, Table)], findings: &Findings, settings: &RunSettings, native: bool) -> Plan {
    let summary = PlanSummary {
        files_waiting: findings.waiting,
        files_quarantined: tables
            .iter()
            .map(|(_, table)| table.quarantine.len() as u64)
            .sum(),
        estimate: true,
        ..PlanSummary::default()
    };
    let mut plan = Plan {
        summary,
        ..Plan::default()
    };
    let mut bytes_left = settings.scope.bytes_max.unwrap_or(u64::MAX);
    for (name, table) in tables {
        let first = plan.files.len();
        let covered = |partition: &&Partition| settings.scope.covers(partition.as_str());
        let partitions: BTreeSet<&Partition> = table.agenda.all().filter(covered).collect();
        for partition in partitions {
            plan_partition(name, table, partition, &mut bytes_left, &mut plan);
        }
        let put_off = put_off(table, settings, &mut plan.summary);
        plan.files.extend(put_off);
        for file in &mut plan.files[first..] {
            file.table = native.then(|| name.to_string());
        }
    }
    plan
}

fn plan_partition(
    name: &TableName,
    table: &Table,
    partition: &Partition,
    bytes_left: &mut u64,
    plan: &mut Plan,
) {
    let view = table.view(partition, machine_now());
    let choice = planner::choose(&table.spec, &view);
    let sizes = choice
        .jobs
        .iter()
        .map(|job| job.inputs.iter().map(|path| table.files[path].bytes()).sum());
    let within_bound: Vec<bool> = sizes
        .map(|size: u64| {
            let fits = size <= *bytes_left;
            *bytes_left = if fits { *bytes_left - size } else { 0 };
            fits
        })
        .collect();
    let inputs = |job: &Proposal| job.inputs.iter().map(|path| &*table.files[path]).collect();
    let ways: Vec<BTreeMap<&FilePath, Way>> = choice
        .jobs
        .iter()
        .map(|job| ways::of_inputs(inputs(job), &table.spec.merge))
        .collect();
    // Those beyond the bound have no number.
    let mut numbers = BTreeMap::new();
    for (at, proposal) in choice.jobs.iter().enumerate().filter(|(at, _)| within_bound[*at]) {
        plan.jobs.push(ChosenJob {
            table: name.clone(),
            partition: partition.clone(),
            proposal: proposal.clone(),
        });
        numbers.insert(at, plan.jobs.len());
    }
    plan.summary.jobs = plan.jobs.len();
    for (file, verdict) in view.files.iter().zip(&choice.verdicts) {
        let planned = match verdict {
            Verdict::Chosen { job } if within_bound[*job] => PlannedFile {
                job: numbers.get(job).copied(),
                way: ways[*job].get(&file.path).copied(),
                ..PlannedFile::left_alone(file, choice.jobs[*job].why.to_string())
            },
            Verdict::Chosen { .. } => PlannedFile::left_alone(file, "beyond --max-bytes".to_owned()),
            other => PlannedFile::left_alone(file, other.to_string()),
        };
        plan.summary.count(&planned);
        plan.files.push(planned);
    }
}

/// Files that the planner is not shown, because a job of theirs was ended on purpose.
fn put_off(table: &Table, settings: &RunSettings, summary: &mut PlanSummary) -> Vec<PlannedFile> {
    let marks = table.put_off.iter();
    let files = marks.filter_map(|(path, mark)| Some((table.files.get(path)?, mark)));
    let files = files.filter(|(file, _)| settings.scope.covers(file.partition.as_str()));
    let files: Vec<PlannedFile> = files
        .map(|(file, mark)| PlannedFile::left_alone(file, format!("left alone: {}", mark.reason)))
        .collect();
    summary.files_left_alone += files.len() as u64;
    files
}

/// The jobs of a plan, as far as their cost goes.
fn jobs(files: &[PlannedFile], tables: &[(TableName, Table)]) -> Vec<PlannedJob> {
    let mut jobs: BTreeMap<usize, PlannedJob> = BTreeMap::new();
    for file in files {
        let spec = spec_of(tables, file.table.as_deref());
        if let (Some(job), Some(spec)) = (file.job, spec) {
            let job = jobs.entry(job).or_insert_with(|| PlannedJob::of(spec));
            job.take(file.bytes);
        }
    }
    jobs.into_values().collect()
}

/// The table of a file; without a name it is the only one.
fn spec_of<'a>(tables: &'a [(TableName, Table)], name: Option<&str>) -> Option<&'a TableSpec> {
    let mut tables = tables.iter();
    let found = tables.find(|(known, _)| name.is_none_or(|name| known.as_str() == name));
    found.map(|(_, table)| &*table.spec)
}
