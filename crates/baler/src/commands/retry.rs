//! `baler retry`: takes the mark off files that are quarantined or left alone, so that the next `compact` tries them again.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Result, bail};
use baler_core::file::FilePath;
use baler_core::ids::TableName;
use baler_core::request::{Reply, Request};
use baler_core::state::Table;

use super::print_json;
use crate::cli::RetryArgs;
use crate::root::Root;

/// Runs it.
pub async fn run(args: &RetryArgs) -> Result<ExitCode> {
    let root = Root::open_to_write(&args.root).await?;
    let only = args.table.as_deref().map(TableName::from);
    let tables = root.tables(only.as_ref())?;
    let marked = |name: &String| {
        tables
            .iter()
            .any(|(_, table)| marks(table).any(|path| *path.path == **name))
    };
    if let Some(unknown) = args.paths.iter().find(|name| !marked(name)) {
        bail!("{unknown} is neither quarantined nor left alone: `baler status` lists what is");
    }
    let named =
        |path: &&FilePath| args.paths.is_empty() || args.paths.iter().any(|name| **name == *path.path);
    let mut lifted = 0;
    for (name, table) in &tables {
        let paths: Vec<FilePath> = marks(table).filter(named).cloned().collect();
        lifted += paths.len();
        if !paths.is_empty() {
            lift(&root, name, paths).await?;
        }
    }
    root.replica.clone().close().await;
    match args.json {
        true => print_json(&serde_json::json!({ "lifted": lifted }))?,
        false => println!("{lifted} file(s) will be tried again by the next `baler compact`"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Files that the planner leaves alone, each once.
fn marks(table: &Table) -> impl Iterator<Item = &FilePath> {
    let apart = table.files.values().filter(|file| file.apart.is_some());
    let marks = table.quarantine.keys().chain(table.put_off.keys());
    let marks: BTreeSet<&FilePath> = marks.chain(apart.map(|file| &file.path)).collect();
    marks.into_iter()
}

async fn lift(root: &Root, table: &TableName, paths: Vec<FilePath>) -> Result<()> {
    let request = Request::Retry {
        table: table.clone(),
        paths,
    };
    match root.replica.submit(request).await? {
        Reply::Refused(refusal) => bail!("{refusal}"),
        _ => Ok(()),
    }
}
