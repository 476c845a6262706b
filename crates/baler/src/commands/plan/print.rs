//! The plan on the terminal, or as lines of JSON.

use anyhow::Result;
use baler_core::ids::TableName;
use baler_core::state::Table;

use super::looking::{JobStretch, LookedInto};
use super::{PlanSummary, PlannedFile};
use crate::commands::print_json;
use crate::discovery::Findings;
use crate::report::{bytes, count};

pub(super) fn lines(files: &[PlannedFile], summary: &PlanSummary) -> Result<()> {
    for file in files {
        print_json(file)?;
    }
    print_json(summary)
}

pub(super) fn for_people(
    files: &[PlannedFile],
    summary: &PlanSummary,
    tables: &[(TableName, Table)],
    findings: &Findings,
) {
    for file in files {
        let job = file
            .job
            .map_or_else(|| "-".to_owned(), |job| format!("job {job}"));
        let way = file.way.map(|way| format!("; {way}")).unwrap_or_default();
        println!(
            "{job:<9} {:>10}  L{}  {}  ({}{way})",
            bytes(file.bytes),
            file.level,
            file.path,
            file.why
        );
    }
    for mark in tables.iter().flat_map(|(_, table)| table.quarantine.values()) {
        println!(
            "{:<9} {:>10}      {}  (quarantined: {})",
            "-",
            bytes(mark.identity.bytes),
            mark.path,
            mark.reason
        );
    }
    for skipped in &findings.skipped {
        println!(
            "{:<9} {:>10}      {}  (skipped: {})",
            "-", "", skipped.path, skipped.reason
        );
    }
    looked_into(&summary.looked_into, summary.jobs);
    println!(
        "\n{} job(s): {} files, {} to read and rewrite; {} files left alone, {} too young. By this machine's clock.",
        summary.jobs,
        count(summary.files_chosen),
        bytes(summary.bytes_to_read),
        count(summary.files_left_alone),
        count(summary.files_waiting),
    );
    if summary.bytes_copied > 0 {
        println!(
            "{} of it overlap nothing: their pages are copied, not decoded.",
            bytes(summary.bytes_copied)
        );
    }
    if summary.files_expired > 0 {
        println!(
            "{} files are past the retention and would be dropped.",
            count(summary.files_expired)
        );
    }
    if summary.cost.requests > 0 {
        println!("Doing it would take {}.", summary.cost);
    }
}

/// Stretches of a job that people are shown; programs get all.
const STRETCHES_SHOWN: usize = 20;

fn looked_into(looked: &LookedInto, jobs: usize) {
    if looked.jobs > 0 {
        let requests = match looked.requests {
            0 => String::new(),
            requests => format!(", in {} requests", count(requests)),
        };
        println!(
            "\nThe ways of the rows of {}, as the footers of {} file(s) tell{requests}:",
            if looked.jobs == jobs {
                "all jobs".to_owned()
            } else {
                format!("the first {} job(s)", looked.jobs)
            },
            count(looked.footers as u64),
        );
    }
    for of_job in looked.stretches.chunk_by(|a, b| a.job == b.job) {
        of_job.iter().take(STRETCHES_SHOWN).for_each(print_stretch);
        if of_job.len() > STRETCHES_SHOWN {
            let more = of_job.len() - STRETCHES_SHOWN;
            println!(
                "job {:<5} and {more} stretches more: --json has all",
                of_job[0].job
            );
        }
    }
    for odd in &looked.odd {
        println!("job {:<5} nothing can be said of it: {}", odd.job, odd.why);
    }
    if looked.jobs < jobs {
        println!(
            "{}Job {} and those after it were not looked into: --look-into N reads the footers of the first N jobs.",
            if looked.jobs == 0 { "\n" } else { "" },
            looked.jobs + 1
        );
    }
}

fn print_stretch(stretch: &JobStretch) {
    let range = stretch
        .range
        .map_or_else(String::new, |range| format!("range {range}  "));
    let provided = stretch
        .provided
        .map_or_else(String::new, |provided| format!("; if {provided}"));
    println!(
        "job {:<5} {range}{:<8} {:>10}  {} rows, {} row group(s) of {} file(s)  ({}{provided})",
        stretch.job,
        stretch.way,
        bytes(stretch.bytes),
        count(stretch.rows),
        count(stretch.row_groups),
        count(stretch.files as u64),
        stretch.why,
    );
}
