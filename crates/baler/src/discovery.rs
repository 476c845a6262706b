//! What came and what went: the folder is listed, new files are looked at (their footers only), and files that the
//! state names but the listing did not meet are asked for one by one. Nothing is decided here: the findings become
//! requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use baler_core::event::Quarantined;
use baler_core::file::{File, FilePath, Level, Origin, Place};
use baler_core::ids::{Sequence, TableName};
use baler_core::limits::FILES_PER_EVENT_MAX;
use baler_core::names;
use baler_core::request::Request;
use baler_core::state::{State, Table};
use baler_core::time::StoreTime;
use baler_merge::FileError;

use crate::folder::FolderError;
use crate::folder::input::{FolderInput, InputError};
use crate::folder::walk::{DataFile, Found, Namer, walk};
use crate::report::{NamedReason, ProgressView};
use crate::root::machine_now;
use crate::settings::ScopeSettings;
use crate::site::Site;
use crate::spec;

/// Footers read at once.
const FOOTERS_AT_ONCE: usize = 8;

/// Said of a file with a name of this journal's own form that the journal does not know: a copy, or a restored backup.
const UNKNOWN_OUTPUT: &str = "named like an output of this root, but not one of its live files: a copy, or restored? \
                              Rename it to have it taken, or remove it with `baler gc --full`";

/// How to look.
#[derive(Clone, Debug)]
pub struct Look {
    /// The last entry known when looking begins.
    pub evidence: Sequence,
    /// Leave files alone that were written less than this ago.
    pub settle: Duration,
    /// Only these folders.
    pub scope: ScopeSettings,
    /// Files of other journals are ordinary inputs.
    pub adopt_foreign: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// New files.
    pub files: Vec<Arc<File>>,
    /// Files that cannot be what their names say.
    pub bad: Vec<Quarantined>,
    /// Files that the state names and that are not there.
    pub lost: Vec<FilePath>,
    /// Files of another journal's form.
    pub foreign: Vec<FilePath>,
    /// Files that were too young.
    pub waiting: u64,
    /// What looked like data but was passed over.
    pub skipped: Vec<NamedReason>,
    /// Folders that could not be listed. What lies in them is neither taken nor missed.
    pub unreadable: Vec<String>,
    /// Columns of the new files, and in how many of them each is.
    pub columns: BTreeMap<String, u64>,
    evidence: Sequence,
}

impl Findings {
    /// What to ask of the state, in an order that never shows it a path twice.
    pub fn requests(&self, table: &TableName) -> Vec<Request> {
        let evidence = self.evidence;
        let mut requests = Vec::new();
        for paths in self.lost.chunks(FILES_PER_EVENT_MAX) {
            requests.push(Request::LoseFiles {
                table: table.clone(),
                evidence,
                paths: paths.to_vec(),
            });
        }
        for files in self.files.chunks(FILES_PER_EVENT_MAX) {
            requests.push(Request::AddFiles {
                table: table.clone(),
                evidence,
                files: files.to_vec(),
            });
        }
        for files in self.bad.chunks(FILES_PER_EVENT_MAX) {
            requests.push(Request::QuarantineFiles {
                table: table.clone(),
                evidence,
                files: files.to_vec(),
            });
        }
        requests
    }
}

/// Lists the folder that new files arrive in, and compares it with the state.
pub fn look(
    site: &Site,
    state: &State,
    table: &TableName,
    look: &Look,
    progress: &ProgressView,
) -> Result<Findings> {
    let table = &state.tables[table];
    let mut findings = Findings {
        evidence: look.evidence,
        ..Findings::default()
    };
    let mut seen = BTreeSet::new();
    let mut fresh = Vec::new();
    let now = machine_now();
    for found in walk(site.inbox(), state.journal) {
        progress.advance(1);
        let found = match found {
            Ok(found) => found,
            Err(error) if error.is_forbidden() => {
                findings.unreadable.push(error.to_string());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match found {
            Found::Skipped { path, reason } => {
                findings.skipped.push(NamedReason {
                    path,
                    reason: reason.to_string(),
                });
            }
            Found::Data(file) => {
                seen.insert(file.path.clone());
                if is_known(table, &file) || !look.scope.covers(file.path.folder()) {
                    continue;
                }
                match sort_out(&file, look, now) {
                    Sorted::Take => fresh.push(file),
                    Sorted::Young => findings.waiting += 1,
                    Sorted::Unknown => findings.skipped.push(NamedReason {
                        path: file.path.to_string(),
                        reason: UNKNOWN_OUTPUT.to_owned(),
                    }),
                    Sorted::Foreign => findings.foreign.push(file.path),
                }
            }
        }
    }
    read_footers(site, table, &fresh, &mut findings)?;
    // Where the listing is not whole, or a source shows nothing at all (an unmounted disk?), nothing is let go.
    let whole = findings.unreadable.is_empty() && !(site.source.is_some() && seen.is_empty());
    if whole {
        findings.lost = missing(site, table, &seen)?;
    }
    Ok(findings)
}

/// Whether the state knows this very version: then its footer need not be read again.
fn is_known(table: &Table, file: &DataFile) -> bool {
    table
        .files
        .get(&file.path)
        .is_some_and(|known| known.identity == file.identity)
        || table.consumed.get(&file.path) == Some(&file.identity)
        || table.is_quarantined(&file.path, &file.identity)
        || table.held.contains_key(&file.path)
}

enum Sorted {
    Take,
    Young,
    Unknown,
    Foreign,
}

fn sort_out(file: &DataFile, look: &Look, now: StoreTime) -> Sorted {
    let in_source = file.path.place == Place::Source;
    match file.namer {
        Namer::ThisJournal(_) if !in_source => return Sorted::Unknown,
        Namer::AnotherJournal(_) if !in_source && !look.adopt_foreign => return Sorted::Foreign,
        _ => {}
    }
    let settle_ms = u64::try_from(look.settle.as_millis()).unwrap_or(u64::MAX);
    // A time stamp from far in the future is a wrong clock, not a young file: it must not wait for ever.
    let age_ms = now.unix_ms.abs_diff(file.identity.modified.unix_ms);
    match age_ms < settle_ms {
        true => Sorted::Young,
        false => Sorted::Take,
    }
}

fn read_footers(site: &Site, table: &Table, fresh: &[DataFile], findings: &mut Findings) -> Result<()> {
    let next = AtomicUsize::new(0);
    let read = || {
        let mut read = Vec::new();
        while let Some(file) = fresh.get(next.fetch_add(1, Ordering::Relaxed)) {
            read.push((file, read_footer(site, table, file)));
        }
        read
    };
    let footers = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..FOOTERS_AT_ONCE.min(fresh.len()))
            .map(|_| scope.spawn(read))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect::<Vec<_>>()
    });
    for (found, footer) in footers {
        match footer? {
            Footer::Read { file, columns } => {
                for column in columns {
                    *findings.columns.entry(column).or_default() += 1;
                }
                findings.files.push(file);
            }
            Footer::Bad(reason) => findings.bad.push(Quarantined {
                path: found.path.clone(),
                identity: found.identity.clone(),
                reason: reason.into(),
            }),
            Footer::Gone => {}
        }
    }
    findings.files.sort_by(|a, b| a.path.cmp(&b.path));
    findings.bad.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

enum Footer {
    Read { file: Arc<File>, columns: Vec<String> },
    Bad(String),
    Gone,
}

fn read_footer(site: &Site, table: &Table, found: &DataFile) -> Result<Footer> {
    let input = match FolderInput::open(site.folder_of(&found.path), &found.path, &found.identity) {
        Ok(input) => Arc::new(spec::NamedInput::new(&found.path, input)) as Arc<dyn baler_merge::Input>,
        Err(InputError::Gone { .. } | InputError::Changed { .. }) => return Ok(Footer::Gone),
        Err(InputError::Folder(error)) if error.is_forbidden() => return Ok(Footer::Bad(error.to_string())),
        Err(InputError::Folder(error)) => return Err(error.into()),
    };
    let sort = spec::bounds_for_engine(&table.spec.merge);
    let asked = baler_merge::Asked {
        sort: &sort,
        ..baler_merge::Asked::default()
    };
    let facts = match baler_merge::inspect(&input, &asked) {
        Ok(facts) => facts,
        Err(FileError::Refused(reason)) => return Ok(Footer::Bad(reason)),
        Err(FileError::Read(error)) => return Ok(Footer::Bad(format!("could not be read: {error}"))),
        Err(FileError::Cancelled) => return Ok(Footer::Gone),
    };
    let columns = facts.columns.iter().map(|column| column.name.clone()).collect();
    let file = File {
        path: found.path.clone(),
        identity: found.identity.clone(),
        partition: names::folder_partition(&found.path),
        level: Level(0),
        rows: facts.rows,
        keys: facts.keys.as_ref().map(spec::key_range_of),
        digest: None,
        checksum: None,
        origin: Origin::Foreign,
        added: Sequence(0),
        apart: None,
    };
    Ok(Footer::Read {
        file: Arc::new(file),
        columns,
    })
}

/// What the state names and the listing did not meet is let go only if asking for it says that it is not there.
fn missing(site: &Site, table: &Table, seen: &BTreeSet<FilePath>) -> Result<Vec<FilePath>, FolderError> {
    let live = table.files.keys().filter(|path| !table.held.contains_key(*path));
    // Consumed files of a root are followed by the collector, not by listings.
    let consumed = table.consumed.keys().filter(|path| path.place == Place::Source);
    let named: BTreeSet<&FilePath> = live.chain(consumed).chain(table.quarantine.keys()).collect();
    let mut missing = Vec::new();
    for path in named {
        if !seen.contains(path) && site.identity_now(path)?.is_none() {
            missing.push(path.clone());
        }
    }
    Ok(missing)
}
