//! `baler pause` and `baler resume`: nothing new is planned or begun in between.

use std::process::ExitCode;

use anyhow::{Result, bail};
use baler_core::ids::TableName;
use baler_core::request::{Reply, Request};

use super::print_json;
use crate::cli::TableRootArgs;
use crate::root::Root;

/// Runs `baler pause`.
pub async fn run(args: &TableRootArgs) -> Result<ExitCode> {
    let what = ask(args, |table| Request::Pause { table }).await?;
    match args.json {
        true => print_json(&serde_json::json!({ "paused": true, "table": args.table }))?,
        false => {
            println!("{what} paused: what is under way goes on, nothing new begins until `baler resume`")
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `baler resume`.
pub async fn resume(args: &TableRootArgs) -> Result<ExitCode> {
    let what = ask(args, |table| Request::Resume { table }).await?;
    match args.json {
        true => print_json(&serde_json::json!({ "paused": false, "table": args.table }))?,
        false => println!("{what} resumed"),
    }
    Ok(ExitCode::SUCCESS)
}

async fn ask(args: &TableRootArgs, request: impl Fn(Option<TableName>) -> Request) -> Result<String> {
    let root = Root::open_to_write(&args.root).await?;
    let table = args.table.as_deref().map(TableName::from);
    root.tables(table.as_ref())?;
    let reply = root.replica.submit(request(table)).await?;
    root.replica.clone().close().await;
    match reply {
        Reply::Refused(refusal) => bail!("{refusal}"),
        _ => Ok(args
            .table
            .as_ref()
            .map_or_else(|| "the root is".to_owned(), |name| format!("table {name} is"))),
    }
}
