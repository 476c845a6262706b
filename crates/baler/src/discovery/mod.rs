//! What came and what went: the inbox is listed, new files are looked at (their footers only), and files that the
//! state names but the listing did not meet are asked for one by one. Nothing is decided here: findings become
//! requests, sent in batches while the listing goes on, so that merging can begin before it ends.
//!
//! ```text
//! walk ─▶ sort out ─▶ footers, several at once, in listing order ─▶ batches ─▶ Step::Ask, Step::Settled
//! ```

mod batches;
mod columns;
mod footers;
mod looking;
mod sorting;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use baler_core::file::{FilePath, Place};
use baler_core::ids::{Partition, Sequence, TableName};
use baler_core::request::Request;
use baler_core::state::{State, Table};
use baler_core::time::StoreTime;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc;

use crate::depot::{DepotError, Found};
use crate::report::{NamedReason, ProgressView};
use crate::settings::ScopeSettings;
use crate::site::Site;
use crate::spec::Asked;

use batches::Batches;
pub(crate) use columns::Columns;
use footers::look_closer;
use looking::Looking;
use sorting::{Sorted, sort_out};

/// Files of other journals after which a listing need not go on: the run is refused anyway.
const FOREIGN_MAX: usize = 1_000;

/// How to look.
#[derive(Clone, Debug)]
pub struct Look {
    /// For this table.
    pub table: TableName,
    /// The last entry known when looking begins.
    pub evidence: Sequence,
    /// Leave files alone that were written less than this ago.
    pub settle: Duration,
    /// The present, on the wall clock of whoever looks.
    pub now: StoreTime,
    /// Only these folders.
    pub scope: ScopeSettings,
    /// Files of other journals are ordinary inputs.
    pub adopt_foreign: bool,
}

/// What looking leads to, while it goes on.
#[derive(Debug)]
pub enum Step {
    /// This is to be asked of the state.
    Ask(Box<Request>),
    /// Everything found in this folder has been asked for, or so much that merging can begin.
    Settled(Partition),
}

/// What was found besides.
#[derive(Debug, Default)]
pub struct Findings {
    /// Everything that was met.
    pub listed: u64,
    /// New files.
    pub fresh: u64,
    /// Files that were too young.
    pub waiting: u64,
    /// What looked like data but was passed over.
    pub skipped: Vec<NamedReason>,
    /// Folders that could not be listed. What lies in them is neither taken nor missed.
    pub unreadable: Vec<String>,
}

/// The state as it is now: looking takes long, and meanwhile others work.
pub trait Knowledge: Send + Sync {
    /// As far as this process knows.
    fn state(&self) -> Arc<State>;
}

impl Knowledge for baler_journal::Replica {
    fn state(&self) -> Arc<State> {
        baler_journal::Replica::state(self)
    }
}

impl Knowledge for Arc<State> {
    fn state(&self) -> Arc<State> {
        self.clone()
    }
}

/// Lists the inbox and compares it with the state. Steps go to `steps`; who does not take them slows the listing down.
pub async fn look(
    site: &Site,
    knowledge: &dyn Knowledge,
    look: &Look,
    progress: &ProgressView,
    steps: mpsc::Sender<Step>,
) -> Result<Findings> {
    let state = knowledge.state();
    let table = &state.tables[&look.table];
    let asked = Arc::new(Asked::for_table(&table.spec));
    let inbox = site.inbox();
    let mut looking = Looking {
        findings: Findings::default(),
        foreign: Vec::new(),
        unknown: Vec::new(),
        met: BTreeSet::new(),
        batches: Batches::new(look.table.clone(), look.evidence, steps),
        columns: Columns::wanted(table),
    };
    let mut seen_any = false;
    {
        let now = look.now;
        let looks = inbox.walk(state.journal).map(|found| {
            let sorted = found.map(|found| match found {
                Found::Data(file) if !look.scope.covers(file.path.folder()) => Sorted::Outside(file),
                Found::Data(file) => sort_out(knowledge, look, now, file),
                Found::Skipped { path, reason } => Sorted::Skipped(NamedReason {
                    path,
                    reason: reason.to_string(),
                }),
            });
            look_closer(inbox, asked.clone(), sorted)
        });
        let mut looks = looks.buffered(inbox.looks_at_once());
        while let Some(looked) = looks.next().await {
            progress.looked_at(1);
            looking.findings.listed += 1;
            seen_any |= looking.take(table, looked?).await?;
            if looking.foreign.len() >= FOREIGN_MAX {
                break;
            }
        }
    }
    looking.refuse_foreign()?;
    looking.columns.refuse_unknown()?;
    looking.report_unknown(&knowledge.state(), &look.table);
    // Where the listing is not whole, or a source shows nothing at all (an unmounted disk?), nothing is let go.
    let shown = seen_any || site.source.is_none();
    let whole = shown && looking.findings.unreadable.is_empty();
    let lost = match whole {
        true => missing(site, table, &looking.met).await?,
        false => Vec::new(),
    };
    looking.batches.finish(lost).await?;
    Ok(looking.findings)
}

/// What the state names and the listing did not meet is let go only if asking for it says that it is not there.
async fn missing(site: &Site, table: &Table, met: &BTreeSet<FilePath>) -> Result<Vec<FilePath>, DepotError> {
    let live = table.files.keys().filter(|path| !table.held.contains_key(*path));
    // Consumed files of a root are followed by the collector, not by listings.
    let consumed = table.consumed.keys().filter(|path| path.place == Place::Source);
    let named: BTreeSet<&FilePath> = live.chain(consumed).chain(table.quarantine.keys()).collect();
    let unmet: Vec<FilePath> = named
        .into_iter()
        .filter(|path| !met.contains(*path))
        .cloned()
        .collect();
    let asked = stream::iter(unmet).map(|path| {
        let depot = site.depot_of(&path).clone();
        async move {
            let now = depot.identity_now(&path).await?;
            Ok::<_, DepotError>(now.is_none().then_some(path))
        }
    });
    let asked = asked.buffered(site.inbox().looks_at_once());
    let lost: Vec<Option<FilePath>> = asked.try_collect().await?;
    Ok(lost.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use baler_core::file::{File, Identity};
    use baler_core::ids::JournalId;
    use baler_core::table::Catalog;

    use super::*;
    use crate::depot::Depot;
    use crate::folder::Folder;
    use crate::root::{PLAIN_TABLE, machine_now, pretend};
    use crate::settings::TableSettings;

    fn file(name: &str) -> Arc<File> {
        let identity = Identity {
            tag: "1".into(),
            bytes: 4,
            modified: machine_now(),
        };
        Arc::new(File::found(FilePath::in_root(name), identity, 1))
    }

    /// A table of these files, as if a listing had met them.
    fn state_of(files: Vec<Arc<File>>) -> State {
        let table = TableName::from(PLAIN_TABLE);
        let spec = Arc::new(TableSettings::unsaid().fresh(Catalog::InPlace, Default::default()));
        let mut state = State::default();
        state.open_batch(None);
        for request in [
            Request::CreateJournal(JournalId(1)),
            Request::CreateTable {
                table: table.clone(),
                spec,
            },
            Request::AddFiles {
                table,
                evidence: Sequence(0),
                files,
            },
        ] {
            pretend(&mut state, &request);
        }
        state
    }

    /// Trap: a listing is stale or incomplete, and what it does not show is taken for deleted.
    #[tokio::test]
    async fn a_file_that_the_listing_missed_is_asked_for_before_it_is_let_go() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("there.parquet"), "PAR1").unwrap();
        let state = state_of(vec![file("there.parquet"), file("gone.parquet")]);
        let folder = Folder::open_root(dir.path()).unwrap();
        let site = Site::new(Depot::Folder(Arc::new(folder)), None);
        let table = &state.tables[&TableName::from(PLAIN_TABLE)];
        assert_eq!(table.files.len(), 2);
        let lost = missing(&site, table, &BTreeSet::new()).await.unwrap();
        assert_eq!(lost, [FilePath::in_root("gone.parquet")]);
    }
}
