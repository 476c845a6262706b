//! `baler verify`: every live file is there, whole, and holds the rows that were written to it.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use baler_core::file::{Digest, File};
use baler_core::ids::TableName;
use baler_core::table::MergeSpec;
use baler_merge::{Budget, Unwatched};
use serde::Serialize;

use super::{exit_code, print_json};
use crate::cli::VerifyArgs;
use crate::depot::Input;
use crate::report::{ProgressView, bytes, count};
use crate::root::Root;
use crate::site::Site;
use crate::spec::{self, Asked};

#[derive(Debug, Serialize)]
struct Verified {
    path: String,
    ok: bool,
    /// How its rows were proved: `digest`, or `footer` where none is on record or none was asked for; `bytes` where the format is
    /// not Baler's own.
    proved_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Runs it.
pub async fn run(args: &VerifyArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    let only = args.table.as_deref().map(TableName::from);
    let tables = root.tables(only.as_ref())?;
    let files: Vec<(&Arc<File>, &str)> = tables
        .iter()
        .flat_map(|(_, table)| table.files.values().map(|file| (file, table.spec.merge.format())))
        .collect();
    let progress = if args.json {
        ProgressView::silent()
    } else {
        ProgressView::on_terminal()
    };
    progress.begin_counting("verifying");
    let (mut problems, mut rows, mut size) = (0u64, 0, 0);
    for (file, format) in &files {
        let verified = verify(&root.site, file, format, args.quick).await;
        progress.advance(1);
        problems += u64::from(!verified.ok);
        rows += file.rows;
        size += file.bytes();
        match args.json {
            true => print_json(&verified)?,
            false if !verified.ok => {
                progress.say(&format!(
                    "WRONG  {}: {}",
                    verified.path,
                    verified.problem.unwrap_or_default()
                ));
            }
            false => {}
        }
    }
    progress.end();
    if !args.json {
        let files = count(files.len() as u64);
        println!(
            "{files} files, {}, {} rows: {} wrong",
            bytes(size),
            count(rows),
            count(problems)
        );
    }
    Ok(exit_code(problems == 0))
}

async fn verify(site: &Site, file: &File, format: &str, quick: bool) -> Verified {
    let digest = file.digest.filter(|_| !quick);
    let problem = check(site, file, format, digest).await.err();
    Verified {
        path: file.path.to_string(),
        ok: problem.is_none(),
        proved_by: match digest {
            _ if format != MergeSpec::PARQUET => "bytes",
            Some(_) => "digest",
            None => "footer",
        },
        problem,
    }
}

async fn check(site: &Site, file: &File, format: &str, digest: Option<Digest>) -> Result<(), String> {
    let depot = site.depot_of(&file.path);
    let input = depot.open_input(file).await.map_err(|error| error.to_string())?;
    if let (Some(checksum), Some(_)) = (file.checksum, digest) {
        let found = depot
            .checksum(&file.path)
            .await
            .map_err(|error| error.to_string())?;
        if found != checksum {
            return Err("its bytes are not those that were written to it".to_owned());
        }
    }
    // Rows of a format of the owner's are for its owner to read.
    if format != MergeSpec::PARQUET {
        return Ok(());
    }
    let (rows, digest) = (file.rows, digest);
    let checking = tokio::task::spawn_blocking(move || check_rows(&input, rows, digest));
    checking
        .await
        .map_err(|panic| format!("reading it panicked: {panic}"))?
}

fn check_rows(input: &Arc<dyn Input>, on_record: u64, digest: Option<Digest>) -> Result<(), String> {
    let facts = Asked::nothing()
        .inspect(input)
        .map_err(|error| error.to_string())?;
    if facts.rows != on_record {
        return Err(format!(
            "{} rows in its footer, {on_record} on record",
            facts.rows
        ));
    }
    let Some(recorded) = digest else {
        return Ok(());
    };
    let input = spec::input_for_engine(input.clone());
    let (rows, found) =
        baler_merge::digest_of(&input, Budget::default(), &Unwatched).map_err(|error| error.to_string())?;
    if rows != on_record {
        return Err(format!("{rows} rows could be read, {on_record} are on record"));
    }
    match spec::digest_of(found) == recorded {
        true => Ok(()),
        false => Err("its rows are not those that were written to it".to_owned()),
    }
}
