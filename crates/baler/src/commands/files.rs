//! `baler files`: the live files, or those of an older version.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use baler_core::file::{File, Place};
use baler_core::ids::{Sequence, TableName};
use baler_core::state::State;
use serde::Serialize;

use super::pin::parse_pin;
use super::print_json;
use crate::cli::FilesArgs;
use crate::report::{bytes, count};
use crate::root::{self, Root};
use crate::settings::Usage;

/// A file that a version shows.
#[derive(Debug, Serialize)]
pub(super) struct ShownFile<'a> {
    /// In a native root: whose file it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<&'a str>,
    path: &'a str,
    bytes: u64,
    rows: u64,
    level: u8,
    partition: &'a str,
    /// `root`, or `source` for a file that `--output` has not compacted yet.
    place: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl<'a> ShownFile<'a> {
    pub(super) fn of(table: Option<&'a TableName>, file: &'a File) -> Self {
        Self {
            table: table.map(TableName::as_str),
            path: &file.path.path,
            bytes: file.bytes(),
            rows: file.rows,
            level: file.level.0,
            partition: file.partition.as_str(),
            place: match file.path.place {
                Place::Root => "root",
                Place::Source => "source",
            },
            digest: file.digest.map(|digest| digest.to_string()),
        }
    }
}

/// Runs it.
pub async fn run(args: &FilesArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    let state = root.replica.state();
    let native = root.is_native();
    for (table, files) in shown(&state, args)? {
        let table = native.then_some(&table);
        for file in &files {
            print_file(&ShownFile::of(table, file), args.json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_file(file: &ShownFile<'_>, json: bool) -> Result<()> {
    if json {
        return print_json(file);
    }
    let table = file.table.map_or_else(String::new, |table| format!("{table}  "));
    println!(
        "{table}L{}  {:>10}  {:>14} rows  {}",
        file.level,
        bytes(file.bytes),
        count(file.rows),
        file.path
    );
    Ok(())
}

/// Which files, of which tables.
fn shown(state: &State, args: &FilesArgs) -> Result<Vec<(TableName, Vec<Arc<File>>)>> {
    let only = args.table.as_deref().map(TableName::from);
    let Some(at) = &args.at else {
        let tables = root::tables(state, only.as_ref())?;
        let live = tables.into_iter();
        return Ok(live
            .map(|(name, table)| (name, table.files.values().cloned().collect()))
            .collect());
    };
    let (table, version) = version(state, only.as_ref(), at)?;
    let files = state
        .files_at(&table, version)
        .map_err(|refusal| anyhow!("{refusal}"))?;
    Ok(vec![(table, files)])
}

/// A pin says which table it holds; for a version the table must be clear.
fn version(state: &State, only: Option<&TableName>, at: &str) -> Result<(TableName, Sequence)> {
    if let Ok(number) = at.parse() {
        let mut tables = root::tables(state, only)?.into_iter();
        return match (tables.next(), tables.next()) {
            (Some((table, _)), None) => Ok((table, Sequence(number))),
            (None, _) => bail!("this root has no table"),
            _ => Err(Usage("--at: say of which table, with --table NAME".to_owned()).into()),
        };
    }
    let pin = parse_pin(at)?;
    match state.pins.get(&pin) {
        None => bail!("there is no pin {pin}: its time is over, or it was unpinned"),
        Some(promise) if only.is_some_and(|only| *only != promise.table) => {
            bail!("pin {pin} holds a version of table {}", promise.table)
        }
        Some(promise) => Ok((promise.table.clone(), promise.version)),
    }
}
