//! A listing under way: what it has met so far, and what to say of it.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use baler_core::file::FilePath;
use baler_core::ids::TableName;
use baler_core::limits::FILES_PER_EVENT_MAX;
use baler_core::state::{State, Table};

use super::Findings;
use super::batches::Batches;
use super::columns::Columns;
use super::footers::Looked;
use super::sorting::is_unknown_output;
use crate::report::NamedReason;

/// Files named in an error, of however many.
const NAMED_MAX: usize = 10;

/// Said of a file with a name of this journal's own form that the journal does not know: a copy, or a restored backup.
const UNKNOWN_OUTPUT: &str = "named like an output of this root, but not one of its live files: a copy, or restored? \
                              Rename it to have it taken, or remove it with `baler gc --full`";

/// A listing under way.
pub(super) struct Looking {
    pub(super) findings: Findings,
    pub(super) foreign: Vec<FilePath>,
    pub(super) unknown: Vec<FilePath>,
    /// Paths that the state names, and the listing met.
    pub(super) met: BTreeSet<FilePath>,
    pub(super) batches: Batches,
    pub(super) columns: Columns,
}

impl Looking {
    /// Answers whether it was a data file.
    pub(super) async fn take(&mut self, table: &Table, looked: Looked) -> Result<bool> {
        match looked {
            Looked::New { file, columns } => {
                self.meet(table, &file.path);
                self.findings.fresh += 1;
                self.columns.count(columns);
                if self.batches.len() + 1 >= FILES_PER_EVENT_MAX {
                    self.columns.refuse_unknown()?;
                }
                self.batches.add(file).await?;
            }
            Looked::Bad(bad) => {
                self.meet(table, &bad.path);
                self.batches.quarantine(bad).await?;
            }
            Looked::Met(path) => {
                self.meet(table, &path);
                self.batches.pass(path.folder()).await?;
            }
            Looked::Young(path) => {
                self.meet(table, &path);
                self.findings.waiting += 1;
            }
            Looked::Unknown(path) => self.unknown.push(path),
            Looked::Foreign(path) => self.foreign.push(path),
            Looked::Skipped(skipped) => {
                self.findings.skipped.push(skipped);
                return Ok(false);
            }
            Looked::Unreadable(error) => {
                self.findings.unreadable.push(error);
                return Ok(false);
            }
            Looked::Vanished => {}
        }
        Ok(true)
    }

    fn meet(&mut self, table: &Table, path: &FilePath) {
        let known = table.files.get_key_value(path).map(|(path, _)| path);
        let known = known.or_else(|| table.consumed.get_key_value(path).map(|(path, _)| path));
        let known = known.or_else(|| table.quarantine.get_key_value(path).map(|(path, _)| path));
        self.met.extend(known.cloned());
    }

    pub(super) fn refuse_foreign(&self) -> Result<()> {
        if self.foreign.is_empty() {
            return Ok(());
        }
        let named: Vec<String> = self
            .foreign
            .iter()
            .take(NAMED_MAX)
            .map(ToString::to_string)
            .collect();
        bail!(
            "{} file(s) were written by another Baler root, as in a folder that was copied or restored without its \
             `_baler`. If they are data of this root, run again with --adopt-foreign; else move them away:\n  {}",
            self.foreign.len(),
            named.join("\n  ")
        )
    }

    /// An output may have been made while the listing went on: only now is it clear which ones nobody knows.
    pub(super) fn report_unknown(&mut self, state: &State, table: &TableName) {
        let unknown = std::mem::take(&mut self.unknown);
        for path in unknown
            .iter()
            .filter(|path| is_unknown_output(state, table, path))
        {
            self.findings.skipped.push(NamedReason {
                path: path.to_string(),
                reason: UNKNOWN_OUTPUT.to_owned(),
            });
        }
    }
}
