//! `baler add`: hands files over to a native table.

use std::io::stdin;
use std::process::ExitCode;

use anyhow::{Result, bail};
use baler_core::ids::TableName;

use super::{exit_code, print_json};
use crate::adding::{self, AddReport};
use crate::cli::AddArgs;
use crate::report::{ProgressView, count};
use crate::root::{Root, known};
use crate::settings::Usage;

/// Stands for standard input.
const STDIN: &str = "-";

/// Runs it.
pub async fn run(args: &AddArgs) -> Result<ExitCode> {
    let from_stdin = args.paths.iter().any(|path| path == STDIN);
    if from_stdin && args.paths.len() > 1 {
        return Err(Usage("give paths, or - alone to read them from standard input".to_owned()).into());
    }
    let root = Root::open_to_write(&args.root).await?;
    let table = TableName::from(args.table.as_str());
    if known(&root.replica.state(), &table)?.spec.catalog.publishes() {
        bail!("this root is a plain folder: files in it are found by `baler compact`, not added");
    }
    let progress = if args.json {
        ProgressView::silent()
    } else {
        ProgressView::on_terminal()
    };
    let report = match from_stdin {
        true => adding::add(&root, &table, adding::from_lines(stdin().lock()), &progress).await,
        false => adding::add(&root, &table, args.paths.iter().cloned().map(Ok), &progress).await,
    }?;
    root.replica.clone().close().await;
    match args.json {
        true => print_json(&report)?,
        false => print_for_people(&report),
    }
    Ok(exit_code(report.is_clean()))
}

fn print_for_people(report: &AddReport) {
    println!(
        "{} added, {} known already",
        count(report.added),
        count(report.known)
    );
    for path in &report.later {
        println!("later    {path}: in use by a job, or being deleted; add it again");
    }
    for path in &report.changed {
        println!("changed  {path}: rewritten after it was compacted");
    }
    for path in &report.taken {
        println!("taken    {path}: a file of another table");
    }
    for bad in &report.bad {
        println!("bad      {}: {}", bad.path, bad.reason);
    }
}
