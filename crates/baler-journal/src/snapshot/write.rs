//! From the state to bytes.

use std::io;

use baler_core::ids::TableName;
use baler_core::receipt::Undoing;
use baler_core::state::{State, Table};
use bytes::Bytes;

use super::convert::{
    committed_record, file_record, garbage_record, identity_record, job_record, left_record, leftover_record,
    path_record, pin_record, quarantined_record, removed_record, to_json,
};
use super::records::{
    ConsumedRecord, Header, HeldRecord, Kind, MarkRecord, PutOffRecord, Record, RestedRecord, TableRecord,
    Trailer, UndoingRecord, WatcherRecord,
};
use super::stream::MessageWriter;
use crate::checksum::Checksum;

/// The state after the entry with this checksum. Takes seconds for a million files: not for an async thread.
pub fn write(state: &State, entry: Checksum) -> Bytes {
    let written = SnapshotWriter::new().and_then(|writer| writer.write_state(state, entry));
    written.expect("compression into memory does not fail").into()
}

struct SnapshotWriter {
    stream: MessageWriter,
    records: u64,
    files: u64,
}

impl SnapshotWriter {
    fn new() -> io::Result<Self> {
        Ok(Self {
            stream: MessageWriter::new()?,
            records: 0,
            files: 0,
        })
    }

    fn put(&mut self, kind: Kind) -> io::Result<()> {
        self.records += 1;
        self.stream.write(&Record { kind: Some(kind) })
    }

    fn write_state(mut self, state: &State, entry: Checksum) -> io::Result<Vec<u8>> {
        let State {
            journal,
            sequence,
            next_index,
            time,
            marks,
            tables,
            jobs,
            next_job,
            recent,
            committed,
            undoing,
            old_receipts,
            watchers,
            garbage,
            leftovers,
            pins,
            turn,
            paused,
        } = state;
        self.stream.write(&Header {
            format: state.level(),
            journal: journal.map(|journal| journal.0.into()),
            sequence: sequence.0,
            entry: Some(entry.0.into()),
            next_index: *next_index,
            time_ms: time.unix_ms,
            next_job: next_job.0,
            turn: turn.as_deref().map(str::to_owned),
            paused: *paused,
            receipts_retired: old_receipts.retired.0,
            receipts_deleted: old_receipts.deleted.0,
        })?;
        for (entry, time) in marks {
            self.put(Kind::Mark(MarkRecord {
                entry: entry.0,
                time_ms: time.unix_ms,
            }))?;
        }
        for (name, table) in tables {
            self.write_table(name, table)?;
        }
        for job in jobs.values() {
            self.put(Kind::Job(job_record(job)))?;
        }
        for summary in recent {
            self.put(Kind::Ended(to_json(summary)))?;
        }
        for committed in committed.values() {
            self.put(Kind::Committed(committed_record(committed)))?;
        }
        for (job, Undoing { table, waiting }) in undoing {
            self.put(Kind::Undoing(UndoingRecord {
                job: job.0,
                table: table.to_string(),
                waiting: *waiting,
            }))?;
        }
        for (id, watcher) in watchers {
            let watcher = to_json(watcher);
            self.put(Kind::Watcher(WatcherRecord {
                id: Some(id.0.into()),
                watcher,
            }))?;
        }
        for (path, garbage) in garbage {
            self.put(Kind::Garbage(garbage_record(path, garbage)))?;
        }
        for leftover in leftovers.values() {
            self.put(Kind::Leftover(leftover_record(leftover)))?;
        }
        for (id, pin) in pins {
            self.put(Kind::Pin(pin_record(*id, pin)))?;
        }
        self.finish()
    }

    fn write_table(&mut self, name: &TableName, table: &Table) -> io::Result<()> {
        let Table {
            spec,
            files,
            partitions,
            held,
            consumed,
            removed,
            removed_order,
            remembered_from,
            quarantine,
            history,
            readable_from,
            dropped,
            put_off,
            agenda,
            paused,
            has_receipts,
        } = table;
        let (name, spec) = (name.to_string(), to_json(spec));
        let remembered_from = remembered_from.0;
        self.put(Kind::Table(TableRecord {
            name,
            spec,
            remembered_from,
            readable_from: Some(readable_from.0),
            dropped: dropped.map(|at| at.0),
            paused: *paused,
            planner: agenda.planner(),
            has_receipts: *has_receipts,
        }))?;
        for (partition, paths) in partitions {
            self.put(Kind::Partition(partition.to_string()))?;
            for path in paths {
                let file = files.get(path).expect("a partition lists live files");
                self.put(Kind::File(file_record(file)))?;
                self.files += 1;
            }
        }
        for (path, job) in held {
            self.put(Kind::Held(HeldRecord {
                path: Some(path_record(path)),
                job: job.0,
            }))?;
        }
        for (path, identity) in consumed {
            let (path, identity) = (Some(path_record(path)), Some(identity_record(identity)));
            self.put(Kind::Consumed(ConsumedRecord { path, identity }))?;
        }
        for path in removed_order.values().flatten() {
            let removed = removed.get(path).expect("the order lists removed paths");
            self.put(Kind::Removed(removed_record(path, removed)))?;
        }
        for mark in quarantine.values() {
            self.put(Kind::Quarantined(quarantined_record(mark)))?;
        }
        for (at, files) in history {
            for file in files.values() {
                self.put(Kind::Left(left_record(file, *at)))?;
            }
        }
        for (path, put_off) in put_off {
            let (path, put_off) = (Some(path_record(path)), to_json(put_off));
            self.put(Kind::PutOff(PutOffRecord { path, put_off }))?;
        }
        for (partition, until) in agenda.settled() {
            self.put(Kind::Rested(RestedRecord {
                partition: partition.to_string(),
                until_ms: until.map(|until| until.unix_ms),
            }))?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<Vec<u8>> {
        let checksum = Some(self.stream.digest().into());
        let trailer = Trailer {
            records: self.records,
            files: self.files,
            checksum,
        };
        self.put(Kind::Trailer(trailer))?;
        self.stream.finish()
    }
}
