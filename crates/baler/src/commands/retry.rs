//! `baler retry`: takes the mark off quarantined files, so that the next `compact` tries them again.

use std::process::ExitCode;

use anyhow::{Result, bail};
use baler_core::file::FilePath;
use baler_core::ids::TableName;
use baler_core::request::{Reply, Request};

use super::print_json;
use crate::cli::RetryArgs;
use crate::root::Root;

/// Runs it.
pub async fn run(args: &RetryArgs) -> Result<ExitCode> {
    let root = Root::open_to_write(&args.root).await?;
    let only = args.table.as_deref().map(TableName::from);
    let tables = root.tables(only.as_ref())?;
    let marks = || tables.iter().flat_map(|(_, table)| table.quarantine.keys());
    let marked = |name: &String| marks().any(|path| *path.path == **name);
    if let Some(unknown) = args.paths.iter().find(|name| !marked(name)) {
        bail!("{unknown} is not quarantined: `baler status` lists what is");
    }
    let named =
        |path: &&FilePath| args.paths.is_empty() || args.paths.iter().any(|name| **name == *path.path);
    let mut lifted = 0;
    for (name, table) in &tables {
        let paths: Vec<FilePath> = table.quarantine.keys().filter(named).cloned().collect();
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
