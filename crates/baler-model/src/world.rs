//! One moment: the journal, the bucket, and what everybody knows.

use std::collections::BTreeSet;
use std::sync::Arc;

use baler_core::file::{File, FilePath};
use baler_core::ids::{JobId, JournalId, Sequence, TableName, Token};
use baler_core::table::{Catalog, Replaced, TableSpec};
use baler_core::time::Millis;
use baler_core::{Batch, Event, State, apply};

use crate::collector::Collector;
use crate::coordinators::Coordinator;
use crate::disk::{Disk, Object, Rows};
use crate::entry::Entry;
use crate::reader::Reader;
use crate::scenario::{Purse, Scenario};
use crate::workers::Worker;
use crate::writer::Writer;

pub(crate) const JOURNAL: JournalId = JournalId(0xb);
pub(crate) const TABLE: &str = "t";

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The last entry of the journal.
    pub(crate) head: Arc<Entry>,
    /// Entries that crashed coordinators sent, and that may still land.
    pub(crate) adrift: Vec<Arc<Entry>>,
    pub(crate) coordinators: [Coordinator; 2],
    pub(crate) workers: [Worker; 2],
    pub(crate) collector: Collector,
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
    pub(crate) disk: Disk,
    pub(crate) purse: Purse,
    /// A process that starts anew gets the next number.
    pub(crate) next_watcher: u8,
    pub(crate) heard: Heard,
    /// What a step was seen to do wrong.
    pub(crate) wrong: Option<&'static str>,
}

/// What clients were told, and what must therefore stay so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Heard {
    /// Jobs of which somebody was told that they are committed.
    pub(crate) committed: BTreeSet<JobId>,
    /// Rows that are in the table, as its writers were told.
    pub(crate) rows: Rows,
    /// Rows among them that somebody outside destroyed when nothing else held them.
    pub(crate) harmed: Rows,
    /// Rows that outsiders wrote over others.
    pub(crate) outside: Rows,
    /// Attempts whose inputs were not what they had been when a HEAD looked.
    pub(crate) outdated: BTreeSet<(Sequence, u32)>,
}

impl World {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut disk = Disk::new();
        let mut files = Vec::new();
        for partition in 0..scenario.partitions {
            for file in 0..2 {
                let rows: Rows = 1 << (2 * partition + file);
                files.push(file_of(partition, rows));
                disk.insert(path_of(partition, rows), Object::of(rows));
            }
        }
        let first_late = 2 * scenario.partitions;
        let late: Vec<Rows> = (0..scenario.late_files)
            .map(|file| 1 << (first_late + file))
            .collect();
        for rows in &late {
            disk.insert(path_of(0, *rows), Object::of(*rows));
        }
        Self {
            head: beginning(scenario, files),
            adrift: Vec::new(),
            coordinators: [Coordinator::new(1), Coordinator::new(2)],
            workers: [Worker::Idle, Worker::Idle],
            collector: Collector::default(),
            reader: Reader::new(scenario.reader),
            writer: Writer { late },
            disk,
            purse: scenario.purse,
            next_watcher: 3,
            heard: Heard {
                rows: (1 << first_late) - 1,
                ..Heard::default()
            },
            wrong: None,
        }
    }

    pub(crate) fn state(&self) -> &State {
        &self.head.state
    }

    pub(crate) fn table(&self) -> &baler_core::state::Table {
        &self.state().tables[&TableName::from(TABLE)]
    }

    /// An entry became the last one.
    pub(crate) fn append(&mut self, entry: Arc<Entry>) {
        for event in &entry.events {
            if let Some(wrong) = self.judge(event) {
                self.wrong.get_or_insert(wrong);
            }
        }
        self.head = entry;
    }

    /// What an event must not say, on the state before its entry.
    fn judge(&self, event: &Event) -> Option<&'static str> {
        let ended = |job: &JobId| self.state().recent.iter().any(|summary| summary.id == *job);
        let outdated = |token: Token| self.heard.outdated.contains(&(token.sequence, token.index));
        match event {
            Event::RangeLeased { job, .. }
            | Event::JobCompacted { job }
            | Event::JobPublished { job, .. }
            | Event::JobCommitted { job }
            | Event::JobCancelled { job, .. }
                if ended(job) =>
            {
                Some(FINAL_STATE_CHANGED)
            }
            Event::RangeFinished { finished, .. } if outdated(finished.token) => Some(OUTDATED_COMMITTED),
            _ => None,
        }
    }
}

/// What a step may be seen to do wrong.
pub(crate) const FINAL_STATE_CHANGED: &str = "a final state changed";
pub(crate) const OUTDATED_COMMITTED: &str = "a merge of inputs that had changed was taken";
pub(crate) const PANICKED: &str = "the state machine panicked";

fn beginning(scenario: &Scenario, files: Vec<Arc<File>>) -> Arc<Entry> {
    let events = vec![
        Event::JournalCreated { journal: JOURNAL },
        Event::TableCreated {
            table: TABLE.into(),
            spec: Arc::new(spec(scenario.native)),
        },
        Event::FilesAdded {
            table: TABLE.into(),
            files,
        },
    ];
    let batch = Batch {
        sequence: Sequence(1),
        parent_time: None,
        events,
    };
    let mut state = State::default();
    apply(&mut state, &batch);
    Entry::new(state, batch.events)
}

fn spec(native: bool) -> TableSpec {
    let (catalog, replaced) = match native {
        true => (Catalog::Native, Replaced::default()),
        false => (Catalog::InPlace, Replaced::Delete),
    };
    TableSpec {
        grace: Millis(1),
        replaced,
        ..TableSpec::of(catalog)
    }
}

/// Where a file that outsiders write lies.
pub(crate) fn path_of(partition: u8, rows: Rows) -> FilePath {
    FilePath::in_root(format!("{partition}/{rows}.parquet"))
}

/// A file as a listing finds it.
pub(crate) fn file_of(partition: u8, rows: Rows) -> Arc<File> {
    found(&path_of(partition, rows), &Object::of(rows))
}

/// The same, for what lies there now.
pub(crate) fn found(path: &FilePath, object: &Object) -> Arc<File> {
    let rows = u64::from(object.rows.count_ones());
    Arc::new(File::found(path.clone(), object.identity.clone(), rows))
}
