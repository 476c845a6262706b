//! `baler files`: the live files.

use std::process::ExitCode;

use anyhow::Result;
use baler_core::file::{File, Place};
use serde::Serialize;

use super::print_json;
use crate::cli::RootArgs;
use crate::report::{bytes, count};
use crate::root::Root;

#[derive(Debug, Serialize)]
struct LiveFile<'a> {
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

impl<'a> LiveFile<'a> {
    fn of(file: &'a File) -> Self {
        Self {
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
pub async fn run(args: &RootArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    for file in root.table()?.files.values() {
        let live = LiveFile::of(file);
        match args.json {
            true => print_json(&live)?,
            false => println!(
                "L{}  {:>10}  {:>14} rows  {}",
                live.level,
                bytes(live.bytes),
                count(live.rows),
                live.path
            ),
        }
    }
    Ok(ExitCode::SUCCESS)
}
