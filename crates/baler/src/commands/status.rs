//! `baler status`: files by level, jobs, workers and how far they are, quarantine, garbage, and the last jobs.

use std::process::ExitCode;

use anyhow::Result;
use baler_core::ids::TableName;

use super::jobs::{ended_line, open_line};
use super::looking::View;
use super::{exit_code, fleet_lines, print_json, watching};
use crate::cli::StatusArgs;
use crate::report::{Status, TableStatus, Totals, bytes, count};

/// Runs it.
pub async fn run(args: &StatusArgs) -> Result<ExitCode> {
    let view = View::open(&args.place, args.token_file.as_deref()).await?;
    let only = args.table.as_deref().map(TableName::from);
    let mut sound = true;
    let look = async || view.status(only.as_ref()).await;
    watching::show(args.watch, look, |status| {
        sound = status.broken_invariants.is_empty();
        match args.json {
            true => print_json(status)?,
            false => print_for_people(status),
        }
        Ok(())
    })
    .await?;
    Ok(exit_code(sound))
}

fn print_table(table: &TableStatus) {
    match &table.name {
        Some(name) => println!("{name}: {}", table.table),
        None => println!("{}", table.table),
    }
    if let Some(source) = &table.source {
        println!("compacted from {source}");
    }
    println!("\nlevel        files         size            rows");
    for (level, totals) in &table.levels {
        print_totals(&level.to_string(), totals);
    }
    print_totals("live", &table.live);
    for mark in &table.quarantined {
        println!("quarantined  {}: {}", mark.path, mark.reason);
    }
    for mark in &table.put_off {
        println!(
            "left alone   {}: {}; `baler retry` has it tried again",
            mark.path, mark.reason
        );
    }
    if table.paused {
        println!("paused: nothing new is begun until `baler resume`");
    }
    println!("\n{} partition(s)\n", table.partitions);
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
        print_table(table);
    }
    println!("journal {} at entry {}", status.journal, status.entries);
    fleet_lines::print(status);
    for job in &status.jobs {
        println!("{}", open_line(job));
    }
    for job in status.recent.iter().rev().take(SHOWN_MAX) {
        println!("{}", ended_line(job));
    }
    for (job, waiting) in &status.undoing {
        println!(
            "job {job} is being undone: {waiting} file(s) are not back yet; `baler undo` again says why"
        );
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
