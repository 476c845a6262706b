//! `baler pin` and `baler unpin`: a reader's promise to be reading a version, and its end.

use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use baler_core::ids::{PinId, Sequence, TableName};
use baler_core::request::{Reply, Request};
use serde::Serialize;

use super::files::ShownFile;
use super::print_json;
use crate::cli::{PinArgs, UnpinArgs};
use crate::root::{self, Root};
use crate::settings::{Usage, millis};

#[derive(Debug, Serialize)]
struct Pinned<'a> {
    pin: String,
    table: &'a str,
    version: u64,
    files: Vec<ShownFile<'a>>,
}

/// Runs `baler pin`.
pub async fn run(args: &PinArgs) -> Result<ExitCode> {
    if args.lifetime.is_zero() {
        return Err(Usage("--for must be longer than nothing".to_owned()).into());
    }
    let root = Root::open_to_write(&args.root).await?;
    let table = TableName::from(args.table.as_str());
    root::known(&root.replica.state(), &table)?;
    let request = Request::Pin {
        table: table.clone(),
        owner: owner(args).into(),
        lifetime: millis(args.lifetime),
        version: args.at.map(Sequence),
    };
    let pin = match root.replica.submit(request).await? {
        Reply::Pinned(pin) => pin,
        Reply::Refused(refusal) => bail!("{refusal}"),
        other => bail!("a pin was answered {other:?}"),
    };
    let version = args.at.map_or(pin.entry, Sequence);
    let state = root.replica.state();
    root.replica.clone().close().await;
    let files = state
        .files_at(&table, version)
        .map_err(|refusal| anyhow!("{refusal}"))?;
    match args.json {
        true => print_json(&Pinned {
            pin: pin.to_string(),
            table: table.as_str(),
            version: version.0,
            files: files.iter().map(|file| ShownFile::of(None, file)).collect(),
        })?,
        false => println!(
            "pin {pin} holds version {version} of {table}: {} file(s)",
            files.len()
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `baler unpin`.
pub async fn unpin(args: &UnpinArgs) -> Result<ExitCode> {
    let pin = parse_pin(&args.pin)?;
    let root = Root::open_to_write(&args.root).await?;
    if let Reply::Refused(refusal) = root.replica.submit(Request::Unpin(pin)).await? {
        bail!("{refusal}");
    }
    root.replica.clone().close().await;
    match args.json {
        true => print_json(&serde_json::json!({ "unpinned": pin.to_string() }))?,
        false => println!("pin {pin} is gone: `baler gc` may delete what only it held"),
    }
    Ok(ExitCode::SUCCESS)
}

fn owner(args: &PinArgs) -> String {
    let user = || std::env::var("USER").ok().filter(|name| !name.is_empty());
    args.owner
        .clone()
        .or_else(user)
        .unwrap_or_else(|| "somebody".to_owned())
}

/// A pin as `baler pin` names it: an entry and which event of it, like 121.0.
pub(super) fn parse_pin(text: &str) -> Result<PinId, Usage> {
    let parsed = text.split_once('.').and_then(|(entry, index)| {
        Some(PinId {
            entry: Sequence(entry.parse().ok()?),
            index: index.parse().ok()?,
        })
    });
    parsed.ok_or_else(|| {
        Usage(format!(
            "{text} is neither a version, like 120, nor a pin, like 121.0"
        ))
    })
}
