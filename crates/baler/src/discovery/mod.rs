//! What came and what went: the inbox is listed, new files are looked at (their footers only), and files that the
//! state names but the listing did not meet are asked for one by one. Nothing is decided here: findings become
//! requests, sent in batches while the listing goes on, so that merging can begin before it ends.
//!
//! ```text
//! walk ─▶ sort out ─▶ footers, several at once, in listing order ─▶ batches ─▶ Step::Ask, Step::Settled
//! ```

mod batches;
mod sorting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use baler_core::event::Quarantined;
use baler_core::file::{File, FilePath, Level, Origin, Place};
use baler_core::ids::{Partition, Sequence, TableName};
use baler_core::limits::FILES_PER_EVENT_MAX;
use baler_core::names;
use baler_core::request::Request;
use baler_core::state::{State, Table};
use baler_core::table::MergeSpec;
use baler_merge::FileError;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc;

use crate::depot::{DataFile, Depot, DepotError, Found, InputError};
use crate::report::{NamedReason, ProgressView};
use crate::root::machine_now;
use crate::settings::ScopeSettings;
use crate::site::Site;
use crate::spec::{self, Asked};

use batches::Batches;
use sorting::{Sorted, is_unknown_output, sort_out};

/// Files named in an error, of however many.
const NAMED_MAX: usize = 10;

/// Files of other journals after which a listing need not go on: the run is refused anyway.
const FOREIGN_MAX: usize = 1_000;

/// Said of a file with a name of this journal's own form that the journal does not know: a copy, or a restored backup.
const UNKNOWN_OUTPUT: &str = "named like an output of this root, but not one of its live files: a copy, or restored? \
                              Rename it to have it taken, or remove it with `baler gc --full`";

/// How to look.
#[derive(Clone, Debug)]
pub struct Look {
    /// For this table.
    pub table: TableName,
    /// The last entry known when looking begins.
    pub evidence: Sequence,
    /// Leave files alone that were written less than this ago.
    pub settle: Duration,
    /// Only these folders.
    pub scope: ScopeSettings,
    /// Files of other journals are ordinary inputs.
    pub adopt_foreign: bool,
}

/// What looking leads to, while it goes on.
#[derive(Debug)]
pub enum Step {
    /// This is to be asked of the state.
    Ask(Request),
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
        let now = machine_now();
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
            progress.advance(1);
            looking.findings.listed += 1;
            seen_any |= looking.take(table, looked?).await?;
            if looking.foreign.len() >= FOREIGN_MAX {
                break;
            }
        }
    }
    looking.refuse_foreign()?;
    looking.columns.refuse_unknown()?;
    looking.report_unknown(&*knowledge.state(), &look.table);
    // Where the listing is not whole, or a source shows nothing at all (an unmounted disk?), nothing is let go.
    let whole = looking.findings.unreadable.is_empty() && !(site.source.is_some() && !seen_any);
    let lost = match whole {
        true => missing(site, table, &looking.met).await?,
        false => Vec::new(),
    };
    looking.batches.finish(lost).await?;
    Ok(looking.findings)
}

/// A file after its footer was read, where that was due.
enum Looked {
    Met(FilePath),
    New { file: Arc<File>, columns: Vec<String> },
    Bad(Quarantined),
    Young(FilePath),
    Skipped(NamedReason),
    Unknown(FilePath),
    Foreign(FilePath),
    Unreadable(String),
    Vanished,
}

async fn look_closer(
    inbox: &Depot,
    asked: Arc<Asked>,
    sorted: Result<Sorted, DepotError>,
) -> Result<Looked, DepotError> {
    Ok(match sorted {
        Ok(Sorted::Fresh(file)) => return read_footer(inbox, &asked, file).await,
        Ok(Sorted::Known(file) | Sorted::Outside(file)) => Looked::Met(file.path),
        Ok(Sorted::Young(file)) => Looked::Young(file.path),
        Ok(Sorted::Unknown(file)) => Looked::Unknown(file.path),
        Ok(Sorted::Foreign(file)) => Looked::Foreign(file.path),
        Ok(Sorted::Skipped(skipped)) => Looked::Skipped(skipped),
        Err(error) if error.is_forbidden() => Looked::Unreadable(error.to_string()),
        Err(error) => return Err(error),
    })
}

async fn read_footer(inbox: &Depot, asked: &Arc<Asked>, found: DataFile) -> Result<Looked, DepotError> {
    let bad = |reason: String| {
        Looked::Bad(Quarantined {
            path: found.path.clone(),
            identity: found.identity.clone(),
            reason: reason.into(),
        })
    };
    let facts = match inbox.inspect(&found.path, &found.identity, asked).await {
        Ok(Ok(facts)) => facts,
        Ok(Err(FileError::Refused(reason))) => return Ok(bad(reason)),
        Ok(Err(FileError::Read(error))) => return Ok(bad(format!("could not be read: {error}"))),
        Ok(Err(FileError::Cancelled)) => return Ok(Looked::Vanished),
        Err(InputError::Gone { .. } | InputError::Changed { .. }) => return Ok(Looked::Vanished),
        Err(error @ InputError::Archived { .. }) => {
            return Ok(Looked::Skipped(NamedReason {
                path: found.path.to_string(),
                reason: error.to_string(),
            }));
        }
        Err(InputError::Failed(error)) if error.is_forbidden() => return Ok(bad(error.to_string())),
        Err(InputError::Failed(error)) => return Err(error),
    };
    let columns = facts.columns.iter().map(|column| column.name.clone()).collect();
    let file = File {
        partition: names::folder_partition(&found.path),
        path: found.path,
        identity: found.identity,
        level: Level(0),
        rows: facts.rows,
        keys: facts.keys.as_ref().map(spec::key_range_of),
        times: facts.times.map(spec::times_of),
        digest: None,
        checksum: None,
        origin: Origin::Foreign,
        added: Sequence(0),
        apart: None,
    };
    Ok(Looked::New {
        file: Arc::new(file),
        columns,
    })
}

/// A listing under way.
struct Looking {
    findings: Findings,
    foreign: Vec<FilePath>,
    unknown: Vec<FilePath>,
    /// Paths that the state names, and the listing met.
    met: BTreeSet<FilePath>,
    batches: Batches,
    columns: Columns,
}

impl Looking {
    /// Answers whether it was a data file.
    async fn take(&mut self, table: &Table, looked: Looked) -> Result<bool> {
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

    fn refuse_foreign(&self) -> Result<()> {
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
    fn report_unknown(&mut self, state: &State, table: &TableName) {
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

/// Columns that the table's spec names and no file has shown yet. A column that no file has is a typing error, not a
/// column of nulls.
struct Columns {
    wanted: Vec<Arc<str>>,
    seen: BTreeMap<String, u64>,
}

impl Columns {
    /// A table that holds files has shown its columns before.
    fn wanted(table: &Table) -> Self {
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

    fn count(&mut self, columns: Vec<String>) {
        for column in columns {
            *self.seen.entry(column).or_default() += 1;
        }
    }

    fn refuse_unknown(&self) -> Result<()> {
        let unknown = self
            .wanted
            .iter()
            .find(|column| !self.seen.contains_key(&***column));
        match unknown {
            Some(column) if !self.seen.is_empty() => {
                let seen: Vec<&str> = self.seen.keys().map(String::as_str).collect();
                let text = format!("no file has a column {column}; there are: {}", seen.join(", "));
                Err(crate::settings::Usage(text).into())
            }
            _ => Ok(()),
        }
    }
}

fn named_columns(merge: &MergeSpec) -> Vec<Arc<str>> {
    let version = match &merge.rule {
        baler_core::table::Rule::LastWriteWins { version, .. } => Some(version),
        baler_core::table::Rule::KeepAll => None,
    };
    let sort = merge.sort.iter().map(|column| &column.name);
    sort.chain(version).cloned().collect()
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
