//! `baler table`: makes, changes, lists and drops native tables.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use baler_core::ids::TableName;
use baler_core::request::{Reply, Request};
use baler_core::state::{State, Table};
use baler_core::table::Catalog;
use serde::Serialize;

use super::print_json;
use crate::cli::{RootArgs, TableArgs, TableCommand, TableNameArgs};
use crate::report::{Totals, bytes, count};
use crate::root::{self, Root};
use crate::settings::{NativeSettings, describe_table, table_name};

/// Runs it.
pub async fn run(command: &TableCommand) -> Result<ExitCode> {
    match command {
        TableCommand::Create(args) => create(args).await,
        TableCommand::Alter(args) => alter(args).await,
        TableCommand::List(args) => list(args).await,
        TableCommand::Drop(args) => drop(args).await,
    }
}

async fn create(args: &TableArgs) -> Result<ExitCode> {
    let name = table_name(&args.name)?;
    let settings = NativeSettings::check(&args.native)?;
    let (root, new) = Root::create_table(&args.root, &name, &settings).await?;
    let spec = root.table(&name)?.spec;
    root.replica.clone().close().await;
    match args.json {
        true => print_json(&serde_json::json!({ "table": name.as_str(), "created": new }))?,
        false if new => println!("table {name}: {}", describe_table(&spec)),
        false => println!("table {name} exists already, just so: {}", describe_table(&spec)),
    }
    Ok(ExitCode::SUCCESS)
}

async fn alter(args: &TableArgs) -> Result<ExitCode> {
    let settings = NativeSettings::check(&args.native)?;
    let root = Root::open_to_write(&args.root).await?;
    let table = TableName::from(args.name.as_str());
    let known = root::known(&root.replica.state(), &table)?.spec.clone();
    if known.catalog.publishes() {
        bail!("this root is a plain folder: give its settings to `baler compact`");
    }
    let spec = Arc::new(settings.altered(&known)?);
    let request = Request::AlterTable {
        table: table.clone(),
        spec: spec.clone(),
    };
    if let Reply::Refused(refusal) = root.replica.submit(request).await? {
        bail!("{refusal}");
    }
    root.replica.clone().close().await;
    let changed = spec != known;
    match args.json {
        true => print_json(&serde_json::json!({ "table": table.as_str(), "changed": changed }))?,
        false => println!("table {table}: {}", describe_table(&spec)),
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    /// `native`, `in place` or `output`.
    catalog: &'static str,
    settings: String,
    live: Totals,
    partitions: usize,
    /// Versions from this entry on can be read.
    oldest_version: u64,
    pins: usize,
    /// It was dropped, and something of it is still on the store.
    dropped: bool,
}

impl Listed {
    fn of(state: &State, name: &TableName, table: &Table) -> Self {
        Self {
            name: name.to_string(),
            catalog: match &table.spec.catalog {
                Catalog::Native => "native",
                Catalog::External => "external",
                Catalog::InPlace => "in place",
                Catalog::Output { .. } => "output",
            },
            settings: describe_table(&table.spec),
            live: Totals::of(table),
            partitions: table.partitions.len(),
            oldest_version: table.readable_from.0,
            pins: state.pins.values().filter(|pin| pin.table == *name).count(),
            dropped: table.is_dropped(),
        }
    }
}

async fn list(args: &RootArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    let state = root.replica.state();
    for (name, table) in &state.tables {
        let listed = Listed::of(&state, name, table);
        match args.json {
            true => print_json(&listed)?,
            false if listed.dropped => println!("{name}: dropped; its files wait for `baler gc`"),
            false => println!(
                "{name}: {} files, {}, {} rows, {} partition(s); {}",
                count(listed.live.files),
                bytes(listed.live.bytes),
                count(listed.live.rows),
                listed.partitions,
                listed.settings
            ),
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn drop(args: &TableNameArgs) -> Result<ExitCode> {
    let root = Root::open_to_write(&args.root).await?;
    let table = TableName::from(args.name.as_str());
    let files = root::known(&root.replica.state(), &table)?.files.len();
    if let Reply::Refused(refusal) = root.replica.submit(Request::DropTable(table.clone())).await? {
        bail!("{refusal}");
    }
    root.replica.clone().close().await;
    match args.json {
        true => print_json(&serde_json::json!({ "dropped": table.as_str(), "files": files }))?,
        false => println!(
            "table {table} is dropped: `baler gc` deletes its {files} file(s) after their grace period"
        ),
    }
    Ok(ExitCode::SUCCESS)
}
