//! `baler upgrade`: raises a root's format level to this binary's.

use std::process::ExitCode;

use anyhow::Result;
use baler_journal::Upgraded;

use super::print_json;
use crate::cli::RootArgs;
use crate::root::Root;

/// Runs it.
pub async fn run(args: &RootArgs) -> Result<ExitCode> {
    let depot = Root::depot(&args.root)?;
    Root::check_home(&depot)?;
    let store = depot.journal_store()?;
    let Upgraded { before, now } = baler_journal::upgrade(&store).await?;
    match args.json {
        true => print_json(&serde_json::json!({ "before": before, "now": now }))?,
        false if before == now => {
            println!("The root is at format level {now}, which is this Baler's: nothing to do");
        }
        false => println!(
            "Raised the root from format level {before} to {now}: versions of Baler that know less stop here from now on"
        ),
    }
    Ok(ExitCode::SUCCESS)
}
