//! What was typed about merging, checked.

use std::collections::BTreeSet;
use std::sync::Arc;

use baler_core::table::{Rule, SortColumn};

use super::{MergeSettings, TARGET_BYTES_MIN};
use crate::cli::{MergeArgs, VerifyArg};
use crate::settings::{Usage, millis};

impl MergeSettings {
    pub(in crate::settings) fn check(args: &MergeArgs) -> Result<Self, Usage> {
        let sort = args.sort_by.as_deref().map(parse_sort).transpose()?;
        let rule = match (&args.key, &args.newest) {
            (Some(key), Some(version)) => Some(last_write_wins(key, version)?),
            _ => None,
        };
        let sort = match (sort, &rule) {
            (None, Some(Rule::LastWriteWins { key, .. })) => Some(key.iter().map(ascending).collect()),
            (Some(sort), Some(Rule::LastWriteWins { key, .. })) => Some(starting_with_key(sort, key)?),
            (sort, _) => sort,
        };
        let target_bytes = args.target_size.map(|size| size.as_u64());
        if target_bytes.is_some_and(|bytes| bytes < TARGET_BYTES_MIN) {
            return Err(Usage("--target-size must be at least 64KiB".to_owned()));
        }
        let grace = args.grace.map(millis);
        Ok(Self {
            sort,
            rule,
            target_bytes,
            grace,
            verify: args.verify.map(VerifyArg::said),
        })
    }
}

fn parse_sort(columns: &[String]) -> Result<Vec<SortColumn>, Usage> {
    let sort: Vec<SortColumn> = columns
        .iter()
        .map(|column| parse_sort_column(column))
        .collect::<Result<_, _>>()?;
    refuse_twice("--sort-by", sort.iter().map(|column| &column.name))?;
    Ok(sort)
}

fn parse_sort_column(text: &str) -> Result<SortColumn, Usage> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default().trim();
    if name.is_empty() {
        return Err(Usage("--sort-by: a column name is empty".to_owned()));
    }
    let mut column = SortColumn {
        name: name.into(),
        descending: false,
        nulls_first: false,
    };
    for part in parts {
        match part {
            "asc" => column.descending = false,
            "desc" => column.descending = true,
            "nulls-first" => column.nulls_first = true,
            "nulls-last" => column.nulls_first = false,
            other => {
                return Err(Usage(format!(
                    "--sort-by {text}: {other} is none of asc, desc, nulls-first, nulls-last"
                )));
            }
        }
    }
    Ok(column)
}

fn last_write_wins(key: &[String], version: &str) -> Result<Rule, Usage> {
    if version.trim().is_empty() || key.iter().any(|column| column.trim().is_empty()) {
        return Err(Usage("--key and --newest: a column name is empty".to_owned()));
    }
    let key: Vec<Arc<str>> = key.iter().map(|column| Arc::from(column.trim())).collect();
    refuse_twice("--key", key.iter())?;
    Ok(Rule::LastWriteWins {
        key,
        version: version.trim().into(),
    })
}

fn ascending(name: &Arc<str>) -> SortColumn {
    SortColumn {
        name: name.clone(),
        descending: false,
        nulls_first: false,
    }
}

fn starting_with_key(sort: Vec<SortColumn>, key: &[Arc<str>]) -> Result<Vec<SortColumn>, Usage> {
    let starts = sort.len() >= key.len() && sort.iter().zip(key).all(|(column, key)| column.name == *key);
    match starts {
        true => Ok(sort),
        false => Err(Usage(format!(
            "--sort-by must begin with the --key columns ({}), so that the rows of one key meet",
            key.join(",")
        ))),
    }
}

fn refuse_twice<'a>(flag: &str, names: impl Iterator<Item = &'a Arc<str>>) -> Result<(), Usage> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Usage(format!("{flag} names {name} twice")));
        }
    }
    Ok(())
}
