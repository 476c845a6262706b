//! What a worker is willing to work on, checked.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use baler_core::file::Level;
use baler_core::ids::TableName;
use baler_core::limits::LEVEL_MAX;
use baler_core::names::is_table_name;
use baler_core::request::Scope;

use super::{Usage, refuse_zero};
use crate::cli::RoutingArgs;

/// What the worker's polls ask for.
pub(super) fn scope(args: &RoutingArgs) -> Result<Scope, Usage> {
    let max_job_bytes = args.max_job_bytes.map(|size| size.as_u64());
    refuse_zero("--max-job-bytes", max_job_bytes.unwrap_or(1))?;
    Ok(Scope {
        tables: args.tables.as_deref().map(tables).transpose()?,
        levels: args.levels.as_deref().map(levels).transpose()?,
        max_job_bytes,
        ..Scope::default()
    })
}

fn tables(names: &[String]) -> Result<BTreeSet<TableName>, Usage> {
    let table = |name: &String| match is_table_name(name) {
        true => Ok(TableName::from(name.as_str())),
        false => Err(Usage(format!("--tables: {name:?} is no name of a table"))),
    };
    names.iter().map(table).collect()
}

/// `2`, or `0-1`.
fn levels(text: &str) -> Result<RangeInclusive<Level>, Usage> {
    let wrong = || {
        Usage(format!(
            "--levels {text}: give a level or a stretch of levels from 0 to {LEVEL_MAX}, like 0 or 0-1"
        ))
    };
    let level = |text: &str| match text.parse::<u8>() {
        Ok(level) if level <= LEVEL_MAX => Ok(Level(level)),
        _ => Err(wrong()),
    };
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (level(low)?, level(high)?);
    match low <= high {
        true => Ok(low..=high),
        false => Err(wrong()),
    }
}
