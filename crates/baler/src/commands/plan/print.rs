//! The plan on the terminal, or as lines of JSON.

use anyhow::Result;
use baler_core::ids::TableName;
use baler_core::state::Table;

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
