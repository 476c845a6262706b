//! `baler gc`: deletes what was replaced or left behind, by the lists in the journal.

use std::process::ExitCode;

use anyhow::Result;
use baler_core::garbage::{Garbage, Stage};
use baler_core::request::{Grace, Request};
use baler_core::state::State;
use serde::Serialize;

use super::{exit_code, print_json};
use crate::cli::GcArgs;
use crate::collector;
use crate::folder::staging::left_behind;
use crate::folder::walk::{Found, Namer, walk};
use crate::folder::{lock, scratch};
use crate::report::{bytes, count};
use crate::root::{Root, machine_now};

/// An object that is on its way out.
#[derive(Debug, Serialize)]
struct Doomed {
    path: String,
    bytes: u64,
    /// Whether this run would delete it.
    now: bool,
    why: String,
}

/// Runs it.
pub async fn run(args: &GcArgs) -> Result<ExitCode> {
    match args.dry_run {
        true => dry_run(args).await,
        false => collect(args).await,
    }
}

async fn collect(args: &GcArgs) -> Result<ExitCode> {
    let root = Root::open_to_write(&args.root).await?;
    let grace = grace(args);
    if args.full {
        report_late_writes(&root).await?;
    }
    let mut collected = collector::collect(&root, grace).await?;
    let state = root.replica.state();
    collected.deleted += scratch::sweep(&root.site.root, state.sequence)?;
    lock::remove_forgotten(
        &root.site.root,
        state
            .watchers
            .values()
            .filter_map(|watcher| watcher.host.as_ref()),
    )?;
    root.replica.clone().close().await;
    match args.json {
        true => print_json(&collected)?,
        false => {
            println!(
                "Deleted {} objects, {}",
                count(collected.deleted),
                bytes(collected.bytes)
            );
            let waiting = root.replica.state().garbage.len() as u64;
            if waiting > 0 {
                println!(
                    "{} more wait for their grace period: `baler gc --dry-run` says which",
                    count(waiting)
                );
            }
            for failed in &collected.failed {
                println!("failed  {}: {}", failed.path, failed.reason);
            }
        }
    }
    Ok(exit_code(collected.failed.is_empty()))
}

fn grace(args: &GcArgs) -> Grace {
    match args.now {
        true => Grace::Waived,
        false => Grace::Kept,
    }
}

/// Looks for names of this journal's own form that nothing in the state shows.
async fn report_late_writes(root: &Root) -> Result<()> {
    let state = root.replica.state();
    let mut paths = Vec::new();
    for found in walk(&root.site.root, state.journal) {
        if let Found::Data(file) = found?
            && let Namer::ThisJournal(_) = file.namer
        {
            paths.push(file.path);
        }
    }
    let request = Request::ReportLateWrites {
        table: root.table.clone(),
        evidence: state.sequence,
        paths,
    };
    root.replica.submit(request).await?;
    Ok(())
}

async fn dry_run(args: &GcArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    let mut state = State::clone(&root.replica.state());
    state.time = state.time.max(machine_now());
    let mut doomed: Vec<Doomed> = Vec::new();
    for (path, garbage) in &state.garbage {
        let (now, why) = fate(&state, garbage, grace(args));
        doomed.push(Doomed {
            path: path.to_string(),
            bytes: size(&root, path, garbage),
            now,
            why,
        });
    }
    for leftover in state.leftovers.values() {
        let attempt = leftover.attempt;
        for path in left_behind(&root.site.root, &attempt)? {
            if !state.garbage.contains_key(&path) && !is_needed(&state, &attempt) {
                let why = format!("left behind by an attempt at job {} that ended", attempt.job);
                let bytes = root
                    .site
                    .identity_now(&path)?
                    .map_or(0, |identity| identity.bytes);
                doomed.push(Doomed {
                    path: path.to_string(),
                    bytes,
                    now: true,
                    why,
                });
            }
        }
    }
    for item in &doomed {
        match args.json {
            true => print_json(item)?,
            false => {
                let what = if item.now { "delete" } else { "keep" };
                println!(
                    "{what:<7} {:>10}  {}  ({})",
                    bytes(item.bytes),
                    item.path,
                    item.why
                );
            }
        }
    }
    if !args.json {
        let now = doomed.iter().filter(|item| item.now);
        let (number, size) = now.fold((0, 0), |(number, size), item| (number + 1, size + item.bytes));
        println!(
            "Would delete {} of {} objects, {}. By this machine's clock.",
            number,
            doomed.len(),
            bytes(size)
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn fate(state: &State, garbage: &Garbage, grace: Grace) -> (bool, String) {
    let replaced = match &garbage.original {
        Some(original) => format!("replaced {} in entry {}", original.path, garbage.replaced),
        None => format!("replaced in entry {}", garbage.replaced),
    };
    let length = state
        .tables
        .get(&garbage.table)
        .map_or(0, |table| table.spec.grace.0);
    match garbage.stage {
        Stage::Due => (true, "on the deletion list".to_owned()),
        Stage::ToSetAside => (grace == Grace::Waived, format!("{replaced}; to be set aside")),
        Stage::Waiting if grace == Grace::Waived => (true, replaced),
        Stage::Waiting => {
            let waited = state
                .began(garbage.since)
                .map_or(0, |began| state.time.since(began).0);
            let left = length.saturating_sub(waited).div_ceil(1_000);
            let why = match left {
                0 => format!("{replaced}; its grace period is over"),
                left => format!("{replaced}; in its grace period for about {left} s more"),
            };
            (left == 0, why)
        }
    }
}

fn size(root: &Root, path: &baler_core::file::FilePath, garbage: &Garbage) -> u64 {
    let known = garbage.original.as_ref().map(|original| original.identity.bytes);
    let there = || {
        root.site
            .identity_now(path)
            .ok()
            .flatten()
            .map_or(0, |identity| identity.bytes)
    };
    known.unwrap_or_else(there)
}

/// Whether an open job counts on what this attempt finished.
fn is_needed(state: &State, attempt: &baler_core::names::Attempt) -> bool {
    let job = state.jobs.get(&attempt.job);
    job.is_some_and(|job| {
        job.finished()
            .any(|(_, finished)| finished.token == attempt.token)
    })
}
