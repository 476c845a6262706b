//! `baler journal`: what is wrong with a journal, and how it goes on.

use std::process::ExitCode;

use anyhow::Result;
use baler_core::ids::{JournalId, Sequence};
use baler_journal::mending::Problem;
use serde::Serialize;

use super::{exit_code, print_json};
use crate::cli::{JournalCommand, PlainArgs, RepairArgs, RootArgs};
use crate::mending::{Mended, Named, Repair, Wreck, repair};
use crate::report::count;
use crate::settings::TableSettings;

/// Files named to people, of however many; programs get all.
const NAMED_MAX: usize = 20;

#[derive(Debug, Serialize)]
struct Checked<'a> {
    journal: Option<JournalId>,
    /// The root's format level.
    level: Option<u32>,
    entries: u64,
    snapshots: u64,
    /// The last entry that can be applied.
    until: Sequence,
    /// Whether something was decided after it.
    cut: bool,
    /// Whether Baler cannot go on here.
    stops: bool,
    problems: &'a [Problem],
}

/// Runs it.
pub async fn run(command: &JournalCommand) -> Result<ExitCode> {
    match command {
        JournalCommand::Check(args) => check(args).await,
        JournalCommand::Repair(args) => mend(args).await,
    }
}

async fn check(args: &RootArgs) -> Result<ExitCode> {
    let wreck = Wreck::look(&args.root).await?;
    let diagnosis = wreck.diagnose();
    let survey = &wreck.survey;
    let checked = Checked {
        journal: diagnosis.journal(),
        level: survey.levels.last().copied(),
        entries: survey.entries.len() as u64,
        snapshots: survey.snapshots.len() as u64,
        until: diagnosis.recovery.until,
        cut: diagnosis.recovery.is_cut,
        stops: diagnosis.stops(),
        problems: &diagnosis.problems,
    };
    match args.json {
        true => print_json(&checked)?,
        false => print_checked(&checked),
    }
    Ok(exit_code(diagnosis.problems.is_empty()))
}

fn print_checked(checked: &Checked<'_>) {
    let journal = checked.journal.map_or("unknown".to_owned(), |id| id.to_string());
    println!(
        "journal {journal}: {} entries, {} snapshots; whole up to entry {}",
        count(checked.entries),
        count(checked.snapshots),
        checked.until
    );
    for Problem { what, why, means, .. } in checked.problems {
        println!("\nWRONG  {what}: {why}\n       {means}");
    }
    match (checked.problems.is_empty(), checked.stops) {
        (true, _) => println!("nothing is wrong"),
        (false, true) => println!(
            "\nBaler stops here. Stop everybody who works on this root, then: `baler journal repair --dry-run`, and without \
             --dry-run"
        ),
        (false, false) => println!("\nBaler goes on all the same; nothing needs to be repaired"),
    }
}

async fn mend(args: &RepairArgs) -> Result<ExitCode> {
    let table = TableSettings::check(&PlainArgs {
        merge: args.merge.clone(),
        replaced: args.replaced.clone(),
        ..PlainArgs::default()
    })?;
    let how = Repair {
        table,
        dry_run: args.dry_run,
        force: args.force,
        wait: args.wait,
    };
    let Some(mended) = repair(&args.root, &how).await? else {
        match args.json {
            true => print_json(&serde_json::json!({ "needed": false }))?,
            false => println!("Baler can go on here as it is: nothing to repair"),
        }
        return Ok(ExitCode::SUCCESS);
    };
    match args.json {
        true => print_json(&mended)?,
        false => print_mended(&mended, args),
    }
    Ok(exit_code(mended.is_certain()))
}

fn print_mended(mended: &Mended, args: &RepairArgs) {
    let base = match mended.snapshot {
        Sequence(0) => "from its first entry on".to_owned(),
        at => format!("from the snapshot of entry {at} on"),
    };
    match mended.cut {
        true => println!(
            "The journal could be read {base} up to entry {}; what was decided after it is lost",
            mended.until
        ),
        false => println!(
            "The journal could be read {base} up to its last entry, {}: nothing is lost",
            mended.until
        ),
    }
    if mended.is_copy {
        println!(
            "It was written in another folder, or before this one was restored: what is here was compared with it"
        );
    }
    print_list("output(s) found by their names count", &mended.adopted);
    print_list(
        "file(s) are a second copy of rows: they are never merged, and can be removed",
        &mended.second_copies,
    );
    print_list(
        "file(s) may hold the same rows as others: nothing merges or deletes them until you decide",
        &mended.uncertain,
    );
    if !mended.uncertain.is_empty() {
        println!(
            "      Of those that hold the same rows, remove all but one; then `baler retry {} FILE …` lets the others go on",
            args.root
        );
    }
    if mended.is_copy && !mended.gone.is_empty() {
        println!(
            "{} file(s) that the journal names are not here:",
            count(mended.gone.len() as u64)
        );
        for path in mended.gone.iter().take(NAMED_MAX) {
            println!("      {path}");
        }
    }
    if mended.is_copy && mended.kept > 0 {
        println!(
            "{} replaced file(s) on their way out stay where they are, those that were set aside in _baler/aside: nothing deletes them",
            count(mended.kept)
        );
    } else if mended.kept > 0 {
        println!(
            "{} replaced file(s) that were to be deleted stay: somebody may have brought them back",
            count(mended.kept)
        );
    }
    if mended.jobs_ended > 0 {
        println!("{} open job(s) are planned anew", count(mended.jobs_ended));
    }
    match (&mended.journal, &mended.begins, &mended.backup) {
        (Some(journal), Some(begins), Some(backup)) => println!(
            "The new journal is {journal} and begins at entry {begins}; the old one ({} objects) was copied to {backup}",
            count(mended.copied)
        ),
        _ => println!("Nothing was changed: this was a dry run"),
    }
}

fn print_list(what: &str, files: &[Named]) {
    if files.is_empty() {
        return;
    }
    println!("{} {what}:", count(files.len() as u64));
    for Named { path, reason } in files.iter().take(NAMED_MAX) {
        println!("      {path}  ({reason})");
    }
    if files.len() > NAMED_MAX {
        println!("      and {} more: --json names all", files.len() - NAMED_MAX);
    }
}
