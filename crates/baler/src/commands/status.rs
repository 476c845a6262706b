//! `baler status`: files by level, jobs, leases, quarantine, garbage, and the last jobs.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use baler_core::ids::TableName;
use baler_core::invariants;
use baler_core::state::Table;
use baler_core::table::Catalog;
use serde::Serialize;

use super::jobs::{ended_line, open_line};
use super::{exit_code, print_json};
use crate::cli::TableRootArgs;
use crate::report::{EndedJob, NamedReason, OpenJob, Totals, bytes, count};
use crate::root::Root;
use crate::settings::describe_table;

#[derive(Debug, Serialize)]
struct Status {
    journal: String,
    entries: u64,
    /// The table of a plain root stands beside the rest.
    #[serde(flatten)]
    plain: Option<TableStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tables: Vec<TableStatus>,
    jobs: Vec<OpenJob>,
    recent: Vec<EndedJob>,
    garbage: usize,
    leftovers: usize,
    pins: usize,
    broken_invariants: Vec<String>,
}

#[derive(Debug, Serialize)]
struct TableStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    table: String,
    source: Option<String>,
    live: Totals,
    levels: BTreeMap<u8, Totals>,
    partitions: usize,
    quarantined: Vec<NamedReason>,
    /// Files that are left alone since a job of theirs was ended on purpose.
    put_off: Vec<NamedReason>,
    /// Whether nothing new is planned or begun.
    paused: bool,
    consumed: usize,
}

/// Runs it.
pub async fn run(args: &TableRootArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    let only = args.table.as_deref().map(TableName::from);
    let status = status(&root, only.as_ref())?;
    match args.json {
        true => print_json(&status)?,
        false => print_for_people(&status),
    }
    Ok(exit_code(status.broken_invariants.is_empty()))
}

fn status(root: &Root, only: Option<&TableName>) -> Result<Status> {
    let state = root.replica.state();
    let native = root.is_native();
    let covers = |table: &TableName| only.is_none_or(|only| only == table);
    let mut tables: Vec<TableStatus> = root
        .tables(only)?
        .iter()
        .map(|(name, table)| TableStatus::of(native.then_some(name), table, state.is_paused(name)))
        .collect();
    let plain = if native { None } else { tables.pop() };
    let jobs = state.jobs.values().filter(|job| covers(&job.table));
    let recent = state.recent.iter().filter(|job| covers(&job.table));
    let broken = invariants::broken(&state);
    Ok(Status {
        journal: root.journal()?.to_string(),
        entries: state.sequence.0,
        plain,
        tables,
        jobs: jobs.map(|job| OpenJob::of(&state, job)).collect(),
        recent: recent.map(|job| EndedJob::of(job)).collect(),
        garbage: state
            .garbage
            .values()
            .filter(|garbage| covers(&garbage.table))
            .count(),
        leftovers: state
            .leftovers
            .values()
            .filter(|left| covers(&left.table))
            .count(),
        pins: state.pins.values().filter(|pin| covers(&pin.table)).count(),
        broken_invariants: broken
            .iter()
            .map(|broken| format!("{}: {}", broken.number, broken.says))
            .collect(),
    })
}

impl TableStatus {
    fn of(name: Option<&TableName>, table: &Table, paused: bool) -> Self {
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
        let put_off = table.put_off.iter().map(|(path, put_off)| NamedReason {
            path: path.to_string(),
            reason: put_off.reason.to_string(),
        });
        Self {
            name: name.map(ToString::to_string),
            table: describe_table(&table.spec),
            source: match &table.spec.catalog {
                Catalog::Output { source } => Some(source.to_string()),
                Catalog::InPlace | Catalog::Native | Catalog::External => None,
            },
            live: Totals::of(table),
            levels,
            partitions: table.partitions.len(),
            quarantined: quarantined.collect(),
            put_off: put_off.collect(),
            paused,
            consumed: table.consumed.len(),
        }
    }

    fn print(&self) {
        match &self.name {
            Some(name) => println!("{name}: {}", self.table),
            None => println!("{}", self.table),
        }
        if let Some(source) = &self.source {
            println!("compacted from {source}");
        }
        println!("\nlevel        files         size            rows");
        for (level, totals) in &self.levels {
            print_totals(&level.to_string(), totals);
        }
        print_totals("live", &self.live);
        for mark in &self.quarantined {
            println!("quarantined  {}: {}", mark.path, mark.reason);
        }
        for mark in &self.put_off {
            println!(
                "left alone   {}: {}; `baler retry` has it tried again",
                mark.path, mark.reason
            );
        }
        if self.paused {
            println!("paused: nothing new is begun until `baler resume`");
        }
        println!("\n{} partition(s)\n", self.partitions);
    }
}

fn print_totals(name: &str, totals: &Totals) {
    println!(
        "{name:<8} {:>9} {:>12} {:>15}",
        count(totals.files),
        bytes(totals.bytes),
        count(totals.rows)
    );
}

/// Ended jobs that people are shown; programs get all that the state remembers.
const SHOWN_MAX: usize = 10;

fn print_for_people(status: &Status) {
    for table in status.plain.iter().chain(&status.tables) {
        table.print();
    }
    println!("journal {} at entry {}", status.journal, status.entries);
    for job in &status.jobs {
        println!("{}", open_line(job));
    }
    for job in status.recent.iter().rev().take(SHOWN_MAX) {
        println!("{}", ended_line(job));
    }
    if status.pins > 0 {
        println!("{} pinned version(s)", status.pins);
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
