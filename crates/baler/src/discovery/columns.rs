//! The columns that a table's spec names, looked for in the first files.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use baler_core::state::Table;
use baler_core::table::{MergeSpec, Rule};

use crate::settings::Usage;
use crate::spec;

/// Columns that the table's spec names and no file has shown yet. A column that no file has is a typing error, not a
/// column of nulls.
pub(crate) struct Columns {
    wanted: Vec<Arc<str>>,
    seen: BTreeMap<String, u64>,
}

impl Columns {
    /// A table that holds files has shown its columns before.
    pub(crate) fn wanted(table: &Table) -> Self {
        let begun = !table.files.is_empty() || !table.consumed.is_empty();
        Self {
            wanted: if begun {
                Vec::new()
            } else {
                named_columns(&table.spec.merge)
            },
            seen: BTreeMap::new(),
        }
    }

    pub(crate) fn count(&mut self, columns: Vec<String>) {
        for column in columns {
            *self.seen.entry(column).or_default() += 1;
        }
    }

    pub(crate) fn refuse_unknown(&self) -> Result<()> {
        let unknown = self
            .wanted
            .iter()
            .find(|column| !self.seen.contains_key(&***column));
        match unknown {
            Some(column) if !self.seen.is_empty() => {
                let seen: Vec<&str> = self.seen.keys().map(String::as_str).collect();
                let text = format!("no file has a column {column}; there are: {}", seen.join(", "));
                Err(Usage(text).into())
            }
            _ => Ok(()),
        }
    }
}

fn named_columns(merge: &MergeSpec) -> Vec<Arc<str>> {
    let version = match &merge.rule {
        Rule::LastWriteWins { version, .. } => Some(version),
        Rule::KeepAll => None,
    };
    let sort = merge.sort.iter().map(|column| &column.name);
    let expire = merge.expire.as_ref().map(|expire| &expire.column);
    let times = merge.row_time.iter().chain(expire);
    let times = times.map(|column| Arc::from(spec::time_column_name(column)));
    let plain = sort.chain(version).chain(&merge.deleted);
    plain.cloned().chain(times).collect()
}
