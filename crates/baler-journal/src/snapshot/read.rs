//! From bytes to the state. Nothing is believed before the trailer has confirmed it.

use std::sync::Arc;

use baler_core::file::{File, FilePath};
use baler_core::ids::{JobId, JournalId, Partition, Sequence, TableName, WatcherId};
use baler_core::receipt::{OldReceipts, Undoing};
use baler_core::state::{State, Table};
use baler_core::time::StoreTime;

use super::convert::{self, Odd, from_json, required};
use super::records::{Header, Kind, LeftoverRecord, Record, RestedRecord, TableRecord, Trailer};
use super::stream::MessageReader;
use super::{damaged, snapshot_name};
use crate::checksum::Checksum;
use crate::error::JournalError;
use crate::limits::FORMAT;

/// The state in a snapshot of this entry, and the entry's checksum. Takes seconds for a million files: not for an
/// async thread.
pub fn read(at: Sequence, bytes: &[u8]) -> Result<(State, Checksum), JournalError> {
    let mut builder = None;
    let header = read_records(at, bytes, |header, kind| {
        let builder = builder.get_or_insert_with(|| Builder::new(header));
        builder.take(kind)
    })?;
    let state = builder.unwrap_or_else(|| Builder::new(&header)).finish();
    Ok((state, entry_checksum(at, &header)?))
}

/// Whether the snapshot is whole; returns the checksum of its entry. Builds nothing.
pub fn verify(at: Sequence, bytes: &[u8]) -> Result<Checksum, JournalError> {
    let header = read_records(at, bytes, |_, _| Ok(()))?;
    entry_checksum(at, &header)
}

fn entry_checksum(at: Sequence, header: &Header) -> Result<Checksum, JournalError> {
    let entry = header.entry.ok_or_else(|| damaged(at, "it names no entry"))?;
    Ok(Checksum(entry.into()))
}

fn read_records(
    at: Sequence,
    bytes: &[u8],
    mut take: impl FnMut(&Header, Kind) -> Result<(), Odd>,
) -> Result<Header, JournalError> {
    let broken = |error: std::io::Error| damaged(at, error.to_string());
    let mut stream = MessageReader::new(bytes).map_err(broken)?;
    let header: Header = stream
        .read()
        .map_err(broken)?
        .ok_or_else(|| damaged(at, "it is empty"))?;
    check_header(at, &header)?;
    let (mut records, mut files) = (0, 0);
    loop {
        let record: Option<Record> = stream.read().map_err(broken)?;
        match record.ok_or_else(|| damaged(at, "it is cut off"))?.kind {
            Some(Kind::Trailer(trailer)) => {
                let seen = Trailer {
                    records,
                    files,
                    checksum: Some(stream.digest_before_last().into()),
                };
                if trailer != seen {
                    return Err(damaged(at, "its checksum does not match its content"));
                }
                break;
            }
            Some(kind) => {
                records += 1;
                files += u64::from(matches!(kind, Kind::File(_)));
                take(&header, kind).map_err(|why| damaged(at, why))?;
            }
            None => {
                let (what, why) = (snapshot_name(at), "an unknown kind of record".to_owned());
                return Err(JournalError::NewerContent { what, why });
            }
        }
    }
    match stream.read::<Record>().map_err(broken)? {
        None => Ok(header),
        Some(_) => Err(damaged(at, "something follows its end")),
    }
}

fn check_header(at: Sequence, header: &Header) -> Result<(), JournalError> {
    if header.format > FORMAT {
        let what = snapshot_name(at);
        return Err(JournalError::NewerFormat {
            what,
            found: header.format,
        });
    }
    if header.format == 0 || header.sequence != at.0 {
        return Err(damaged(
            at,
            format!("it says that it is of entry {}", header.sequence),
        ));
    }
    Ok(())
}

struct Builder {
    state: State,
    table: Option<(TableName, Table)>,
    /// Whether the snapshot says which versions of that table can be read.
    knows_versions: bool,
    partition: Partition,
    /// What the planner need not look at, of the table that came last.
    rested: Vec<RestedRecord>,
}

impl Builder {
    fn new(header: &Header) -> Self {
        let state = State {
            journal: header.journal.map(|journal| JournalId(journal.into())),
            sequence: Sequence(header.sequence),
            next_index: header.next_index,
            time: StoreTime {
                unix_ms: header.time_ms,
            },
            next_job: JobId(header.next_job),
            turn: header.turn.as_deref().map(Into::into),
            paused: header.paused,
            old_receipts: OldReceipts {
                retired: JobId(header.receipts_retired),
                deleted: JobId(header.receipts_deleted),
            },
            ..State::default()
        };
        Self {
            state,
            table: None,
            knows_versions: false,
            partition: Partition::from(""),
            rested: Vec::new(),
        }
    }

    fn take(&mut self, kind: Kind) -> Result<(), Odd> {
        match kind {
            Kind::File(record) => {
                let file = convert::file(record, self.partition.clone())?;
                self.insert_file(file)?;
            }
            Kind::Table(record) => self.begin_table(record)?,
            Kind::Partition(name) => self.partition = Partition(name.into()),
            Kind::Held(record) => {
                let path = self.shared_path(convert::path(record.path)?);
                self.table()?.held.insert(path, JobId(record.job));
            }
            Kind::Consumed(record) => {
                let (path, identity) = (convert::path(record.path)?, convert::identity(record.identity)?);
                self.table()?.consumed.insert(path, identity);
            }
            Kind::Removed(record) => {
                let (path, removed) = convert::removed(record)?;
                let table = self.table()?;
                let order = table.removed_order.entry(removed.at).or_default();
                order.push_back(path.clone());
                table.removed.insert(path, removed);
            }
            Kind::Quarantined(record) => {
                let mark = convert::quarantined(record)?;
                self.table()?.quarantine.insert(mark.path.clone(), Arc::new(mark));
            }
            Kind::Left(record) => {
                let (at, file) = convert::left(record)?;
                let left = self.table()?.history.entry(at).or_default();
                left.insert(file.path.clone(), Arc::new(file));
            }
            Kind::PutOff(record) => {
                let path = self.shared_path(convert::path(record.path)?);
                self.table()?.put_off.insert(path, from_json(&record.put_off)?);
            }
            Kind::Rested(record) => self.rested.push(record),
            Kind::Job(record) => {
                self.end_table();
                let table = self.state.tables.get(&TableName::from(record.table.as_str()));
                let job = convert::job(record, |file| share_file(table, file))?;
                self.state.jobs.insert(job.id, Arc::new(job));
            }
            Kind::Ended(summary) => self.state.recent.push_back(Arc::new(from_json(&summary)?)),
            Kind::Committed(record) => {
                self.end_table();
                let name = record.job.as_ref().map(|job| TableName::from(job.table.as_str()));
                let table = name.and_then(|name| self.state.tables.get(&name));
                let committed = convert::committed(record, |file| share_file(table, file))?;
                self.state.committed.insert(committed.job.id, Arc::new(committed));
            }
            Kind::Undoing(record) => {
                self.end_table();
                let undoing = Undoing {
                    table: self.shared_name(&record.table),
                    waiting: record.waiting,
                };
                self.state.undoing.insert(JobId(record.job), undoing);
            }
            Kind::Watcher(record) => {
                let id = WatcherId(required(record.id)?.into());
                self.state.watchers.insert(id, from_json(&record.watcher)?);
            }
            Kind::Garbage(record) => {
                self.end_table();
                let table = self.shared_name(&record.table);
                let (path, garbage) = convert::garbage(record, table)?;
                self.state.garbage.insert(path, Arc::new(garbage));
            }
            Kind::Leftover(record) => {
                self.end_table();
                let table = self.table_of_leftover(&record)?;
                let leftover = convert::leftover(&record, table);
                let token = leftover.attempt.token;
                self.state
                    .leftovers
                    .insert((token.sequence, token.index), leftover);
            }
            Kind::Pin(record) => {
                let (id, pin) = convert::pin(record);
                self.state.pins.insert(id, pin);
            }
            Kind::Mark(record) => {
                let time = StoreTime {
                    unix_ms: record.time_ms,
                };
                self.state.marks.insert(Sequence(record.entry), time);
            }
            Kind::Trailer(_) => {}
        }
        Ok(())
    }

    fn table(&mut self) -> Result<&mut Table, Odd> {
        let table = self.table.as_mut().ok_or("a record stands before its table")?;
        Ok(&mut table.1)
    }

    fn begin_table(&mut self, record: TableRecord) -> Result<(), Odd> {
        self.end_table();
        let readable_from = record.readable_from.map(Sequence);
        let mut table = Table::new(from_json(&record.spec)?, readable_from.unwrap_or_default());
        table.remembered_from = Sequence(record.remembered_from);
        table.dropped = record.dropped.map(Sequence);
        self.knows_versions = readable_from.is_some();
        table.paused = record.paused;
        table.has_receipts = record.has_receipts;
        table.agenda.set_planner(record.planner);
        self.table = Some((TableName(record.name.into()), table));
        Ok(())
    }

    fn end_table(&mut self) {
        if let Some((name, mut table)) = self.table.take() {
            if !self.knows_versions && !table.spec.catalog.publishes() {
                bring_up_to_date(&mut table);
            }
            let planner = table.agenda.planner();
            table.unsettle_all();
            table.agenda.set_planner(planner);
            for RestedRecord { partition, until_ms } in self.rested.drain(..) {
                let until = until_ms.map(|unix_ms| StoreTime { unix_ms });
                table
                    .agenda
                    .settle(&table.spec, &Partition(partition.into()), until);
            }
            self.state.tables.insert(name, table);
        }
    }

    fn insert_file(&mut self, file: File) -> Result<(), Odd> {
        let (path, partition) = (file.path.clone(), file.partition.clone());
        let table = self.table()?;
        table
            .partitions
            .entry(partition)
            .or_default()
            .insert(path.clone());
        table.files.insert(path, Arc::new(file));
        Ok(())
    }

    /// One copy of a path in memory, where the state has it already.
    fn shared_path(&self, path: FilePath) -> FilePath {
        let files = self.table.as_ref().map(|(_, table)| &table.files);
        let known = files.and_then(|files| files.get(&path));
        known.map_or(path, |file| file.path.clone())
    }

    fn shared_name(&self, name: &str) -> TableName {
        let name = TableName::from(name);
        let known = self.state.tables.get_key_value(&name);
        known.map_or(name.clone(), |(known, _)| known.clone())
    }

    /// Where it was not recorded, the job knows, or the one table that there is.
    fn table_of_leftover(&self, record: &LeftoverRecord) -> Result<TableName, Odd> {
        let job = JobId(record.job);
        let open = self.state.jobs.get(&job).map(|job| &job.table);
        let ended = || {
            self.state
                .recent
                .iter()
                .find(|ended| ended.id == job)
                .map(|ended| &ended.table)
        };
        let any = || self.state.tables.keys().next();
        match &record.table {
            Some(name) => Ok(self.shared_name(name)),
            None => required(open.or_else(ended).or_else(any).cloned()),
        }
    }

    fn finish(mut self) -> State {
        self.end_table();
        self.state
    }
}

/// A native table from before there were versions. Nothing has left it since the last removal: from then on all versions
/// show live files only. And a consumed version that was overwritten is not remembered any more.
fn bring_up_to_date(table: &mut Table) {
    let remembered = table.removed_order.get_max().map(|(at, _)| *at);
    let forgotten = Sequence(table.remembered_from.0.saturating_sub(1));
    table.readable_from = remembered.unwrap_or_default().max(forgotten);
    let overwritten = table
        .consumed
        .keys()
        .filter(|path| table.files.contains_key(*path));
    let overwritten: Vec<FilePath> = overwritten.cloned().collect();
    for path in overwritten {
        table.consumed.remove(&path);
    }
}

/// A job's input is mostly still the live file it was.
fn share_file(table: Option<&Table>, file: File) -> Arc<File> {
    let live = table.and_then(|table| table.files.get(&file.path));
    live.filter(|live| ***live == file)
        .cloned()
        .unwrap_or_else(|| Arc::new(file))
}
