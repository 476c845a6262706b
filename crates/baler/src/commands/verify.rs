//! `baler verify`: every live file is there, whole, and holds the rows that were written to it.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use baler_core::file::{Digest, File};
use baler_merge::{Budget, Input, Unwatched};
use serde::Serialize;

use super::{exit_code, print_json};
use crate::cli::VerifyArgs;
use crate::folder::input::FolderInput;
use crate::folder::publish;
use crate::report::{ProgressView, bytes, count};
use crate::root::Root;
use crate::site::Site;
use crate::spec::{self, NamedInput};

#[derive(Debug, Serialize)]
struct Verified {
    path: String,
    ok: bool,
    /// How its rows were proved: `digest`, or `footer` where none is on record or none was asked for.
    proved_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Runs it.
pub async fn run(args: &VerifyArgs) -> Result<ExitCode> {
    let root = Root::open_to_read(&args.root).await?;
    let table = root.table()?;
    let progress = if args.json {
        ProgressView::silent()
    } else {
        ProgressView::on_terminal()
    };
    progress.begin_counting("verifying");
    let (mut problems, mut rows, mut size) = (0u64, 0, 0);
    for file in table.files.values() {
        let verified = verify(&root.site, file, args.quick);
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
        let files = count(table.files.len() as u64);
        println!(
            "{files} files, {}, {} rows: {} wrong",
            bytes(size),
            count(rows),
            count(problems)
        );
    }
    Ok(exit_code(problems == 0))
}

fn verify(site: &Site, file: &File, quick: bool) -> Verified {
    let digest = file.digest.filter(|_| !quick);
    let problem = check(site, file, digest).err();
    Verified {
        path: file.path.to_string(),
        ok: problem.is_none(),
        proved_by: if digest.is_some() { "digest" } else { "footer" },
        problem,
    }
}

fn check(site: &Site, file: &File, digest: Option<Digest>) -> Result<(), String> {
    let input = FolderInput::open(site.folder_of(&file.path), &file.path, &file.identity);
    let input = input.map_err(|error| error.to_string())?;
    let input: Arc<dyn Input> = Arc::new(NamedInput::new(&file.path, input));
    let facts = baler_merge::inspect(&input, &baler_merge::Asked::default()).map_err(|error| error.to_string())?;
    if facts.rows != file.rows {
        return Err(format!(
            "{} rows in its footer, {} on record",
            facts.rows, file.rows
        ));
    }
    let Some(recorded) = digest else {
        return Ok(());
    };
    if let Some(checksum) = file.checksum {
        let found =
            publish::checksum(site.folder_of(&file.path), &file.path).map_err(|error| error.to_string())?;
        if found != checksum {
            return Err("its bytes are not those that were written to it".to_owned());
        }
    }
    let (rows, found) =
        baler_merge::digest_of(&input, Budget::default(), &Unwatched).map_err(|error| error.to_string())?;
    if rows != file.rows {
        return Err(format!("{rows} rows could be read, {} are on record", file.rows));
    }
    match spec::digest_of(found) == recorded {
        true => Ok(()),
        false => Err("its rows are not those that were written to it".to_owned()),
    }
}
