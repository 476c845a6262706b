//! `baler retry`: takes the mark off quarantined files, so that the next `compact` tries them again.

use std::process::ExitCode;

use anyhow::{Result, bail};
use baler_core::file::FilePath;
use baler_core::request::{Reply, Request};

use super::print_json;
use crate::cli::RetryArgs;
use crate::root::Root;

/// Runs it.
pub async fn run(args: &RetryArgs) -> Result<ExitCode> {
    let root = Root::open_to_write(&args.root).await?;
    let marked: Vec<FilePath> = root.table()?.quarantine.keys().cloned().collect();
    let named =
        |path: &&FilePath| args.paths.is_empty() || args.paths.iter().any(|name| **name == *path.path);
    let paths: Vec<FilePath> = marked.iter().filter(named).cloned().collect();
    if let Some(unknown) = args
        .paths
        .iter()
        .find(|name| !marked.iter().any(|path| *path.path == ***name))
    {
        bail!("{unknown} is not quarantined: `baler status` lists what is");
    }
    if !paths.is_empty() {
        let request = Request::Retry {
            table: root.table.clone(),
            paths: paths.clone(),
        };
        if let Reply::Refused(refusal) = root.replica.submit(request).await? {
            bail!("{refusal}");
        }
    }
    root.replica.clone().close().await;
    match args.json {
        true => print_json(&serde_json::json!({ "lifted": paths.len() }))?,
        false => println!(
            "{} file(s) will be tried again by the next `baler compact`",
            paths.len()
        ),
    }
    Ok(ExitCode::SUCCESS)
}
