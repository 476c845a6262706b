//! `baler gc`: deletes what was replaced or left behind, by the lists in the journal.

use std::process::ExitCode;

use anyhow::Result;
use baler_core::event::Event;
use baler_core::file::FilePath;
use baler_core::garbage::{Garbage, Stage};
use baler_core::request::Grace;
use baler_core::state::State;
use serde::Serialize;

use super::{exit_code, print_json};
use crate::cli::GcArgs;
use crate::collector;
use crate::folder::{lock, scratch};
use crate::receipts;
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
        collector::find_late_writes(&root).await?;
    }
    receipts::write_due(&root).await?;
    let mut collected = collector::collect(&root, grace).await?;
    collected.deleted += tidy_folder(&root)?;
    if args.full {
        collected.deleted += collector::sweep_probes(&root, grace).await?;
        collected.deleted += collector::end_late_uploads(&root).await?;
    }
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

/// What dead processes leave in a directory besides data.
fn tidy_folder(root: &Root) -> Result<u64> {
    let Some(folder) = root.site.root.as_folder() else {
        return Ok(0);
    };
    let state = root.replica.state();
    let removed = scratch::sweep(folder, state.sequence)?;
    let locks = state
        .watchers
        .values()
        .filter_map(|watcher| watcher.host.as_ref());
    lock::remove_forgotten(folder, locks)?;
    Ok(removed)
}

fn grace(args: &GcArgs) -> Grace {
    match args.now {
        true => Grace::Waived,
        false => Grace::Kept,
    }
}

async fn dry_run(args: &GcArgs) -> Result<ExitCode> {
    let root = Root::open_for_dry_run(&args.root).await?;
    let mut state = State::clone(&root.replica.state());
    state.time = state.time.max(machine_now());
    let mut doomed: Vec<Doomed> = Vec::new();
    for (path, garbage) in &state.garbage {
        let (now, why) = fate(&state, garbage, grace(args));
        doomed.push(Doomed {
            path: path.to_string(),
            bytes: size(&root, path, garbage).await,
            now,
            why,
        });
    }
    for leftover in state.leftovers.values() {
        let attempt = leftover.attempt;
        for path in root
            .site
            .root
            .left_behind(&state.leftover_folders(leftover))
            .await?
        {
            if !state.garbage.contains_key(&path) && !is_needed(&state, &attempt) {
                let why = format!("left behind by an attempt at job {} that ended", attempt.job);
                let now = root.site.root.identity_now(&path).await?;
                let bytes = now.map_or(0, |identity| identity.bytes);
                doomed.push(Doomed {
                    path: path.to_string(),
                    bytes,
                    now: true,
                    why,
                });
            }
        }
    }
    if args.full {
        doomed.extend(written_late(&root, &doomed).await?);
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

/// What a look at everything would find besides.
async fn written_late(root: &Root, known: &[Doomed]) -> Result<Vec<Doomed>> {
    let mut late = Vec::new();
    for report in collector::late_writes(root).await? {
        for event in root.would_decide(&report) {
            let Event::DeletionDue { paths, .. } = event else {
                continue;
            };
            for path in paths {
                let now = root.site.root.identity_now(&path).await?;
                late.push(Doomed {
                    path: path.to_string(),
                    bytes: now.map_or(0, |identity| identity.bytes),
                    now: true,
                    why: "an attempt wrote it after it had ended".to_owned(),
                });
            }
        }
    }
    late.retain(|item| !known.iter().any(|known| known.path == item.path));
    Ok(late)
}

fn fate(state: &State, garbage: &Garbage, grace: Grace) -> (bool, String) {
    let replaced = match &garbage.original {
        Some(original) => format!("replaced {} in entry {}", original.path, garbage.replaced),
        None => format!("replaced in entry {}", garbage.replaced),
    };
    let length = state
        .tables
        .get(&garbage.table)
        .map_or(0, |table| table.spec.grace.between_stamps().0);
    match garbage.stage {
        Stage::Due => (true, "on the deletion list".to_owned()),
        Stage::Ripe => (true, replaced),
        Stage::Returning => (false, "being brought back by an undo".to_owned()),
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

async fn size(root: &Root, path: &FilePath, garbage: &Garbage) -> u64 {
    if let Some(original) = &garbage.original {
        return original.identity.bytes;
    }
    let now = root.site.root.identity_now(path).await;
    now.ok().flatten().map_or(0, |identity| identity.bytes)
}

/// Whether an open job counts on what this attempt finished.
fn is_needed(state: &State, attempt: &baler_core::names::Attempt) -> bool {
    let job = state.jobs.get(&attempt.job);
    job.is_some_and(|job| {
        job.finished()
            .any(|(_, finished)| finished.token == attempt.token)
    })
}
