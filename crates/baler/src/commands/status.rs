//! `baler status`: files by level, jobs, leases, quarantine, garbage, and the last jobs.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use baler_core::invariants;
use baler_core::job::JobStatus;
use baler_core::state::State;
use baler_core::table::Catalog;
use serde::Serialize;

use super::{exit_code, print_json};
use crate::cli::RootArgs;
use crate::report::{NamedReason, Totals, bytes, count};
use crate::root::Root;
use crate::settings::describe_rule;

#[derive(Debug, Serialize)]
struct Status {
    journal: String,
    entries: u64,
    table: String,
    source: Option<String>,
    live: Totals,
    levels: BTreeMap<u8, Totals>,
    partitions: usize,
    jobs: Vec<OpenJob>,
    recent: Vec<EndedJob>,
    quarantined: Vec<NamedReason>,
    garbage: usize,
    leftovers: usize,
    consumed: usize,
    broken_invariants: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OpenJob {
    id: u64,
    status: &'static str,
    partition: String,
    files: usize,
    bytes: u64,
    why: String,
    workers: Vec<String>,
    faults: u32,
    last_error: Option<String>,
}

#[derive(Debug, Serialize)]
struct EndedJob {
    id: u64,
    status: &'static str,
    partition: String,
    files_in: u64,
    files_out: u64,
    rows_in: u64,
    rows_out: u64,
    rows_dropped: u64,
    bytes_in: u64,
    bytes_out: u64,
}

/// Runs it.
pub async fn run(args: &RootArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    let status = status(&root)?;
    match args.json {
        true => print_json(&status)?,
        false => print_for_people(&status),
    }
    Ok(exit_code(status.broken_invariants.is_empty()))
}

fn status(root: &Root) -> Result<Status> {
    let state = root.replica.state();
    let table = root.table()?;
    let mut levels: BTreeMap<u8, Totals> = BTreeMap::new();
    for file in table.files.values() {
        let level = levels.entry(file.level.0).or_default();
        level.files += 1;
        level.bytes += file.bytes();
        level.rows += file.rows;
    }
    let quarantined = table.quarantine.values();
    let quarantined = quarantined.map(|mark| NamedReason {
        path: mark.path.to_string(),
        reason: mark.reason.to_string(),
    });
    let broken = invariants::broken(&state);
    Ok(Status {
        journal: root.journal()?.to_string(),
        entries: state.sequence.0,
        table: describe_rule(&table.spec.merge),
        source: match &table.spec.catalog {
            Catalog::Output { source } => Some(source.to_string()),
            Catalog::InPlace | Catalog::Native => None,
        },
        live: Totals::of(&table),
        levels,
        partitions: table.partitions.len(),
        jobs: open_jobs(&state),
        recent: ended_jobs(&state),
        quarantined: quarantined.collect(),
        garbage: state.garbage.len(),
        leftovers: state.leftovers.len(),
        consumed: table.consumed.len(),
        broken_invariants: broken
            .iter()
            .map(|broken| format!("{}: {}", broken.number, broken.says))
            .collect(),
    })
}

fn open_jobs(state: &State) -> Vec<OpenJob> {
    let job = |job: &std::sync::Arc<baler_core::job::Job>| OpenJob {
        id: job.id.0,
        status: match (job.status, job.leases().next()) {
            (JobStatus::Compacted, _) => "compacted",
            (_, Some(_)) => "leased",
            _ => "planned",
        },
        partition: job.partition.to_string(),
        files: job.inputs.len(),
        bytes: job.bytes(),
        why: job.why.to_string(),
        workers: job.leases().map(|(_, lease)| lease.worker.to_string()).collect(),
        faults: job.input_faults,
        last_error: job.last_error.as_ref().map(ToString::to_string),
    };
    state.jobs.values().map(job).collect()
}

fn ended_jobs(state: &State) -> Vec<EndedJob> {
    let ended = |job: &std::sync::Arc<baler_core::job::JobSummary>| EndedJob {
        id: job.id.0,
        status: if job.status == JobStatus::Committed {
            "committed"
        } else {
            "cancelled"
        },
        partition: job.partition.to_string(),
        files_in: job.files_in,
        files_out: job.files_out,
        rows_in: job.rows_in,
        rows_out: job.rows_out,
        rows_dropped: job.rows_dropped,
        bytes_in: job.bytes_in,
        bytes_out: job.bytes_out,
    };
    state.recent.iter().map(ended).collect()
}

/// Ended jobs that people are shown; programs get all that the state remembers.
const SHOWN_MAX: usize = 10;

fn print_for_people(status: &Status) {
    println!("{}", status.table);
    if let Some(source) = &status.source {
        println!("compacted from {source}");
    }
    println!("\nlevel        files         size            rows");
    for (level, totals) in &status.levels {
        println!(
            "{level:<8} {:>9} {:>12} {:>15}",
            count(totals.files),
            bytes(totals.bytes),
            count(totals.rows)
        );
    }
    let live = &status.live;
    println!(
        "{:<8} {:>9} {:>12} {:>15}",
        "live",
        count(live.files),
        bytes(live.bytes),
        count(live.rows)
    );
    println!(
        "\n{} partition(s), journal {} at entry {}",
        status.partitions, status.journal, status.entries
    );
    for job in &status.jobs {
        println!(
            "job {} {}: {} files, {} ({})",
            job.id,
            job.status,
            job.files,
            bytes(job.bytes),
            job.why
        );
    }
    for job in status.recent.iter().rev().take(SHOWN_MAX) {
        println!(
            "job {} {}: {} files → {}, {} → {}",
            job.id,
            job.status,
            count(job.files_in),
            count(job.files_out),
            bytes(job.bytes_in),
            bytes(job.bytes_out)
        );
    }
    for mark in &status.quarantined {
        println!("quarantined  {}: {}", mark.path, mark.reason);
    }
    if status.garbage > 0 {
        println!(
            "{} replaced or left-over objects wait for `baler gc`",
            status.garbage
        );
    }
    for broken in &status.broken_invariants {
        println!("BROKEN INVARIANT {broken}");
    }
}
