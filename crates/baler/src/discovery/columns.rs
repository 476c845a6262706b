//! The columns that a table's spec names, looked for in the first files.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use baler_core::state::Table;
use baler_core::table::{MergeSpec, Rule};

use crate::settings::Usage;

/// Columns that the table's spec names and no file has shown yet. A column that no file has is a typing error, not a
/// column of nulls.
pub(super) struct Columns {
    wanted: Vec<Arc<str>>,
    seen: BTreeMap<String, u64>,
}

impl Columns {
    /// A table that holds files has shown its columns before.
    pub(super) fn wanted(table: &Table) -> Self {
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

    pub(super) fn count(&mut self, columns: Vec<String>) {
        for column in columns {
            *self.seen.entry(column).or_default() += 1;
        }
    }

    pub(super) fn refuse_unknown(&self) -> Result<()> {
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
    sort.chain(version).cloned().collect()
}
