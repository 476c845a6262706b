//! Handing files over to a native table: each is found below the root, looked at (its footer only), and offered to the
//! state, many in a request. A file that cannot be taken is named, and does not keep the others out.

mod looking;
mod partition;
mod paths;

pub use paths::from_lines;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use baler_core::file::FilePath;
use baler_core::ids::TableName;
use baler_core::limits::FILES_PER_EVENT_MAX;
use baler_core::request::{Added, Reply, Request};
use futures::{StreamExt, stream};
use serde::Serialize;

use crate::discovery::Columns;
use crate::report::{NamedReason, ProgressView};
use crate::root::{Root, known};
use looking::{Looked, Looking};

/// What became of the files.
#[derive(Debug, Default, Serialize)]
pub struct AddReport {
    /// New in the table.
    pub added: u64,
    /// In the table already, or compacted into it.
    pub known: u64,
    /// Passed over for now: a job holds another version of them, or what lay there before is being deleted.
    pub later: Vec<String>,
    /// Consumed before, and holding something else now.
    pub changed: Vec<String>,
    /// Files of another table of this root.
    pub taken: Vec<String>,
    /// Files that cannot be taken, and why.
    pub bad: Vec<NamedReason>,
}

impl AddReport {
    /// Whether all of them are in the table.
    pub fn is_clean(&self) -> bool {
        self.later.is_empty() && self.changed.is_empty() && self.taken.is_empty() && self.bad.is_empty()
    }

    fn count(&mut self, added: Added) {
        let texts = |paths: Vec<FilePath>| paths.into_iter().map(|path| path.to_string());
        self.added += added.added;
        self.known += added.known;
        self.changed.extend(texts(added.changed));
        self.taken.extend(texts(added.taken));
    }
}

/// Adds files, as they were named, to a table.
pub async fn add(
    root: &Root,
    table: &TableName,
    names: impl Iterator<Item = Result<String>>,
    progress: &ProgressView,
) -> Result<AddReport> {
    let columns = Columns::wanted(known(&root.replica.state(), table)?);
    let mut adding = Adding {
        root,
        table,
        progress,
        columns,
        report: AddReport::default(),
    };
    progress.begin_counting("looking at");
    let mut seen = BTreeSet::new();
    let mut batch = Vec::new();
    let mut later = Vec::new();
    for name in names {
        let name = name?;
        match paths::resolve(&root.site.root, &name) {
            Err(reason) => adding.report.bad.push(NamedReason { path: name, reason }),
            Ok(path) if seen.insert(path.clone()) => batch.push(path),
            Ok(_) => {}
        }
        if batch.len() >= FILES_PER_EVENT_MAX {
            later.extend(adding.offer(std::mem::take(&mut batch)).await?);
        }
    }
    later.extend(adding.offer(batch).await?);
    // The state changed under the first look: one that begins now may see clearer.
    let later = adding.offer(later).await?;
    adding.report.later.extend(later.iter().map(ToString::to_string));
    progress.end();
    Ok(adding.report)
}

struct Adding<'a> {
    root: &'a Root,
    table: &'a TableName,
    progress: &'a ProgressView,
    columns: Columns,
    report: AddReport,
}

impl Adding<'_> {
    /// Looks at files and offers them to the state. Answers with those that must be looked at again.
    async fn offer(&mut self, paths: Vec<FilePath>) -> Result<Vec<FilePath>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        self.root.replica.catch_up().await?;
        let state = self.root.replica.state();
        let depot = &self.root.site.root;
        let looking = Looking::new(depot, known(&state, self.table)?);
        let mut files = Vec::new();
        let looks = stream::iter(paths).map(|path| looking.look_at(path));
        let mut looks = looks.buffered(depot.looks_at_once());
        while let Some(looked) = looks.next().await {
            self.progress.advance(1);
            match looked {
                Looked::Fresh { file, columns } => {
                    self.columns.count(columns);
                    files.push(file);
                }
                Looked::Known => self.report.known += 1,
                Looked::Bad(bad) => self.report.bad.push(bad),
            }
        }
        if files.is_empty() {
            return Ok(Vec::new());
        }
        self.columns.refuse_unknown()?;
        let request = Request::AddFiles {
            table: self.table.clone(),
            evidence: state.sequence,
            files,
        };
        match self.root.replica.submit(request).await? {
            Reply::Added(mut added) => {
                let later = std::mem::take(&mut added.later);
                self.report.count(added);
                Ok(later)
            }
            Reply::Refused(refusal) => bail!("{refusal}"),
            other => bail!("added files were answered {other:?}"),
        }
    }
}
