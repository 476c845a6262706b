//! `baler jobs`: open jobs, and the last that ended.

use std::process::ExitCode;

use anyhow::Result;
use baler_core::ids::TableName;

use super::fleet_lines::{duration, job_words, spent_words};
use super::looking::View;
use super::{print_json, watching};
use crate::cli::JobsArgs;
use crate::report::{EndedJob, Jobs, OpenJob, bytes, count};

/// Ended jobs that people are shown; programs get all that the state remembers.
const SHOWN_MAX: usize = 20;

/// Runs it.
pub async fn run(args: &JobsArgs) -> Result<ExitCode> {
    let view = View::open(&args.place, args.token_file.as_deref()).await?;
    let only = args.table.as_deref().map(TableName::from);
    let look = async || view.jobs(only.as_ref()).await;
    watching::show(args.watch, look, |jobs| print(jobs, args.json)).await?;
    Ok(ExitCode::SUCCESS)
}

fn print(jobs: &Jobs, json: bool) -> Result<()> {
    match json {
        true => {
            jobs.open.iter().try_for_each(print_json)?;
            jobs.ended.iter().try_for_each(print_json)
        }
        false => {
            print_for_people(&jobs.open, &jobs.ended);
            Ok(())
        }
    }
}

fn print_for_people(open: &[OpenJob], ended: &[EndedJob]) {
    if open.is_empty() && ended.is_empty() {
        println!("There have been no jobs.");
    }
    for job in open {
        println!("{}", open_line(job));
    }
    for job in ended.iter().take(SHOWN_MAX) {
        println!("{}", ended_line(job));
    }
}

/// An open job on a line.
pub(super) fn open_line(job: &OpenJob) -> String {
    let held = job
        .workers
        .first()
        .map_or_else(String::new, |worker| format!(", held by {worker}"));
    let error = job
        .last_error
        .as_ref()
        .map_or_else(String::new, |error| format!("; last error: {error}"));
    let planned = match job.age_seconds {
        Some(age) => duration(age),
        None => format!("{} entries", job.age_entries),
    };
    format!(
        "job {} {}: {} files, {} in {} ({}), {} attempt(s), {} fault(s), planned {planned} ago{held}{}{error}",
        job.id,
        job.status,
        job.files,
        bytes(job.bytes),
        place(&job.table, &job.partition),
        job.why,
        job.attempts,
        job.faults,
        job_words(job),
    )
}

/// An ended job on a line.
pub(super) fn ended_line(job: &EndedJob) -> String {
    let place = place(&job.table, &job.partition);
    match &job.reason {
        Some(reason) => format!(
            "job {} {}: {} files in {place} ({reason}){}",
            job.id,
            job.status,
            count(job.files_in),
            took(job)
        ),
        None => format!(
            "job {} {}: {} files → {}, {} → {} in {place}{}",
            job.id,
            job.status,
            count(job.files_in),
            count(job.files_out),
            bytes(job.bytes_in),
            bytes(job.bytes_out),
            took(job)
        ),
    }
}

/// What it took, as far as that is known.
fn took(job: &EndedJob) -> String {
    if job.attempts == 0 {
        return String::new();
    }
    let undone = if job.undone.is_some() { ", undone" } else { "" };
    let attempts = format!(
        "{undone}, {} attempt(s), {}",
        job.attempts,
        duration(job.worked_seconds)
    );
    match job.spent.requests {
        0 => attempts,
        _ => format!("{attempts}, {}", spent_words(&job.spent)),
    }
}

fn place(table: &str, partition: &str) -> String {
    match partition {
        "" => table.to_owned(),
        partition => format!("{table}/{partition}"),
    }
}
